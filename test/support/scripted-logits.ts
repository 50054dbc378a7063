import { isInMask, type TokenMask } from '../../packages/constraints/index.ts'
import { type Logits, loadInProcess, type PositionLogits } from '../../packages/engine/index.ts'

const { logSum } = await loadInProcess()

export interface ScriptedLogits extends PositionLogits {
  /** The requests so far, in order: `best`, `top 40`, `of 3`, `total 0.7`. */
  readonly asked: string[]
}

/** The given logits of a position, with a record of what was requested of them. */
export function scriptedLogits(values: ArrayLike<number>): ScriptedLogits {
  const logits = Float32Array.from(values)
  let order: Uint32Array | undefined
  const ordered = () => {
    order ??= Uint32Array.from(logits, (_, i) => i).sort((a, b) => at(b) - at(a) || b - a)
    return order
  }
  const at = (token: number) => logits[token] as number
  const asked: string[] = []
  const maskedBy = new Map<TokenMask, Logits>()
  return {
    asked,
    vocabulary: logits.length,
    async best() {
      asked.push('best')
      return logits.reduce((best, logit, token) => (logit > at(best) ? token : best), 0)
    },
    async top(count) {
      asked.push(`top ${count}`)
      const tokens = ordered().slice(0, count)
      return { tokens, logits: Float32Array.from(tokens, at) }
    },
    async of(tokens) {
      asked.push(`of ${tokens.length}`)
      return Float32Array.from(tokens, at)
    },
    async logTotal(temperature) {
      asked.push(`total ${temperature}`)
      return logSum(logits, temperature)
    },
    masked(mask) {
      const known = maskedBy.get(mask)
      if (known !== undefined) return known
      const of = scriptedLogits(logits.map((logit, token) => (isInMask(mask, token) ? logit : -Infinity)))
      const made = { ...of, vocabulary: mask.count }
      maskedBy.set(mask, made)
      return made
    },
  }
}
