import type { TokenRule } from '../../constraints/index.ts'

/** Of a mask; the next one overwrites them, so that nothing is allocated for each token of an answer. */
let tokens: Uint32Array = new Uint32Array(0)

/** All tokens that the rule allows, in ascending order, until the next call. */
export function allowedTokens(rule: TokenRule): Uint32Array {
  const few = rule.few()
  if (few !== undefined) return Uint32Array.from(few).sort()
  const { bits, count } = rule.mask()
  if (tokens.length < count) tokens = new Uint32Array(32 * bits.length)
  let length = 0
  for (let index = 0; index < bits.length; index++) {
    for (let left = bits[index] as number; left !== 0; left &= left - 1) {
      tokens[length++] = 32 * index + 31 - Math.clz32(left & -left)
    }
  }
  return tokens.subarray(0, length)
}
