import { type Expr, grammarTooLarge, rule } from '../../constraints/index.ts'
import { mergedPaths, type Path, path } from './paths.ts'
import { addTriggeredText } from './triggered-text.ts'

export interface Stop {
  readonly text: string
  readonly next: Expr
}

interface FreeText {
  readonly stops: readonly Stop[]
  /** Whether the text may also end without one of the stops. */
  readonly mayEnd: boolean
}

/** Characters of all stops together. */
const maxCharacters = 1000

/**
 * Any text up to the first position where a stop is complete, followed by what belongs to that stop; if several are
 * complete, to the longest. There is one way to read a text. The start is the rule with the prefix as its name.
 */
export function addFreeText({ stops, mayEnd }: FreeText, prefix: string, rules: Map<string, Expr>): Expr {
  const known = new Map(stops.toReversed().map((stop) => [stop.text, stop]))
  const characters = stops.reduce((sum, { text }) => sum + [...text].length, 0)
  if (characters > maxCharacters) {
    throw grammarTooLarge('characters of triggers and ends', characters, maxCharacters)
  }
  const anywhere = mergedPaths(Array.from(known.values(), pathOf))
  addTriggeredText({ anywhere, starts: {}, mayEnd, hasControlTokens: false }, prefix, rules)
  return rule(prefix)
}

/** The texts that callers send have no markers: each of their characters is one. */
function pathOf({ text, next }: Stop): Path {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0).reduceRight<Path>(
    (behind, point) => path([[point, behind]]),
    path([], next),
  )
}
