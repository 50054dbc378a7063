import { refuse } from '../domain/refusals.ts'
import type { ServedModel } from './backend.ts'
import type { Model } from './model.ts'
import { notReady } from './served-model.ts'

/** The models of this server, found by the names that requests give. */
export interface Models {
  readonly all: readonly Model[]
  /** The model of this name, or the first one where a request names none. Throws a refusal where no loaded model has it. */
  find(name: string | null | undefined): { model: Model; served: ServedModel }
  close(): Promise<void>
}

/** `close` also ends what the models share. What a server elsewhere has may change from request to request. */
export function createModels(
  given: readonly Model[] | (() => readonly Model[]),
  closeShared: () => Promise<void> = async () => {},
): Models {
  const now = typeof given === 'function' ? given : () => given
  return {
    get all() {
      return now()
    },
    find(name) {
      const all = now()
      const [first] = all
      if (first === undefined) {
        throw refuse('model_not_ready', { why: 'this server runs without one (HEDDLE_MODEL=none)' })
      }
      const loaded = all.flatMap((model) => {
        const served = model.served()
        return served === undefined ? [] : [{ model, served }]
      })
      const found = name
        ? loaded.find(({ served }) => served.names.includes(name))
        : loaded.find(({ model }) => model === first)
      if (found) return found
      // The names of a model are known when it is loaded.
      const missing = all.find((model) => model.served() === undefined)
      if (missing !== undefined) throw notReady(missing.status())
      throw refuse('model_not_found', {
        field: 'model',
        model: JSON.stringify(name),
        accepted: loaded.flatMap(({ served }) => served.names.map((one) => JSON.stringify(one))).join(', '),
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
