import { alternatives, type Expr, emptyText, optional, rule, sequence } from '../../constraints/index.ts'
import { withoutFirstMark } from '../alternative-spellings.ts'
import type { CallFormat, Literal } from '../call-format.ts'
import { derivativesOf } from './derivatives.ts'
import { isWhite, literalExpr, type Placed, space, spaced, withoutLead } from './literals.ts'
import { anchoredOpening, markedOpening, openedCall, openingInThought } from './opening-marks.ts'
import { nameIn, type Path, path, pathExpr } from './paths.ts'

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
  /** In the content: what has to be read until only a call can follow. */
  armed: Path
  /** The same in a thought. */
  inThought: Path
  /** Constrained content that begins with this would be read as a call. */
  besideContent: Path
  /** The same directly after calls, where a call may begin differently from the first one. */
  behind?: Path
  /** The same where the mark that opens the calls of a turn is left out. */
  unmarked?: Path
  unmarkedInThought?: Path
}

interface CallsGiven {
  format: CallFormat
  tools: readonly CalledTool[]
  /** Any text may follow the calls. */
  isFree: boolean
  mayRepeat: boolean
  /** The marks around thoughts and after the content. */
  marks: readonly string[]
}

export function addCalls(
  { format, tools, isFree, mayRepeat, marks }: CallsGiven,
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
  const openingOf = (opening: Placed) => ({ opening, names: 'names', named: names.tolerant, others: marks })
  const first = openingOf(open)
  const unmarkedFormat = isFree ? withoutFirstMark(format) : undefined
  const unmarked = unmarkedFormat && openingOf(placed(unmarkedFormat.open, false, true))
  const isDifferent = again !== undefined && !isSame && isFree && !isAnchored
  return {
    start,
    armed: isAnchored ? anchoredOpening(first, mid) : markedOpening(first, rules),
    inThought: openingInThought(first, rules),
    besideContent: isAnchored
      ? openedCall(
          first,
          mid,
          tools.map(({ name }) => name),
        )
      : markedOpening(first, rules),
    ...(unmarked && {
      unmarked: markedOpening(unmarked, rules),
      unmarkedInThought: openingInThought(unmarked, rules),
    }),
    ...(isDifferent && { behind: markedOpening(openingOf(placed(again, false, true)), rules) }),
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
