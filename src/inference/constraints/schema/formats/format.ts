/**
 * The formats of strings, each as a regular expression that a whole string must match: where the standard allows more
 * than a grammar can say in reasonable size, the expression is narrower, never wider, and `bound` says what is left out.
 */
export interface Format {
  readonly pattern: string
  readonly standard: string
  readonly bound?: string
  /** A narrower pattern for texts that may have only so many characters, where counting them in the whole one takes too many states. */
  readonly within?: (most: number) => string
  /** Patterns that libraries write beside it, and that each of its texts matches: larger than the format, and no narrower. */
  readonly implied?: readonly string[]
}
