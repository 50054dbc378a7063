export interface RepetitionRule {
  /** Tokens of the shortest pattern; 0 counts as 1. */
  minPattern: number
  /** Tokens of the longest pattern; 0 turns the search off. */
  maxPattern: number
  /** How many times in a row. */
  count: number
}

/** Returns after each token whether the answer now ends with a pattern repeated `count` times. */
type Repetition = (tokens: readonly number[]) => boolean

/**
 * A block of L tokens is repeated `count` times at the end if each of the last L · (count − 1) tokens equals the one L
 * positions before it. For each L the number of such tokens is tracked, so a token costs one comparison for each L,
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
