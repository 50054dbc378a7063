import {
  alternatives,
  type Emission,
  type Expr,
  never,
  repetition,
  sequence,
} from '../../constraints/index.ts'

/** One argument with its key. */
export interface Entry {
  expr: Expr
  isRequired: boolean
  /** It stands for several keys. */
  mayRepeat: boolean
}

/** What surrounds arguments. */
interface Marks {
  head: Expr
  between: Expr
  tail: Expr
  /** Replaces all of it if there are no arguments. */
  empty: Expr
}

/** Up to this many required keys may come in any order: the sets of written keys grow as powers of two. */
const maxRequired = 6
/** With so few keys, optional ones are tracked too. */
const maxKeys = 4

/**
 * Arguments in any order. Of few arguments, each is written at most once. Of more, only each required one is, in the
 * order of the schema if even these are many; optional ones may appear anywhere.
 */
export function inAnyOrder(
  entries: readonly Entry[],
  marks: Marks,
  { named }: Pick<Emission, 'named'>,
): Expr {
  const isFew = entries.length <= maxKeys && !entries.some(({ mayRepeat }) => mayRepeat)
  const counted = isFew ? entries : entries.filter(({ isRequired }) => isRequired)
  const others = isFew ? [] : entries.filter(({ isRequired }) => !isRequired)
  const other =
    others.length === 0 ? never : named('arguments', alternatives(...others.map(({ expr }) => expr)))
  const { head, between, tail, empty } = marks
  const isOrdered = counted.length > maxRequired
  const states = new Map<number, Expr>()

  /**
   * The entries that may come next after these, which are given by their bits or, in the order of the schema, by their
   * number.
   */
  const nexts = (written: number): [entry: Expr, next: number][] =>
    isOrdered
      ? counted.slice(written, written + 1).map(({ expr }) => [expr, written + 1])
      : counted.flatMap(({ expr }, at): [Expr, number][] =>
          (written & (1 << at)) === 0 ? [[expr, written | (1 << at)]] : [],
        )
  const isEnough = (written: number) =>
    isOrdered
      ? written === counted.length
      : counted.every(({ isRequired }, at) => !isRequired || (written & (1 << at)) !== 0)

  /** What follows at least one argument. */
  const behind = (written: number): Expr => {
    const known = states.get(written)
    if (known !== undefined) return known
    const state = named(
      'arguments',
      sequence(
        repetition(sequence(between, other), 0),
        alternatives(
          ...nexts(written).map(([entry, next]) => sequence(between, entry, behind(next))),
          ...(isEnough(written) ? [tail] : []),
        ),
      ),
    )
    states.set(written, state)
    return state
  }

  return alternatives(
    ...nexts(0).map(([entry, next]) => sequence(head, entry, behind(next))),
    sequence(head, other, behind(0)),
    ...(isEnough(0) ? [empty] : []),
  )
}
