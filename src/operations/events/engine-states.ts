import type { Models } from '../../inference/registry.ts'

const lookMs = 1_000

/** Tells of models whose state has changed, by their names. */
export function watchEngine({ all }: Models, changed: (models: string[]) => void): () => void {
  const stateOf = (model: (typeof all)[number]) => {
    const { running: _, waiting: __, ...state } = { running: 0, waiting: 0, ...model.status() }
    return JSON.stringify(state)
  }
  let before = all.map(stateOf)
  const timer = setInterval(() => {
    const now = all.map(stateOf)
    const names = all.flatMap((model, index) =>
      now[index] === before[index] ? [] : (model.served()?.names[0] ?? []),
    )
    const isChanged = now.some((state, index) => state !== before[index])
    before = now
    if (isChanged) changed(names)
  }, lookMs).unref()
  return () => clearInterval(timer)
}
