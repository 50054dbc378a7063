import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import manifest from '../../package.json' with { type: 'json' }
import { basic, keys, users } from './app.ts'

/** A test, or a file of tests: whatever registers here ends with it. */
export interface TestScope {
  after(end: () => unknown): void
}

export interface RunningServer {
  address: string
  process: ChildProcess
  /** The log so far, by line. */
  log: string[]
  complaints: string[]
  post(url: string, body: unknown, init?: RequestInit & { key?: string; at?: string }): Promise<Response>
  get(url: string, key?: string, at?: string): Promise<Response>
  /** Sends the signal and returns the exit code, or the signal that ended the process. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals>
}

export async function newFolder(t: TestScope): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-test-'))
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

/** The arguments of node in `npm start`. */
const started = manifest.scripts.start.split(' ').slice(1)

const tree = new URL('../..', import.meta.url)

/** The command as a user runs it, on a free port of 127.0.0.1. It ends with the test. */
export function heddle(
  args: readonly string[],
  settings: Record<string, string>,
  before: readonly string[] = [],
  cwd: URL | string = tree,
): ChildProcess {
  const [command = process.execPath, ...rest] = [...before, process.execPath, ...started, ...args]
  return spawn(command, rest, { cwd, env: environmentOf(settings), stdio: ['ignore', 'pipe', 'pipe'] })
}

/** The settings of a command, without those of whoever runs the tests. */
export function environmentOf(settings: Record<string, string>): Record<string, string> {
  const others = Object.entries(process.env).filter(
    ([name]) => !/^(HEDDLE_|HF_|NODE_TEST|FORCE_COLOR$|PORT$|HOST$)/.test(name),
  )
  return {
    ...(Object.fromEntries(others) as Record<string, string>),
    HEDDLE_PORT: '0',
    HEDDLE_MAX_LOOP_DELAY: '0',
    HEDDLE_MODEL: 'none',
    ...settings,
  }
}

/**
 * For a server whose clock is later. What a killed one had taken is free for others only after seconds, and for this one at
 * once.
 */
export const laterBy = (ms: number): Record<string, string> => ({
  NODE_OPTIONS: `--import=${new URL('./shifted-clock.mjs', import.meta.url).href}`,
  TEST_CLOCK_SHIFT: String(ms),
})

/** Runs a command to its end. */
export async function runHeddle(
  args: readonly string[],
  settings: Record<string, string>,
  before: readonly string[] = [],
) {
  const child = heddle(args, settings, before)
  let out = ''
  let err = ''
  child.stdout?.on('data', (data) => (out += data))
  child.stderr?.on('data', (data) => (err += data))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out, err }
}

export async function startServer(
  t: TestScope,
  settings: Record<string, string>,
  before: readonly string[] = [],
): Promise<RunningServer> {
  if (pairs.isOn && settings.HEDDLE_MODEL !== undefined && settings.HEDDLE_MODEL !== 'none') {
    return startPair(t, settings)
  }
  // A prefix of the command affects the disk of one process, and a test that gives a database starts several itself.
  const isOne = before.length > 0 || settings.HEDDLE_DATABASE_URL !== undefined
  if (process.env.npm_lifecycle_event === 'test:scale' && !isOne) {
    const { startScaled } = await import('./scaled-server.ts')
    return startScaled(t, settings)
  }
  return startOne(t, settings, before)
}

/** While it is on, each server with a model becomes two: one in front, and behind it one that has the model. */
export const pairs = { isOn: false }

/** The server behind does not know the callers of the one in front. */
const gatewayKey = 'the-key-of-the-server-in-front'

const ofModel = /^HEDDLE_(MODEL|MODEL_NAME|CONTEXT|THREADS|BATCH|QUEUE)$/

async function startPair(t: TestScope, settings: Record<string, string>): Promise<RunningServer> {
  const behind = await startOne(t, { ...settings, HEDDLE_USERS: `gateway:${gatewayKey}` })
  const others = Object.entries(settings).filter(([name]) => !ofModel.test(name))
  const front = await startOne(t, {
    ...Object.fromEntries(others),
    HEDDLE_DATA: await newFolder(t),
    HEDDLE_MODEL: `${behind.address}/v1`,
    HEDDLE_UPSTREAM_KEY: gatewayKey,
  })
  return {
    ...front,
    async end(signal) {
      const ended = await front.end(signal)
      await behind.end(signal)
      return ended
    },
  }
}

/** One process, whatever is set for the tests as a whole. */
export async function startOne(
  t: TestScope,
  settings: Record<string, string>,
  before: readonly string[] = [],
  cwd: URL | string = tree,
): Promise<RunningServer> {
  const child = heddle(['serve'], { HEDDLE_USERS: users, ...settings }, before, cwd)
  t.after(() => child.kill('SIGKILL'))
  const log: string[] = []
  const complaints: string[] = []
  createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (line) =>
    complaints.push(line),
  )
  const exited = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals)
  const address = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      log.push(line)
      const entry = JSON.parse(line) as { msg?: string; address?: string }
      if (entry.msg === 'listening' && entry.address) resolve(entry.address)
    })
    void exited.then((code) => reject(new Error(`the server ended with ${code}: ${complaints.join('\n')}`)))
  })
  return {
    address,
    process: child,
    log,
    complaints,
    post: (url, body, { key = keys.alice, at = address, ...init } = {}) =>
      fetch(`${at}${url}`, {
        method: 'POST',
        headers: { authorization: basic(key), 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        ...init,
      }),
    get: (url, key = keys.alice, at = address) =>
      fetch(`${at}${url}`, { headers: { authorization: basic(key) } }),
    end(signal) {
      child.kill(signal)
      return exited
    },
  }
}
