import { grammarTooLarge } from '../grammar/errors.ts'
import { type Expr, rule } from '../grammar/expressions.ts'
import { addArmedText } from '../turns/armed-text.ts'
import { mergedPaths, type Path, path } from '../turns/paths.ts'

export interface Stop {
  readonly text: string
  readonly next: Expr
}

interface FreeText {
  readonly stops: readonly Stop[]
  /** Whether the text may also be over without one of the stops. */
  readonly mayEnd: boolean
}

/** Characters of all stops together. */
const mostCharacters = 1000

/**
 * Any text up to the first place where one of the stops is complete, and then what comes next after that stop; of several that
 * are, the longest. There is one way to read a text. The start is the rule that is named as the prefix.
 */
export function addFreeText({ stops, mayEnd }: FreeText, prefix: string, rules: Map<string, Expr>): Expr {
  const known = new Map(stops.toReversed().map((stop) => [stop.text, stop]))
  const characters = stops.reduce((sum, { text }) => sum + [...text].length, 0)
  if (characters > mostCharacters) {
    throw grammarTooLarge('characters of triggers and ends', characters, mostCharacters)
  }
  const anywhere = mergedPaths(Array.from(known.values(), pathOf))
  addArmedText({ anywhere, starts: {}, mayEnd, hasControlTokens: false }, prefix, rules)
  return rule(prefix)
}

/** What callers send has no markers: each of its characters is one. */
function pathOf({ text, next }: Stop): Path {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0).reduceRight<Path>(
    (behind, point) => path([[point, behind]]),
    path([], next),
  )
}
