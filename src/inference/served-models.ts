import { setTimeout as delay } from 'node:timers/promises'
import { createEmbeddedBackend, type EngineLogger, sourceOf } from '../../packages/engine/index.ts'
import type { Config } from '../config.ts'
import { withRefusals } from './engine-refusals.ts'
import { localModels } from './local-model.ts'
import { createModels, type Models } from './registry.ts'
import { createServedModel } from './served-model.ts'

/** The most requests at a time; these servers have queues of their own. */
const maxToUpstream = 256

/**
 * What a start loads next keeps the event loop busy, and looking for a file takes many turns of it. A file that is here
 * is found in a third of this; a download or a GPU takes longer, and nobody waits for those.
 */
const headStartMs = 100

/** The models that the settings name. They exist at once and become ready later. */
export async function openServedModels(config: Config, logger: EngineLogger): Promise<Models> {
  if (config.models !== '') {
    const { openModels } = await import('./many/open.ts')
    return openModels(config, { log: logger, engineLog: logger, environment: process.env })
  }
  const source = sourceOf(config.model)
  if (source.kind === 'none') return createModels([])
  if (source.kind === 'upstream') {
    // Loaded only when needed: most servers have no server behind them.
    const { connectUpstream } = await import('./upstream/served-names.ts')
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
  await Promise.race([engine.looked, delay(headStartMs)])
  return localModels(engine, (values, message) => logger.debug({ model: config.model, ...values }, message), {
    unknownKeywords: config.unknown_keywords,
  })
}
