import type { FastifyBaseLogger } from 'fastify'
import { createEmbeddedBackend, sourceOf } from '../packages/engine/index.ts'
import { buildApp } from './app.ts'
import type { Config } from './config.ts'
import type { App } from './http/contracts.ts'
import { cutOffWaits } from './http/disconnect.ts'
import { withRefusals } from './inference/engine-refusals.ts'
import { localModels } from './inference/local-model.ts'
import { createModels, type Models } from './inference/registry.ts'
import { createServedModel } from './inference/served-model.ts'
import type { Database } from './storage/database.ts'
import { compileSooner } from './threads/compile-sooner.ts'
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
 * Opens the port. From now on the server owns the record. The model loads in the background, and so does the thread of
 * the first write, which the port waits for.
 */
export async function startServer(
  config: Config,
  database: Database,
  logger: FastifyBaseLogger,
  firstWrite?: Promise<unknown>,
): Promise<Server> {
  const models = await modelsOf(config, logger)
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
        // A keep-alive connection that was busy becomes idle after its answer, and has to be closed then.
        const leave = setInterval(() => app.server.closeIdleConnections(), 50)
        try {
          await app.close()
        } finally {
          for (const step of steps) clearTimeout(step)
          clearInterval(leave)
          await close()
        }
      },
    }
  } catch (error) {
    await close()
    throw error
  }
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

/** The most requests at a time; these servers have queues of their own. */
const maxToUpstream = 256

async function modelsOf(config: Config, logger: FastifyBaseLogger): Promise<Models> {
  if (config.models !== '') {
    const { openModels } = await import('./inference/many/open.ts')
    return openModels(config, { log: logger, engineLog: logger, environment: process.env })
  }
  const source = sourceOf(config.model)
  if (source.kind === 'none') return createModels([])
  if (source.kind === 'upstream') {
    // Loaded only when needed: most servers have no server behind them.
    const { connectUpstream } = await import('./inference/upstream/served-names.ts')
    const { upstream_key: key, upstream_kind: kind, context } = config
    const upstream = connectUpstream(
      {
        addresses: [{ url: source.url, weight: 1, ...(key !== '' && { key }) }],
        names: config.model_name,
        ...(kind !== 'auto' && { kind }),
        ...(context > 0 && { context }),
        source: source.url,
        parallel: config.parallel || maxToUpstream,
        queue: config.queue,
        silenceMs: config.upstream_timeout,
      },
      logger,
    )
    return createModels(upstream.all, upstream.close)
  }
  const engine = createServedModel(source, config, {
    log: logger,
    startEngine: (plan) => withRefusals(createEmbeddedBackend(plan, logger)),
  })
  return localModels(engine, (values, message) => logger.debug({ model: config.model, ...values }, message), {
    unknownKeywords: config.unknown_keywords,
  })
}
