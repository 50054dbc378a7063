import { refuse } from '../domain/refusals.ts'
import type { ModelTask, ServedModel } from './backend.ts'
import type { Model } from './model.ts'
import { notReady } from './served-model.ts'

/** Who asks, as far as models are concerned. */
interface ModelAsker {
  /** `models`: names of those that may be asked. Absent: all. */
  settings?: { models?: readonly string[] | undefined } | undefined
}

/** A model that is known, and what is known of it. */
export interface FoundModel {
  model: Model
  served: ServedModel
  /** Those that answer in its place, in this order, when it fails before its answer has begun. */
  fallbacks?: readonly FoundModel[]
}

/** The models of this server, found by the names that requests give. */
export interface Models {
  /** The first is the default. */
  readonly all: readonly Model[]
  /** Those that somebody may ask, and those that are not known yet. To anyone else they are not there. */
  seenBy(asker: ModelAsker): readonly Model[]
  /**
   * The model of this name; where a request names none, the first that does the task. Throws a refusal where no loaded model has
   * the name, where the asker may not ask it, or where it does not do the task.
   */
  find(name: string | null | undefined, asker: ModelAsker, task?: Task): FoundModel
  /** The file that they are read from, where there is one. */
  list?(): ModelList
  close(): Promise<void>
}

/** What became of the file of HEDDLE_MODELS. */
export interface ModelList {
  file: string
  read_at: string
  /** Why it was not read again when it last changed; what stood in it before holds. */
  trouble: string | null
  /** Bytes that local models take together, as planned, and may take. */
  memory: { used: number; bound: number }
  /** How often each was loaded, unloaded, and could not be loaded. */
  loads: ReadonlyMap<string, { loaded: number; unloaded: number; failed: number }>
}

type Task = ModelTask | 'any'

/** What a model can be asked for. */
export function doesTask({ tasks = ['answers'] }: Pick<ServedModel, 'tasks'>, task: Task): boolean {
  return task === 'any' || tasks.includes(task)
}

/** `close` also ends what the models share. What a server elsewhere has may change from request to request. */
export function createModels(
  given: readonly Model[] | (() => readonly Model[]),
  closeShared: () => Promise<void> = async () => {},
): Models {
  const now = typeof given === 'function' ? given : () => given

  function seenBy({ settings }: ModelAsker): readonly Model[] {
    const allowed = settings?.models
    if (allowed === undefined) return now()
    return now().filter((model) => {
      const served = model.served()
      return served === undefined || served.names.some((name) => allowed.includes(name))
    })
  }

  function fallbacksOf({ fallbacks = [] }: Model, all: readonly FoundModel[], task: Task): FoundModel[] {
    return fallbacks.flatMap(
      (name) => all.find(({ served }) => served.names.includes(name) && doesTask(served, task)) ?? [],
    )
  }

  return {
    get all() {
      return now()
    },
    seenBy,
    find(name, asker, task = 'answers') {
      if (now().length === 0) {
        throw refuse('model_not_ready', { why: 'this server runs without one (HEDDLE_MODEL=none)' })
      }
      const seen = seenBy(asker)
      const loaded = seen.flatMap((model): FoundModel[] => {
        const served = model.served()
        return served === undefined ? [] : [{ model, served }]
      })
      const named = loaded.find(({ served }) => name && served.names.includes(name))
      const usual = seen.find((model) => {
        const served = model.served()
        return served === undefined || doesTask(served, task)
      })
      const found = name ? named : loaded.find(({ model }) => model === usual)
      if (found !== undefined) {
        if (!doesTask(found.served, task)) throw lacks(found, loaded, task)
        const fallbacks = fallbacksOf(found.model, loaded, task)
        return fallbacks.length === 0 ? found : { ...found, fallbacks }
      }
      // The names of a model are known when it is loaded.
      const missing = seen.find((model) => model.served() === undefined)
      if (missing !== undefined) throw notReady(missing.status())
      if (!name && loaded[0] !== undefined) throw lacks(loaded[0], loaded, task)
      throw refuse('model_not_found', {
        field: 'model',
        model: JSON.stringify(name || null),
        accepted: namesOf(loaded) || 'none, none may be asked by you',
      })
    },
    async close() {
      try {
        await Promise.all(now().map((model) => model.close()))
      } finally {
        await closeShared()
      }
    },
  }
}

const namesOf = (found: readonly FoundModel[]) =>
  found.flatMap(({ served }) => served.names.map((one) => JSON.stringify(one))).join(', ')

const taskSaid: Record<Task, string> = {
  any: 'does nothing',
  answers: 'writes no text',
  embeddings: 'gives no embeddings',
  ranking: 'ranks no documents',
}

function lacks({ served }: FoundModel, all: readonly FoundModel[], task: Task) {
  return refuse('model_lacks', {
    field: 'model',
    model: JSON.stringify(served.names[0]),
    why: taskSaid[task],
    accepted: namesOf(all.filter((one) => doesTask(one.served, task))) || 'none, no model here does that',
  })
}
