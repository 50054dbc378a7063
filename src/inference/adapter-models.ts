import { hash } from 'node:crypto'
import type { Model } from './model.ts'

/**
 * The models of an engine: the one of its file and one for each of its adapters, known when it is loaded or planned.
 * They share its sequences, which are counted for the first.
 */
export function withAdapters(base: Model): () => readonly Model[] {
  const known = new Map<string, Model>()

  function modelOf(name: string): Model {
    const model = known.get(name) ?? adapterModel(base, name)
    known.set(name, model)
    return model
  }

  return () => [base, ...(base.served()?.adapters ?? []).map(modelOf)]
}

function adapterModel(base: Model, name: string): Model {
  const { load } = base

  function served() {
    const of = base.served()
    if (of === undefined) return undefined
    const { adapters = [], adapterDigests, ...model } = of
    const digest = hash('sha256', JSON.stringify([of.digest, adapterDigests?.[adapters.indexOf(name)]]))
    const parent = model.names[0]
    return { ...model, names: [name], digest, ...(parent !== undefined && { parent }) }
  }

  return {
    status() {
      const status = base.status()
      return status.state === 'ready' ? { state: 'ready', running: 0, waiting: 0 } : status
    },
    served,
    format: () => base.format(),
    answer: (request, signal) => base.answer({ ...request, adapter: name }, signal),
    pool: (...args) => base.pool(...args),
    decide: (asked, ...rest) => base.decide({ ...asked, adapter: name }, ...rest),
    tokenize: (...args) => base.tokenize(...args),
    detokenize: (...args) => base.detokenize(...args),
    ...(load && {
      async load(tenant: string, signal: AbortSignal) {
        const loaded = await load(tenant, signal)
        return served() ?? loaded
      },
    }),
    fallbacks: base.fallbacks ?? [],
    // The engine is closed together with the model for which it was opened.
    close: async () => {},
  }
}
