import type { Model, UpstreamLoad } from '../model.ts'
import { notReady } from '../served-model.ts'
import type { ListedModel } from './listed.ts'
import { connectServer, type UpstreamLog, type UpstreamServer, type UpstreamSettings } from './server.ts'
import { createUpstreamModel } from './upstream-model.ts'

interface NamesBehind {
  /** Names under which one model of the server is served here; if empty, all listed models are. */
  names: readonly string[]
  /** The name of the model there, if it is not one of these. */
  model?: string
  /** Tokens of a conversation, if the server does not report it. */
  context?: number
  source: string
}

export type UpstreamNames = NamesBehind & UpstreamSettings

/** `model` is its name there, if it is not the first of its names. */
type Chosen = ListedModel & { model?: string }

/** The known models of a server elsewhere; its list is requested again and again. */
interface UpstreamModels {
  all(): readonly Model[]
  close(): Promise<void>
}

/** The models of an upstream server, where this server has no others. */
export function connectUpstream(settings: UpstreamNames, log: UpstreamLog): UpstreamModels {
  const server = connectServer(settings, log)
  return { all: modelsOfServer(server, settings), close: () => server.close() }
}

/** The models of a server that settings name, or all of them. */
export function modelsOfServer(server: UpstreamServer, settings: NamesBehind): () => readonly Model[] {
  const { names, source } = settings
  const created = Math.floor(Date.now() / 1000)
  const known = new Map<string, Model>()
  let seen: readonly ListedModel[] | undefined
  let models: readonly Model[] = []

  /**
   * The listed model with one of the names, or the first; for a server that lists nothing, the name from the settings
   * is used.
   */
  function chosen(listed: readonly ListedModel[]): Chosen[] {
    if (names.length === 0 && settings.model === undefined) return [...listed]
    const wanted = settings.model === undefined ? names : [settings.model]
    const found =
      listed.find((model) => model.names.some((name) => wanted.includes(name))) ??
      (settings.model === undefined ? listed[0] : undefined)
    const there = settings.model ?? found?.names[0] ?? (names[0] as string)
    const kind = server.kind ?? found?.kind ?? listed[0]?.kind ?? 'openai'
    const shown = names.length > 0 ? names : (found?.names ?? [there])
    const { context = 0, tasks, abilities } = found ?? {}
    const known = { ...(tasks && { tasks }), ...(abilities && { abilities }) }
    return [{ names: [...shown], kind, context, model: there, ...known }]
  }

  function modelOf(listed: Chosen): Model {
    const kind = server.kind ?? listed.kind
    const context = settings.context || listed.context
    const model = listed.model ?? (listed.names[0] as string)
    const { names, tasks, abilities } = listed
    const key = JSON.stringify([names, model, kind, context, tasks, abilities])
    const same = known.get(key)
    if (same !== undefined) return same
    const told = { names, model, kind, context, source, created, ...(tasks && { tasks }) }
    const made = createUpstreamModel(server, { ...told, ...(abilities && { abilities }) })
    known.set(key, made)
    return made
  }

  const unreached = unreachedModel(server.load, () => {
    const fault = server.listed() === undefined ? undefined : 'it lists no models: set HEDDLE_MODEL_NAME'
    return fault === undefined
      ? { state: 'starting', doing: 'the server behind it has not answered yet' }
      : { state: 'failed', reason: fault }
  })

  return () => {
    const listed = server.listed()
    if (listed !== seen && listed !== undefined) {
      seen = listed
      models = chosen(listed).map(modelOf)
    }
    return models.length > 0 ? models : [unreached]
  }
}

/** Stands for the models of a server until their names are known. */
function unreachedModel(upstream: UpstreamLoad, status: Model['status']): Model {
  const unready = async () => {
    throw notReady(status())
  }
  return {
    status,
    served: () => undefined,
    format: async () => undefined,
    answer: unready,
    pool: unready,
    decide: unready,
    tokenize: unready,
    count: unready,
    detokenize: unready,
    upstream,
    async close() {},
  }
}
