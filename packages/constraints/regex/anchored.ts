import { RegexError } from '../grammar/errors.ts'
import {
  alternatives,
  charClass,
  type Expr,
  emptyText,
  isNever,
  never,
  repetition,
  sequence,
} from '../grammar/expressions.ts'
import { mayBeEmpty } from '../grammar/properties.ts'

/**
 * A piece of a regular expression, split by what its anchors demand: nothing, the start of the text, its end, or both
 * (the sum). Each way in which the piece matches belongs to one of the four.
 */
export type Anchored = readonly [free: Expr, atStart: Expr, atEnd: Expr, exact: Expr]

type Demand = 0 | 1 | 2 | 3

const demands: readonly Demand[] = [0, 1, 2, 3]
const start = 1
const end = 2
const noRules: ReadonlySet<string> = new Set()

export const startAnchor: Anchored = [never, emptyText, never, never]
export const endAnchor: Anchored = [never, never, emptyText, never]

export function free(expr: Expr): Anchored {
  return [expr, never, never, never]
}

export function either(pieces: readonly Anchored[]): Anchored {
  return byDemand((demand) => alternatives(...pieces.map((piece) => piece[demand])))
}

export function inOrder(pieces: readonly Anchored[]): Anchored {
  let whole = free(emptyText)
  // Pieces without anchors are joined at once: there may be many.
  let run: Expr[] = []
  for (const piece of pieces) {
    if (isFree(piece)) {
      run.push(piece[0])
      continue
    }
    whole = followed(followed(whole, free(sequence(...run))), piece)
    run = []
  }
  return followed(whole, free(sequence(...run)))
}

/**
 * A piece that demands the end of the text must have nothing after it; one that demands the start must have nothing
 * before it.
 */
function followed(left: Anchored, right: Anchored): Anchored {
  const ways: [Expr[], Expr[], Expr[], Expr[]] = [[], [], [], []]
  for (const first of demands) {
    for (const second of demands) {
      const before = second & start ? onlyEmpty(left[first]) : left[first]
      const after = first & end ? onlyEmpty(right[second]) : right[second]
      ways[(first | second) as Demand].push(sequence(before, after))
    }
  }
  return byDemand((demand) => alternatives(...ways[demand]))
}

export function repeated(piece: Anchored, min: number, max: number): Anchored {
  if (max === 0) return free(emptyText)
  if (max === 1) return min === 0 ? either([piece, free(emptyText)]) : piece
  if (!isFree(piece)) {
    throw new RegexError('unsupported', 'an anchor (^ or $) inside a repetition is not supported')
  }
  return free(repetition(piece[0], min, max))
}

/** The whole text is a match. */
export function wholeText(piece: Anchored): Expr {
  return alternatives(...piece)
}

/** The text contains a match: a part without anchors may be anywhere. */
export function somewhere([inside, leading, trailing, exact]: Anchored): Expr {
  const anything = repetition(charClass([0, 0x10ffff]), 0)
  // The empty match is found in any text, unless both ends are demanded at once.
  if ([inside, leading, trailing].some((expr) => mayBeEmpty(expr, noRules))) return anything
  return alternatives(
    sequence(anything, inside, anything),
    sequence(leading, anything),
    sequence(anything, trailing),
    exact,
  )
}

function isFree([, ...anchored]: Anchored): boolean {
  return anchored.every(isNever)
}

function onlyEmpty(expr: Expr): Expr {
  return mayBeEmpty(expr, noRules) ? emptyText : never
}

function byDemand(of: (demand: Demand) => Expr): Anchored {
  return [of(0), of(1), of(2), of(3)]
}
