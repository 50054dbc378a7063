import type { ReasoningFormat } from '../../reasoning/reasoning-format.ts'
import type { CallFormat, Literal } from '../../tools/call-format.ts'
import type { TurnConstraint } from '../constraint.ts'
import {
  alternatives,
  charClass,
  type Expr,
  emptyText,
  type Grammar,
  optional,
  repetition,
  rule,
  sequence,
} from '../grammar/expressions.ts'
import { isSymbol, marked, pointsOf } from '../grammar/symbols.ts'
import { addArmedText } from './armed-text.ts'
import { leadsOf } from './leads.ts'
import { type Holes, literalExpr, literalPath, type Spelling, withoutLead } from './literals.ts'
import { mergedPaths, type Path, path, pathExpr } from './paths.ts'

type Turn = Pick<TurnConstraint, 'reasoning' | 'thought' | 'calls'>

export interface TurnParts {
  /** What the content has to be; any text without it. */
  content: Expr | undefined
  /** The tools that may be called, with the rules of their arguments. */
  tools: readonly { name: string; arguments: Expr }[]
}

const white = charClass([0x09, 0x0a], [0x0d, 0x0d], [0x20, 0x20])
/** Between what is told apart. */
const space = repetition(white, 0, 8)

/** Puts the rules of a turn into a grammar that has those of its parts. */
export function addTurn(turn: Turn, { content, tools }: TurnParts, { rules }: Grammar): void {
  const { calls, reasoning } = turn
  const format = calls?.format
  if (format !== undefined && 'own' in format) throw new Error(`there is no grammar of ${format.own}`)
  const isFree = content === undefined && (calls === undefined || calls.choice === 'auto')
  const marks = marksOf(reasoning)
  const calling =
    calls && format && tools.length > 0
      ? addCalls(
          { format, tools, isFree, isParallel: calls.isParallel && typeof calls.choice === 'string' },
          rules,
        )
      : undefined
  const armed = calling && armedPath(calling, marks, rules)
  const isAnchored = format?.isAnchored === true
  const mayOpen = marks !== undefined && marks.open !== '' && turn.thought === 'optional'
  const opening = mayOpen ? [exactPath(marks.open, rule('thought'))] : []

  if (isFree) {
    const anchored = armed !== undefined && isAnchored ? [armed] : []
    addArmedText(
      {
        anywhere: armed === undefined || isAnchored ? path() : armed,
        starts: { first: spaced([...opening, ...anchored]), behind: spaced(anchored) },
        mayEnd: true,
      },
      'text',
      rules,
    )
  } else {
    const said = calls === undefined || calls.choice === 'auto' ? content : undefined
    const ways = alternatives(
      ...(calling === undefined ? [] : [sequence(space, calling.start)]),
      ...(said === undefined ? [] : [said]),
    )
    rules.set(
      'text-first',
      mayOpen ? alternatives(sequence(space, marked(marks.open), rule('thought')), ways) : ways,
    )
    rules.set('text-behind', sequence(space, ways))
  }
  if (marks !== undefined) {
    const close = exactPath(marks.close, rule('text-behind'))
    // A call in a thought is written in letters for many reasons, but its token has one meaning only.
    const interrupting = armed !== undefined && calling?.isMarked === true ? [armed] : []
    addArmedText(
      { anywhere: mergedPaths([close, ...interrupting]), starts: {}, mayEnd: isFree },
      'thought',
      rules,
    )
  }
  rules.set('root', rule(marks !== undefined && turn.thought === 'open' ? 'thought' : 'text-first'))
}

interface Marks {
  open: string
  close: string
}

/** White space around them belongs to nobody. */
function marksOf(reasoning: ReasoningFormat | undefined): Marks | undefined {
  const close = reasoning?.close.trim()
  return reasoning && close ? { open: reasoning.open.trim(), close } : undefined
}

function exactPath(text: string, armed: Expr): Path {
  return pointsOf(text).reduceRight<Path>((rest, point) => path([[point, rest]]), path([], armed))
}

