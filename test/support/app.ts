import type { Backend } from '../../packages/engine/index.ts'
import { buildApp, type Parts } from '../../src/app.ts'
import { type Config, readConfig } from '../../src/config.ts'
import type { App } from '../../src/http/contracts.ts'
import { localModels } from '../../src/inference/local-model.ts'
import type { Model } from '../../src/inference/model.ts'
import { createModels, type Models } from '../../src/inference/registry.ts'
import type { Database } from '../../src/storage/database.ts'
import { openAppRecord } from './app-record.ts'

/** Two tenants, and one user with access to everything. */
export const keys = {
  alice: 'the-secret-key-of-alice',
  bob: 'the-secret-key-of-bob',
  root: 'the-secret-key-of-root',
}

export const users = `alice:${keys.alice}:acme,bob:${keys.bob}:globex,root:${keys.root}`

export function basic(key: string, name = 'api'): string {
  return `Basic ${Buffer.from(`${name}:${key}`).toString('base64')}`
}

export function testConfig(settings: Record<string, string> = {}): Config {
  // Nothing is shed because the machine is busy, or slowed down because of other tests: the result of a test must not
  // depend on it.
  return readConfig({
    HEDDLE_USERS: users,
    HEDDLE_PORT: '0',
    HEDDLE_MAX_LOOP_DELAY: '0',
    HEDDLE_MODEL: 'none',
    // Describing every route takes longer than building everything else here.
    HEDDLE_DOCS: 'off',
    HEDDLE_WRONG_KEYS: '0',
    ...settings,
  })
}

export interface Answer {
  status: number
  headers: Record<string, unknown>
  text: string
  // The tests read answers as a client would: without a type.
  json: Answered
}
// biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
type Answered = any

export interface TestApp {
  app: App
  database: Database
  /** A POST as alice, unless stated otherwise. A string is sent as it stands. */
  post(url: string, body: unknown, as?: string): Promise<Answer>
  get(url: string, as?: string): Promise<Answer>
  /** Any other method, with or without a body. */
  send(method: Method, url: string, body?: unknown, as?: string): Promise<Answer>
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface TestParts extends Partial<Omit<Parts, 'models'>> {
  settings?: Record<string, string>
  /** The engine of the one model; if absent, there is none. */
  backend?: Backend
  /** The one model itself, instead of its engine. */
  model?: Model
  /** All models. They are closed with the app. */
  models?: Models
}

export async function openApp(
  t: { after(close: () => Promise<void>): void },
  { settings, backend, model, models: given, ...parts }: TestParts = {},
): Promise<TestApp> {
  const database = parts.database ?? (await openAppRecord())
  const models = given ?? (backend ? localModels(backend) : createModels(model ? [model] : []))
  const shared = { sweep: false, checkAnswers: true, ...parts, database, models }
  const app = await buildApp(testConfig(settings), shared)
  t.after(async () => {
    await app.close()
    await models.close()
    await database.close()
  })
  return { app, database, ...clientOf(app) }
}

function clientOf(app: App): Pick<TestApp, 'post' | 'get' | 'send'> {
  const send = async (method: Method, url: string, body?: unknown, key = keys.alice): Promise<Answer> => {
    const response = await app.inject({
      method,
      url,
      headers: {
        authorization: basic(key),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const isJson = /^application\/json(;|$)/.test(String(response.headers['content-type']))
    return {
      status: response.statusCode,
      headers: response.headers,
      text: response.body,
      json: isJson ? response.json() : undefined,
    }
  }
  return {
    post: (url, body, key = keys.alice) => send('POST', url, body, key),
    get: (url, key = keys.alice) => send('GET', url, undefined, key),
    send,
  }
}
