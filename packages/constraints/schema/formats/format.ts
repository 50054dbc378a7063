/**
 * A format of strings, as a regular expression that a whole string must match. If the standard allows more than a grammar
 * of reasonable size can express, the expression is narrower, never wider, and `bound` describes what is left out.
 */
export interface Format {
  readonly pattern: string
  readonly standard: string
  readonly bound?: string
  /**
   * A narrower pattern for texts of limited length, for when counting the characters in the full pattern takes too many
   * states.
   */
  readonly within?: (most: number) => string
  /**
   * Patterns that libraries write alongside the format and that every text of it matches: larger than the format, and no
   * narrower.
   */
  readonly implied?: readonly string[]
}
