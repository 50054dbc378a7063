import { setTimeout as delay } from 'node:timers/promises'
import type { ServedModel } from '../../../packages/engine/index.ts'
import type { Model } from '../model.ts'
import { tokenCount } from '../registry.ts'
import { notReady } from '../served-model.ts'
import { modelsOfServer } from '../upstream/served-names.ts'
import { connectServer, type UpstreamLog, type UpstreamServer } from '../upstream/server.ts'
import { ofServer } from '../upstream/upstream-model.ts'
import type { ListedModel, ManySettings } from './listed-model.ts'
import type { ModelEntry } from './models-file.ts'
import type { UpstreamSpec } from './read-models.ts'

/** Requests sent at once: servers have their own queues. */
const usualParallel = 256
const lookMs = 100

export interface ListedServer {
  server: UpstreamServer
  spec: UpstreamSpec
  /** The models that it lists, if all of them are served; until it is reached, a placeholder. */
  all(): readonly Model[]
  /** Closes the connection when nothing runs there any more, or at the signal. */
  retire(signal?: AbortSignal): Promise<void>
}

export function connectListedServer(
  spec: UpstreamSpec,
  settings: Pick<ManySettings, 'queue' | 'upstream_timeout'>,
  log: UpstreamLog,
): ListedServer {
  const server = connectServer(
    {
      addresses: spec.addresses,
      parallel: spec.parallel ?? usualParallel,
      queue: spec.queue ?? settings.queue,
      silenceMs: spec.timeout ?? settings.upstream_timeout,
      ...(spec.retries !== undefined && { retries: spec.retries }),
      ...(spec.kind !== undefined && spec.kind !== 'auto' && { kind: spec.kind }),
    },
    log,
  )
  const listed = spec.serves === 'all' ? modelsOfServer(server, { ...namesOf(spec), names: [] }) : () => []
  return {
    server,
    spec,
    all: listed,
    async retire(signal) {
      const { callers, background } = server.slots
      const isBusy = () =>
        server.addresses.all.some(({ running }) => running > 0) || callers.waiting + background.waiting > 0
      while (isBusy() && signal?.aborted !== true)
        await delay(lookMs, undefined, { ref: false, ...(signal && { signal }) }).catch(() => undefined)
      await server.close()
    },
  }
}

const namesOf = ({ context, addresses: [first] }: UpstreamSpec) => ({
  ...(context !== undefined && { context }),
  source: first?.url ?? '',
})

/** A model of a server behind this one, under the names in the list. */
export function createModelOfServer(
  { name, aliases = [], model, context, timeout, retries, fallbacks = [] }: ModelEntry,
  { server, spec }: ListedServer,
): ListedModel {
  const names = [name, ...aliases]
  const patience = {
    ...(timeout !== undefined && { silenceMs: timeout }),
    ...(retries !== undefined && { retries }),
  }
  const found = modelsOfServer(server.withPatience(patience), {
    ...namesOf(spec),
    ...(context !== undefined && { context }),
    names,
    model: model ?? name,
  })
  const now = () => found()[0] as Model
  const unknown: ServedModel = {
    names,
    // The server refuses what it cannot do.
    tasks: ['answers', 'embeddings', 'ranking'],
    created: Math.floor(Date.now() / 1000),
    source: `${namesOf(spec).source}#${model ?? name}`,
    context: context ?? spec.context ?? 0,
    device: `upstream: ${spec.kind ?? 'auto'}`,
    ...ofServer,
  }
  const asked = () => {
    const model = now()
    if (model.served() === undefined) throw notReady(model.status())
    return model
  }
  return {
    status: () => now().status(),
    served: () => now().served() ?? unknown,
    fallbacks,
    format: async () => undefined,
    answer: async (...args) => asked().answer(...args),
    pool: async (...args) => asked().pool(...args),
    decide: async (...args) => asked().decide(...args),
    tokenize: async (...args) => asked().tokenize(...args),
    count: async (...args) => tokenCount(asked(), ...args),
    detokenize: async (...args) => asked().detokenize(...args),
    upstream: server.load,
    isStuck: () => false,
    // It runs at its server, which is retired when no model has anything running there.
    async retire() {},
    async close() {},
  }
}
