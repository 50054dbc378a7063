import type { Answering } from '../request.ts'

/** How long answers of one adapter run together: after a change llama.cpp plans its work anew. */
const turnMs = 40

/**
 * The library applies an adapter to a whole batch, so answers with different adapters take turns. `undefined` is the
 * model without an adapter.
 */
export function createAdapterTurns() {
  let now: string | undefined
  let since = 0

  /** Those whose adapter has its turn. */
  return (busy: readonly Answering[]): readonly Answering[] => {
    const [first, ...others] = new Set(busy.map(adapterOf))
    if (others.length === 0) {
      now = first
      return busy
    }
    const wanted = [first, ...others].sort((a = '', b = '') => (a < b ? -1 : 1))
    const own = wanted.indexOf(now)
    if (own < 0 || performance.now() - since > turnMs) {
      now = wanted[(own + 1) % wanted.length]
      since = performance.now()
    }
    return busy.filter((answering) => adapterOf(answering) === now)
  }
}

export function adapterOf({ request }: Answering): string | undefined {
  return request.generation.adapter
}
