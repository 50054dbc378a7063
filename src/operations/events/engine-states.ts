import type { Model } from '../../inference/model.ts'
import type { Models } from '../../inference/registry.ts'

const checkIntervalMs = 1_000

/** Reports the names of models whose state has changed. */
export function watchEngine(models: Models, changed: (models: string[]) => void): () => void {
  const stateOf = (model: Model) => {
    const {
      running: _,
      waiting: __,
      bytes: ___,
      ...state
    } = { running: 0, waiting: 0, bytes: 0, ...model.status() }
    return JSON.stringify(state)
  }
  const statesNow = () => new Map(models.all.map((model) => [model, stateOf(model)]))
  let before = statesNow()
  const timer = setInterval(() => {
    const now = statesNow()
    const changes = [...new Set([...before.keys(), ...now.keys()])].filter(
      (model) => before.get(model) !== now.get(model),
    )
    before = now
    if (changes.length > 0) changed(changes.flatMap((model) => model.served()?.names[0] ?? []))
  }, checkIntervalMs).unref()
  return () => clearInterval(timer)
}
