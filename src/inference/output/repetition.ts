export interface RepetitionRule {
  /** Tokens of the shortest pattern looked for; 0 counts as 1. */
  minPattern: number
  /** Tokens of the longest one; 0 looks for none. */
  maxPattern: number
  /** How often in a row. */
  count: number
}

/** Says after each token whether the answer now ends with a pattern that is repeated as often as the rule says. */
type Repetition = (tokens: readonly number[]) => boolean

/**
 * A block of L tokens stands `count` times in a row at the end when each of the last L · (count − 1) tokens equals the one
 * L places before it. For each L it is known how long that has been so, so a token costs one comparison for each L,
 * however long the answer is.
 */
export function createRepetition(rule: RepetitionRule, maxTokens: number): Repetition {
  const shortest = Math.max(1, rule.minPattern)
  const longest = Math.min(rule.maxPattern, Math.floor(maxTokens / rule.count))
  if (!(longest >= shortest)) return () => false
  const equal = new Uint32Array(longest - shortest + 1)
  return (tokens) => {
    const last = tokens.length - 1
    const token = tokens[last]
    for (let length = shortest; length <= longest && length <= last; length++) {
      const run = tokens[last - length] === token ? (equal[length - shortest] ?? 0) + 1 : 0
      if (run >= length * (rule.count - 1)) return true
      equal[length - shortest] = run
    }
    return false
  }
}
