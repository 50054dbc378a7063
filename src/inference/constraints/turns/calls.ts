import { withoutFirstMark } from '../../tools/alternative-spellings.ts'
import type { CallFormat, Literal } from '../../tools/call-format.ts'
import { alternatives, type Expr, emptyText, optional, rule, sequence } from '../grammar/expressions.ts'
import { isSymbol, pointsOf } from '../grammar/symbols.ts'
import { derivativesOf } from './derivatives.ts'
import { isWhite, literalExpr, literalPath, type Placed, space, spaced, withoutLead } from './literals.ts'
import { type Path, path, pathExpr } from './paths.ts'

/** A tool that may be called, with the piece for its arguments. */
interface CalledTool {
  name: string
  arguments: Expr
}

/** The parts of the grammar of a turn. */
export interface TurnParts {
  /** What the content has to be; if undefined, any text. */
  content: Expr | undefined
  tools: readonly CalledTool[]
  /** Other ways in which an answer may begin with a call. */
  second?: readonly Path[]
}

interface Calling {
  /** The first call and everything after it. */
  start: Expr
  /** In a text: what has to be read until only a call can follow. */
  armed: Path
  /** The same directly after calls, where a call may begin differently from the first one. */
  behind?: Path
  /** The same where the mark that opens the calls of a turn is left out. */
  unmarked?: Path
}

interface CallsGiven {
  format: CallFormat
  tools: readonly CalledTool[]
  /** Any text may follow the calls. */
  isFree: boolean
  mayRepeat: boolean
  /** The marks around thoughts. */
  marks: readonly string[] | undefined
}

export function addCalls(
  { format, tools, isFree, mayRepeat, marks = [] }: CallsGiven,
  rules: Map<string, Expr>,
): Calling {
  const { gap, close, isAnchored, ids } = format
  const placed = (literal: Literal, isAfterName: boolean, isBeforeName: boolean): Placed => ({
    literal,
    isAfterName,
    isBeforeName,
    isJson: format.arguments.kind === 'json',
    ids,
  })
  const open = placed(withoutLead(format.open), false, true)
  const start = sequence(literalExpr(open), rule('names'))
  // What separates the end of the calls from another call.
  const again = mayRepeat && gap !== undefined ? behindClose(gap, close) : undefined
  const isSame = again !== undefined && plainOf(again) === plainOf(format.open)
  const further = () => {
    if (!mayRepeat || gap === undefined || isAnchored) return emptyText
    if (!isFree) return optional(sequence(space, start))
    return rule(again === undefined || isSame ? 'text' : 'text-called')
  }
  const ends = sequence(literalExpr(placed(close, false, false)), further())
  const isApart = mayRepeat && gap !== undefined && !isSame && (again === undefined || !isFree || isAnchored)
  rules.set(
    'after',
    isApart ? alternatives(sequence(literalExpr(placed(gap, false, true)), rule('names')), ends) : ends,
  )
  const mid = placed(format.mid, true, false)
  const names = namesPath(
    tools.map((tool) => ({
      name: tool.name,
      rest: sequence(literalExpr(mid), tool.arguments, rule('after')),
    })),
    /^\s|^$/.test(plainText(format.mid)),
    rules,
  )
  rules.set('names', pathExpr(names.strict))
  const armedPath = (opening: Placed) => {
    const [first] = opening.literal
    const isMarked = typeof first === 'string' && isSymbol(pointsOf(first)[0] ?? 0)
    if (!isMarked) return literalPath(opening, names.tolerant)
    return markedPath(first, sequence(literalExpr(opening), rule('names')), marks, rules)
  }
  const unmarked = withoutFirstMark(format)
  return {
    start,
    armed: armedPath(open),
    ...(unmarked && isFree && { unmarked: armedPath(placed(unmarked.open, false, true)) }),
    ...(again !== undefined &&
      !isSame &&
      isFree &&
      !isAnchored && { behind: literalPath(placed(again, false, true), names.tolerant) }),
  }
}

