import { type Expr, emptyText, isSymbol, never, pointsOf, rule, sequence } from '../../constraints/index.ts'
import { derivativesOf } from './derivatives.ts'
import { literalExpr, literalPath, type Placed } from './literals.ts'
import { mergedPaths, nameIn, type Path, path } from './paths.ts'

/** A mark in letters: the first that stands between brackets, with the punctuation before it. */
const bracketed = /^[^\s\w]*?(?:<[^<>\s"]+>|\[[^[\]\s"]+\])/u

/** The characters of tool names. */
const ofNames = Array.from(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:/@',
  (character) => character.codePointAt(0) ?? 0,
)

interface OpeningParts {
  /** The text before the first name. */
  opening: Placed
  /** The rule of the names and what follows them. */
  names: string
  /** The names in a text, where a call is certain only with the character after one of them. */
  named: Path
  /** Marks of other things, with which the opening may begin. */
  others: readonly string[]
}

/**
 * What has to be read in a text until only a call of an offered tool can follow: the mark with which the opening begins,
 * or the whole opening if it begins with none. An empty opening leaves the names themselves.
 */
export function markedOpening(head: OpeningParts, rules: ReadonlyMap<string, Expr>): Path {
  const [first] = head.opening.literal
  const mark = typeof first === 'string' ? markOf(first, head.others) : undefined
  if (typeof first !== 'string' || mark === undefined) return wholeOpening(head)
  const points = pointsOf(first)
  // As much as distinguishes it from what begins alike.
  const shared = head.others.map((other) => {
    const others = pointsOf(other)
    const differs = points.findIndex((point, at) => point !== others[at])
    return differs < 0 ? points.length - 1 : differs
  })
  const begun = points.slice(0, Math.max(pointsOf(mark).length, ...shared.map((at) => at + 1)))
  let rest: Expr | undefined = sequence(literalExpr(head.opening), rule(head.names))
  for (const point of begun) rest = rest && derivativesOf(rest, rules).get(point)
  return begun.reduceRight<Path>((next, point) => path([[point, next]]), path([], rest))
}

/** The same in a thought, where marks in letters may be written about: the whole opening. */
export function openingInThought(head: OpeningParts, rules: ReadonlyMap<string, Expr>): Path {
  const [first] = head.opening.literal
  const isOfTokens = typeof first === 'string' && isSymbol(pointsOf(first)[0] ?? 0)
  return isOfTokens ? markedOpening(head, rules) : wholeOpening(head)
}

function wholeOpening({ opening, names, named }: OpeningParts): Path {
  const last = opening.literal.at(-1)
  // Behind white space or a hole it is not certain where the name begins.
  if (typeof last !== 'string' || /\s$/.test(last)) return literalPath(opening, named)
  return literalPath(opening, path([], rule(names)))
}

/**
 * The opening of a format whose calls begin like other texts, with JSON for example. Such a text is a call once a name
 * and what the format writes between name and arguments are complete, so these two never follow each other with
 * another name.
 */
export function anchoredOpening({ opening, named }: OpeningParts, mid: Placed): Path {
  const plain = opening.literal
    .map((piece) => (typeof piece === 'string' ? piece.trim() : piece.hole))
    .join('')
  if (plain === '') return literalPath(opening, named)
  const unoffered = path(midPath(mid, never).steps)
  for (const point of ofNames) if (!unoffered.steps.has(point)) unoffered.steps.set(point, unoffered)
  return literalPath(opening, mergedPaths([named, unoffered]))
}

/** A call of an offered tool up to its arguments, or to its name where nothing else is between the two. */
export function openedCall({ opening, named }: OpeningParts, mid: Placed, names: readonly string[]): Path {
  const between = midPath(mid, emptyText)
  if (between.armed !== undefined) return literalPath(opening, named)
  const behind = path()
  for (const name of names) {
    const end = nameIn(behind, name)
    for (const [point, next] of between.steps) if (!end.steps.has(point)) end.steps.set(point, next)
  }
  return literalPath(opening, behind)
}

/** What is between a name and the arguments, without white space at its end. */
function midPath(mid: Placed, next: Expr): Path {
  const end = mid.literal.at(-1)
  const literal = typeof end === 'string' ? [...mid.literal.slice(0, -1), end.trimEnd()] : mid.literal
  return literalPath({ ...mid, literal }, path([], next))
}

function markOf(opening: string, others: readonly string[]): string | undefined {
  // A mark that closes the content opens nothing by itself.
  const lead = others.find((other) => other !== '' && opening.startsWith(other)) ?? ''
  const mark = firstMarkOf(opening.slice(lead.length))
  return mark === undefined ? undefined : lead + mark
}

function firstMarkOf(first: string): string | undefined {
  const mark = bracketed.exec(first)?.[0]
  let toSymbol = ''
  for (const character of first) {
    toSymbol += character
    if (isSymbol(pointsOf(character)[0] ?? 0))
      return mark === undefined || toSymbol.length < mark.length ? toSymbol : mark
  }
  return mark
}
