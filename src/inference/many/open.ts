import { stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { type EngineLogger, findDevice, roomOn, type Supervision } from '../../../packages/engine/index.ts'
import { whenAborted } from '../../../packages/waiting/index.ts'
import { withAdapters } from '../adapter-models.ts'
import { createCompiling } from '../constraints/compiling.ts'
import type { Model } from '../model.ts'
import { createPrompts } from '../prompt/prompts.ts'
import { createModels, type ModelList, type Models } from '../registry.ts'
import type { ObtainParts } from '../served-model.ts'
import { memoryOfModels } from './bound.ts'
import type { ListedModel, ManySettings } from './listed-model.ts'
import { connectListedServer, createModelOfServer, type ListedServer } from './listed-server.ts'
import type { ModelEntry } from './models-file.ts'
import { createOnDemandModel } from './on-demand.ts'
import { type ModelsSpec, readModels } from './read-models.ts'
import type { MemoryUse } from './resident.ts'
import { createRoom, type RoomOptions } from './room.ts'

/**
 * Calls `changed` when one of the files has changed. They are polled, because the system's notifications get lost when
 * files are replaced, linked or mounted. While a file is being written, waits until it is complete.
 */
async function watchFiles(
  files: () => readonly string[],
  changed: () => Promise<void>,
  { everyMs, signal }: { everyMs: number; signal: AbortSignal },
): Promise<void> {
  let known = await stampOf(files())
  let last = known
  while (!signal.aborted) {
    await delay(everyMs, undefined, { ref: false, signal }).catch(() => undefined)
    if (signal.aborted) return
    const now = await stampOf(files())
    if (now !== known && now === last) {
      await changed()
      // Another list may come from other files.
      known = await stampOf(files())
      last = known
    } else last = now
  }
}

async function stampOf(files: readonly string[]): Promise<string> {
  const stamps = files.map(async (file) => {
    const found = await stat(file, { bigint: true }).catch(() => undefined)
    return found === undefined ? 'none' : `${found.mtimeNs} ${found.size} ${found.ino}`
  })
  return (await Promise.all(stamps)).join('\n')
}

interface ManyParts {
  log: ObtainParts['log']
  engineLog: EngineLogger
  environment: Readonly<Record<string, string | undefined>>
  /** Shorter times, for tests. */
  supervision?: Supervision
  room?: Partial<RoomOptions>
  watchMs?: number
}

interface Entry {
  entry: ModelEntry
  model: ListedModel
  /** The model, and one for each of its adapters. */
  all: () => readonly Model[]
  behind: ListedServer | undefined
}

/** The models of the file of HEDDLE_MODELS, which is read again when it changes. Rejects when the file cannot be used. */
export async function openModels(settings: ManySettings, services: ManyParts): Promise<Models> {
  const { log, engineLog, environment, supervision, watchMs = 1_000 } = services
  const path = settings.models
  const first = await readModels(path, environment)
  const { bound, look } = await memoryOfModels(settings)
  let device: ReturnType<typeof findDevice> | undefined
  const bounds: MemoryUse = { machine: bound, device: Number.POSITIVE_INFINITY }
  let isUnified = false
  const search = {
    // Determined only once: less of the device's memory is free while a model is on it.
    async find(...args: Parameters<typeof findDevice>) {
      device ??= findDevice(...args)
      const found = await device
      if (!('missing' in found)) {
        bounds.device = roomOn(found)
        isUnified = found.unified
      }
      return found
    },
    look,
  }
  const needOf = (need: MemoryUse) => (isUnified ? { machine: need.machine + need.device, device: 0 } : need)
  const loads = new Map<string, { loaded: number; unloaded: number; failed: number }>()
  const countsOf = (model: string) => {
    const counts = loads.get(model) ?? { loaded: 0, unloaded: 0, failed: 0 }
    loads.set(model, counts)
    return counts
  }
  const room = createRoom<Model>(
    {
      bound: bounds,
      queue: settings.queue,
      ...services.room,
    },
    {
      loaded(model, ms) {
        countsOf(model).loaded++
        log.info({ model, ms: Math.round(ms), ...memory() }, 'a model was loaded on demand')
      },
      unloaded(model) {
        countsOf(model).unloaded++
        log.info({ model, ...memory() }, 'a model was unloaded')
      },
      failed(model, reason, again_in_ms) {
        countsOf(model).failed++
        log.error({ model, reason, again_in_ms }, 'a model could not be loaded')
      },
    },
  )
  const memory = () => ({ memory: room.used.machine, of: bound })
  const prompts = createPrompts()
  const compiling = createCompiling({ unknownKeywords: settings.unknown_keywords })
  let servers: ListedServer[] = []
  let entries: Entry[] = []
  let spec: ModelsSpec = { models: [], upstreams: [], files: [] }
  const list: ModelList = {
    file: path,
    read_at: new Date().toISOString(),
    fault: null,
    get memory() {
      return { used: room.used.machine, bound }
    },
    loads,
  }
  const retiring = new Set<Promise<void>>()
  const closing = new AbortController()
  const closed = new Promise<void>((resolve) => whenAborted(closing.signal, resolve))

  /** Keeps unchanged servers and connects new ones. */
  function serversOf(next: ModelsSpec): ListedServer[] {
    return next.upstreams.map(
      (upstream) =>
        servers.find(({ spec: known }) => isDeepStrictEqual(known, upstream)) ??
        connectListedServer(upstream, settings, log),
    )
  }

  /** Unchanged entries stay, with what runs in them; the others accept no new requests and end when theirs have. */
  function use(next: ModelsSpec, nextServers: ListedServer[]): { added: string[]; removed: string[] } {
    const nextEntries = next.models.map((entry): Entry => {
      const behind = nextServers.find(({ spec: known }) => known.name === entry.upstream)
      const same = entries.find(
        (old) => old.behind === behind && isDeepStrictEqual(old.entry, entry) && !old.model.isStuck(),
      )
      if (same !== undefined) return same
      const model = modelOf(entry, behind)
      return { entry, behind, model, all: withAdapters(model) }
    })
    const removed = entries.filter((entry) => !nextEntries.includes(entry))
    const added = nextEntries.filter((entry) => !entries.includes(entry))
    for (const { model } of removed) retire(model.retire())
    for (const server of servers) if (!nextServers.includes(server)) retire(server.retire(closing.signal))
    servers = nextServers
    entries = nextEntries
    spec = next
    const namesOf = (some: readonly Entry[]) => some.map(({ entry }) => entry.name)
    return { added: namesOf(added), removed: namesOf(removed) }
  }

  function modelOf(entry: ModelEntry, behind: ListedServer | undefined): ListedModel {
    if (behind !== undefined) return createModelOfServer(entry, behind)
    const { file = '' } = entry
    return createOnDemandModel(
      { ...entry, file },
      {
        room,
        settings,
        prompts,
        compiling,
        search,
        needOf,
        engineLog,
        bringing: { log },
        log: (values, message) => log.info({ model: entry.name, ...values }, message),
        ...(supervision && { supervision }),
      },
    )
  }

  function retire(retired: Promise<void>): void {
    const ended: Promise<void> = retired
      .catch((err: unknown) =>
        log.error({ err }, 'a model that was removed from the list could not be stopped'),
      )
      .finally(() => retiring.delete(ended))
    retiring.add(ended)
  }

  async function reload(): Promise<void> {
    try {
      const next = await readModels(path, environment)
      if (closing.signal.aborted) return
      const nextServers = serversOf(next)
      // The models of a server are unknown until it is reached; switching earlier would drop those that it had before.
      const reached = nextServers.map(({ server }) => server.addresses.reached)
      await Promise.race([Promise.all(reached), closed])
      const { added, removed } = use(next, nextServers)
      list.read_at = new Date().toISOString()
      list.fault = null
      log.info({ file: path, added, removed }, 'the list of models was read again')
    } catch (error) {
      list.fault = error instanceof Error ? error.message : String(error)
      log.error({ file: path }, `the list of models stays as it was: ${list.fault}`)
    }
  }

  /**
   * The default first, then the list in its order, then what servers list. Of two with the same name, the first is
   * found.
   */
  function all(): readonly Model[] {
    const own = entries.flatMap(({ all: of }) => of())
    const known = [...own, ...servers.flatMap((server) => server.all())]
    const reached = known.filter((model) => model.served() !== undefined)
    const models = reached.length > 0 ? reached : known
    const usual = models.findIndex(
      (model) => spec.default !== undefined && model.served()?.names.includes(spec.default),
    )
    return usual > 0 ? [models[usual] as Model, ...models.toSpliced(usual, 1)] : models
  }

  use(first, serversOf(first))
  const watching = watchFiles(() => spec.files, reload, { everyMs: watchMs, signal: closing.signal })
  const models = createModels(all, async () => {
    closing.abort(new Error('the server is stopping'))
    await watching
    await room.close()
    await Promise.all([...servers.map(({ server }) => server.close()), ...retiring])
    await Promise.all([prompts.close(), compiling.close()])
  })
  return {
    ...models,
    get all() {
      return models.all
    },
    list: () => list,
  }
}
