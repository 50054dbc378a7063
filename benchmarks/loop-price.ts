import { mkdir } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Backend, GenerationEvent } from '../packages/engine/index.ts'
import { buildApp } from '../src/app.ts'
import { localModels } from '../src/inference/local-model.ts'
import { openRecord } from '../src/storage/open.ts'
import { basic, keys, testConfig } from '../test/support/app.ts'
import { scriptedBackend } from '../test/support/scripted-backend.ts'

/** Microseconds of processor time for an answer, first of one kind and then of the other, round by round. */
export interface Price {
  off: number[]
  all: number[]
}

/** Answers of each kind in a round: few, so that both run under the same load. */
const answers = 100
const tokens = 256

/** Each token on its own, as a slow model produces it. */
async function* play(): AsyncGenerator<GenerationEvent[]> {
  yield [{ kind: 'prefilled', cachedTokens: 0 }]
  for (let token = 0; token < tokens; token++) {
    await nextTurn()
    yield [{ kind: 'tokens', choice: 0, text: ` word${token % 10}`, tokens: [token] }]
  }
  yield [{ kind: 'finished', choice: 0, reason: 'stop', stop: null }]
}

/**
 * What recording an answer costs the server itself: the engine is simulated, so that it hides nothing. All threads of
 * this process count, including writes after the answers.
 */
export async function measurePrice(folder: string, rounds: number): Promise<Price> {
  await mkdir(folder, { recursive: true })
  const database = await openRecord({ databaseUrl: '', folder, queryTimeoutMs: 60_000 })
  const backend: Backend = {
    ...scriptedBackend(),
    generate: async () => ({ promptTokens: [1, 2, 3], events: play() }),
  }
  const models = localModels(backend)
  const app = await buildApp(testConfig(), { sweep: false, database, models })
  try {
    const some = async (headers: Record<string, string>) => {
      const before = process.cpuUsage()
      for (let count = 0; count < answers; count++) await ask(headers)
      const { user, system } = process.cpuUsage(before)
      return (user + system) / answers
    }
    const ask = async (headers: Record<string, string>) => {
      const { statusCode, headers: answered } = await app.inject({
        method: 'POST',
        url: '/v1/chat/completions',
        headers: { authorization: basic(keys.alice), ...headers },
        payload: { messages: [{ role: 'user', content: 'What is a heddle?' }], stream: true },
      })
      const isRecorded = answered['x-heddle-call-id'] !== undefined
      if (statusCode !== 200 || isRecorded === 'x-heddle-record' in headers)
        throw new Error(`an answer with ${JSON.stringify(headers)}: ${statusCode}`)
    }
    const off = () => some({ 'x-heddle-record': 'off' })
    const all = () => some({})
    await off()
    await all()
    const price: Price = { off: [], all: [] }
    for (let round = 0; round < rounds; round++) {
      if (round % 2 === 0) price.off.push(await off())
      price.all.push(await all())
      if (round % 2 === 1) price.off.push(await off())
    }
    return price
  } finally {
    await app.close()
    await models.close()
    await database.close()
  }
}