/**
 * The names, and what follows each. A call is certain with the first character after an offered name, so one name may be
 * the beginning of another. If white space follows the name, a text may have other white space there.
 */
function namesPath(
  tools: readonly { name: string; rest: Expr }[],
  isSpaced: boolean,
  rules: ReadonlyMap<string, Expr>,
): { strict: Path; tolerant: Path } {
  const strict = path()
  const tolerant = path()
  for (const { name, rest } of tools) {
    const leads = derivativesOf(rest, rules)
    addName(strict, name, leads, undefined)
    addName(tolerant, name, leads, isSpaced ? firmLeads(rest, rules) : undefined)
  }
  return { strict, tolerant }
}

function addName(
  names: Path,
  name: string,
  leads: ReadonlyMap<number, Expr>,
  firm: ReadonlyMap<number, Expr> | undefined,
): void {
  const at = nameIn(names, name)
  const behind = spaced(path(Array.from(firm ?? [], ([point, rest]) => [point, path([], rest)])))
  const ends = path(Array.from(leads, ([point, rest]) => [point, path([], rest)]))
  for (const [point, next] of [...ends.steps, ...(firm === undefined ? [] : behind.steps)]) {
    if (!at.steps.has(point)) at.steps.set(point, next)
  }
}

/** The position after a name. */
export function nameIn(names: Path, name: string): Path {
  let at = names
  for (const character of name) {
    const point = character.codePointAt(0) ?? 0
    const next = at.steps.get(point) ?? path()
    at.steps.set(point, next)
    at = next
  }
  return at
}

/** The first characters that are not white space. */
function firmLeads(expr: Expr, rules: ReadonlyMap<string, Expr>): Map<number, Expr> {
  const firm = new Map<number, Expr>()
  for (const [point, rest] of derivativesOf(expr, rules)) {
    const ways: Iterable<[number, Expr]> = isWhite(point) ? firmLeads(rest, rules) : [[point, rest]]
    for (const [to, behind] of ways) {
      const before = firm.get(to)
      firm.set(to, before === undefined ? behind : alternatives(before, behind))
    }
  }
  return firm
}

/** The control token that opens calls is enough, or as much of the opening as distinguishes it from the marks of thoughts. */
function markedPath(
  first: string,
  start: Expr,
  marks: readonly string[],
  rules: ReadonlyMap<string, Expr>,
): Path {
  const points = pointsOf(first)
  const shared = marks.map((mark) => {
    const others = pointsOf(mark)
    const differs = points.findIndex((point, at) => point !== others[at])
    return differs < 0 ? points.length - 1 : differs
  })
  const begun = points.slice(0, 1 + Math.max(0, ...shared))
  let rest: Expr | undefined = start
  for (const point of begun) rest = rest && derivativesOf(rest, rules).get(point)
  return begun.reduceRight<Path>((next, point) => path([[point, next]]), path([], rest))
}

/** The part of a gap after what closes the calls; undefined if the gap begins differently. */
function behindClose(gap: Literal, close: Literal): Literal | undefined {
  const rest = [...gap]
  for (const piece of close) {
    const first = rest.shift()
    if (typeof piece === 'string' && typeof first === 'string') {
      const isLast = piece === close.at(-1)
      if (first === piece) continue
      if (!isLast || !first.startsWith(piece)) return undefined
      rest.unshift(first.slice(piece.length))
    } else if (typeof piece === 'string' || typeof first === 'string' || first?.hole !== piece.hole)
      return undefined
  }
  return withoutLead(rest)
}

/** Without white space. */
function plainOf(literal: Literal): string {
  return plainText(literal).replaceAll(/\s/g, '')
}

/** With the holes as characters. */
function plainText(literal: Literal): string {
  return literal.map((piece) => (typeof piece === 'string' ? piece : `\0${piece.hole}\0`)).join('')
}
