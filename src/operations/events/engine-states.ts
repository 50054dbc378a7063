import type { Model } from '../../inference/model.ts'
import type { Models } from '../../inference/registry.ts'

const checkIntervalMs = 1_000

/** Reports the names of models whose state has changed. */
export function watchEngine(models: Models, changed: (models: string[]) => void): () => void {
  /** Without load and counts: they change with every answer, whoever asked for it. */
  const stateOf = (model: Model) => {
    const status = model.status()
    const what = status.state === 'starting' ? status.doing : status.state === 'failed' ? status.reason : ''
    return `${status.state} ${what}`
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
