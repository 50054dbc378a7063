import type { Answering } from '../request.ts'

/**
 * Answers of one adapter go on together for so long: after a change llama.cpp plans its work anew.
 */
const turnMs = 40

/**
 * The library adds an adapter to the weights for a whole batch, so answers of different adapters take turns. `undefined` is the model
 * without one.
 */
export function createAdapterTurns() {
  let now: string | undefined
  let since = 0

  /** Those of them whose turn it is. */
  return (busy: readonly Answering[]): readonly Answering[] => {
    const [first, ...others] = new Set(busy.map(adapterOf))
    if (others.length === 0) {
      now = first
      return busy
    }
    const wanted = [first, ...others].sort((one = '', other = '') => (one < other ? -1 : 1))
    const own = wanted.indexOf(now)
    if (own < 0 || performance.now() - since > turnMs) {
      now = wanted[(own + 1) % wanted.length]
      since = performance.now()
    }
    return busy.filter((one) => adapterOf(one) === now)
  }
}

export function adapterOf({ request }: Answering): string | undefined {
  return request.generation.adapter
}

/** What a prompt has to share beside its tokens to go on from a sequence. */
export function keyOf({ adapter, salt }: { adapter?: string; salt?: string }): string | undefined {
  return adapter === undefined && salt === undefined ? undefined : JSON.stringify([adapter, salt])
}