/** With white space before, as often as it comes. */
function spaced(paths: readonly Path[]): Path {
  const start = path(mergedPaths(paths).steps)
  for (const point of [0x20, 0x0a, 0x0d, 0x09]) if (!start.steps.has(point)) start.steps.set(point, start)
  return start
}

interface Calling {
  open: Literal
  spelling: Spelling
  holes: Holes
  /** The names, and what follows each. */
  names: Path
  /** The first call and what follows it. */
  start: Expr
  /** The calls begin with a control token. */
  isMarked: boolean
}

interface CallsGiven {
  format: CallFormat
  tools: TurnParts['tools']
  /** Whether any text may follow the calls. */
  isFree: boolean
  isParallel: boolean
}

function addCalls({ format, tools, isFree, isParallel }: CallsGiven, rules: Map<string, Expr>): Calling {
  const spelling = format.arguments.kind === 'json' ? 'loose' : 'exact'
  const { gap, close, isAnchored } = format
  const open = withoutLead(format.open)
  const written = (literal: Literal) => literalExpr(literal, spelling, format)
  const start = sequence(written(open), rule('names'))
  const mayRepeat = isParallel && gap !== undefined
  const further =
    !mayRepeat || isAnchored ? emptyText : isFree ? rule('text') : optional(sequence(space, start))
  rules.set('close', sequence(written(close), further))
  const isSeparate = mayRepeat && plainOf(gap) !== plainOf([...close, ...open])
  rules.set(
    'after',
    isSeparate ? alternatives(sequence(written(gap), rule('names')), rule('close')) : rule('close'),
  )
  const mid = written(format.mid)
  const names = namesPath(
    tools.map((tool) => ({ name: tool.name, rest: sequence(mid, tool.arguments, rule('after')) })),
    rules,
  )
  rules.set('names', pathExpr(names))
  const [first] = open
  const isMarked = typeof first === 'string' && isSymbol(pointsOf(first)[0] ?? 0)
  return { open, spelling, holes: format, names, start, isMarked }
}

/** A call is certain with the first character behind an offered name, so that a name may be the beginning of another one. */
function namesPath(tools: readonly { name: string; rest: Expr }[], rules: ReadonlyMap<string, Expr>): Path {
  const names = path()
  for (const { name, rest } of tools) {
    let at = names
    for (const character of name) {
      const point = character.codePointAt(0) ?? 0
      const next = at.steps.get(point) ?? path()
      at.steps.set(point, next)
      at = next
    }
    for (const [point, behind] of leadsOf(rest, rules)) {
      if (!at.steps.has(point)) at.steps.set(point, path([], behind))
    }
  }
  return names
}

/**
 * What has to be read until nothing but a call can follow. The token that the vocabulary has for the calls is enough, or as much as
 * tells them from thoughts. Letters may stand in a text for any reason: there it takes the name of a tool.
 */
function armedPath(calling: Calling, marks: Marks | undefined, rules: ReadonlyMap<string, Expr>): Path {
  const { open, spelling, holes, names, start, isMarked } = calling
  if (!isMarked) return literalPath(open, names, spelling, holes)
  const points = typeof open[0] === 'string' ? pointsOf(open[0]) : []
  const shared = [marks?.open ?? '', marks?.close ?? ''].map((mark) => {
    const others = pointsOf(mark)
    const differs = points.findIndex((point, at) => point !== others[at])
    return differs < 0 ? points.length - 1 : differs
  })
  const length = 1 + Math.max(0, ...shared)
  let rest: Expr | undefined = start
  for (const point of points.slice(0, length)) rest = rest && leadsOf(rest, rules).get(point)
  return points.slice(0, length).reduceRight<Path>((next, point) => path([[point, next]]), path([], rest))
}

/** Without white space, and with the holes as characters. */
function plainOf(literal: Literal): string {
  return literal
    .map((piece) => (typeof piece === 'string' ? piece : `\u0000${piece.hole}\u0000`))
    .join('')
    .replaceAll(/\s/g, '')
}
