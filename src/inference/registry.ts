import type { ModelTask, ServedModel } from '../../packages/engine/index.ts'
import { refuse } from '../domain/refusals.ts'
import type { Model } from './model.ts'
import { notReady } from './served-model.ts'

/** The part of a caller that matters to models. */
interface ModelAsker {
  /** `models`: names of the models that the caller may use. Absent: all. */
  settings?: { models?: readonly string[] | undefined } | undefined
}

/** A loaded model, and what is known about it. */
export interface FoundModel {
  model: Model
  served: ServedModel
  /** Models that answer instead, in this order, when it fails before its answer has begun. */
  fallbacks?: readonly FoundModel[]
}

/** The models of this server, found by the names that requests give. */
export interface Models {
  /** The first is the default. */
  readonly all: readonly Model[]
  /** The models that the caller may use, and those whose names are not known yet. All others do not exist for it. */
  seenBy(asker: ModelAsker): readonly Model[]
  /**
   * The model with this name; if a request names none, the first that does the task. Throws a refusal if no loaded
   * model has the name, if the caller may not use it, or if it does not do the task.
   */
  find(name: string | null | undefined, asker: ModelAsker, task?: Task): FoundModel
  /** The state of the models' file, if there is one. */
  list?(): ModelList
  close(): Promise<void>
}

/** The state of the file of HEDDLE_MODELS. */
export interface ModelList {
  file: string
  read_at: string
  /** Why its last change was not accepted; the previous content then stays in effect. */
  fault: string | null
  /** Bytes that local models use together, as planned, and the most that they may use. */
  memory: { used: number; bound: number }
  /** How often each model was loaded, was unloaded, and could not be loaded. */
  loads: ReadonlyMap<string, { loaded: number; unloaded: number; failed: number }>
}

type Task = ModelTask | 'any'

/** Whether a model does this task. */
export function doesTask({ tasks = ['answers'] }: Pick<ServedModel, 'tasks'>, task: Task): boolean {
  return task === 'any' || tasks.includes(task)
}

/** `close` also closes what the models share. The models of a server elsewhere may change between requests. */
export function createModels(
  source: readonly Model[] | (() => readonly Model[]),
  closeShared: () => Promise<void> = async () => {},
): Models {
  const now = typeof source === 'function' ? source : () => source

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
        accepted: namesOf(loaded) || 'none, because you may use no model',
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
  found.flatMap(({ served }) => served.names.map((name) => JSON.stringify(name))).join(', ')

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
    accepted:
      namesOf(all.filter((model) => doesTask(model.served, task))) || 'none, because no model here does that',
  })
}

/** The number of tokens of a prompt. */
export async function tokenCount(model: Model, ...asked: Parameters<Model['tokenize']>): Promise<number> {
  return model.count?.(...asked) ?? (await model.tokenize(...asked)).length
}
