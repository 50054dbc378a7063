import type { Candidates, Logits } from './logits.ts'

/** The same logits; what has been asked for once is not asked for again. */
export function remembered<Of extends Logits>(logits: Of): Of {
  let most: { count: number; candidates: Promise<Candidates> } | undefined
  const totals = new Map<number, Promise<number>>()
  return {
    ...logits,
    async top(count) {
      if (most === undefined || most.count < count) most = { count, candidates: logits.top(count) }
      const { tokens, logits: values } = await most.candidates
      return tokens.length <= count
        ? { tokens, logits: values }
        : { tokens: tokens.subarray(0, count), logits: values.subarray(0, count) }
    },
    logTotal(temperature) {
      const known = totals.get(temperature)
      if (known !== undefined) return known
      const total = logits.logTotal(temperature)
      totals.set(temperature, total)
      return total
    },
  }
}
