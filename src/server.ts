import { setFlagsFromString } from 'node:v8'
import type { FastifyBaseLogger } from 'fastify'
import { buildApp } from './app.ts'
import type { Config } from './config.ts'
import type { App } from './http/contracts.ts'
import { cutOffWaits } from './http/disconnect.ts'
import type { Models } from './inference/registry.ts'
import type { Database } from './storage/database.ts'
import { returnIdleMemory } from './threads/idle-memory.ts'
import { releaseStartupMemory } from './threads/startup-memory.ts'

export interface Server {
  /** Where it listens, for instance http://127.0.0.1:8080. */
  address: string
  models: Models
  /** Stops accepting requests, lets running ones finish for a while, cuts off the rest, and closes model and record. */
  stop(): Promise<void>
}

/**
 * Opens the port. From now on the server owns the record and the models. These load in the background, and so does the
 * thread of the first write, which the port waits for.
 */
export async function startServer(
  config: Config,
  { database, models }: { database: Database; models: Models },
  logger: FastifyBaseLogger,
  firstWrite?: Promise<unknown>,
): Promise<Server> {
  const close = async () => {
    try {
      await models.close()
    } finally {
      await database.close()
    }
  }
  try {
    const app = await buildApp(config, { database, logger, models })
    await releaseStartupMemory()
    if (models.all.length > 0) compileSooner()
    returnIdleMemory(app.server, (error) => app.log.warn({ err: error }, 'memory is not given back'))
    await firstWrite
    const address = await app.listen({
      host: config.host,
      port: config.port,
      listenTextResolver: (bound) => `bound to ${bound}`,
    })
    app.log.info({ address }, 'listening')
    if (models.all.length > 0) app.log.info({ record: config.record }, recordingSaid[config.record])
    return {
      address,
      models,
      async stop() {
        const steps = [
          setTimeout(() => tellOfWaiting(app, config.grace), noticeableMs),
          setTimeout(() => cutOffWaits(app), config.grace),
          setTimeout(() => app.server.closeAllConnections(), config.grace + lastWordsMs),
        ]
        try {
          await app.close()
        } finally {
          for (const step of steps) clearTimeout(step)
          await close()
        }
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * How many calls of a function it takes before V8 optimises it. By default that is 400, or 500 without new type
 * feedback, and a server with few requests would run slow code for days. The best code, after 3,000 calls, takes too
 * much time to compile for doing it sooner.
 */
const flags = [
  '--invocation-count-for-maglev=50',
  '--invocation-count-for-maglev-with-delay=75',
  '--minimum-invocations-after-ic-update=50',
]

/**
 * For a server with a model, where each answer waits for this code, and where some more memory is little compared with
 * the model. Called after startup, whose code runs only once.
 */
function compileSooner(): void {
  for (const flag of flags) setFlagsFromString(flag)
}

/** A stop that takes no longer than this needs no explanation. */
const noticeableMs = 100

/** For clients to read why their answers end. */
const lastWordsMs = 1_000

function tellOfWaiting({ log, requestsRunning: requests }: App, graceMs: number): void {
  if (requests === 0 || graceMs <= noticeableMs) return
  const what = requests === 1 ? '1 request' : `${requests} requests`
  log.info(
    { requests },
    `waiting up to ${graceMs / 1000} s for ${what} to finish; a second signal stops the server at once`,
  )
}

/** The first lines of the log say whether and where answers are recorded. */
const recordingSaid: Record<Config['record'], string> = {
  all: 'every answer of the model is recorded as a call, unless its request opts out; HEDDLE_RECORD=asked or off changes that',
  asked: 'answers are recorded as calls when their request has "store": true',
  off: 'no answers are recorded',
}
