import {
  alternatives,
  arrayDemands,
  type Emission,
  type Expr,
  emptyText,
  never,
  repetition,
  SchemaError,
  type SchemaNode,
  sequence,
} from '../../constraints/index.ts'

interface ListMarks {
  open: Expr
  between: Expr
  close: Expr
  /** The whole list if it has no items. */
  empty: Expr
}

/**
 * The lists for which all of these schemas hold. Supported are schemas that apply to all items alike and limit their
 * number.
 */
export function plainList(
  nodes: readonly SchemaNode[],
  emission: Emission,
  { open, between, close, empty }: ListMarks,
  itemExpr: (nodes: readonly SchemaNode[]) => Expr,
): Expr {
  return alternatives(
    ...emission.cases.of(nodes).map(({ bases, values }) => {
      const path = bases[0]?.path ?? '#'
      if (values !== undefined) throw new SchemaError('enum', path, 'lists are written item by item')
      const { prefix, rest, min, max, contains, unique } = arrayDemands(bases, emission)
      if (prefix.length > 0 || contains.length > 0 || unique !== undefined)
        throw new SchemaError('items', path, 'the items of a list are written alike')
      if (max < min) return never
      const item = itemExpr(rest)
      const some =
        max === 0
          ? never
          : sequence(open, item, repetition(sequence(between, item), Math.max(min - 1, 0), max - 1), close)
      return min === 0 ? alternatives(some, empty) : some
    }),
  )
}

export const nothing: ListMarks = { open: emptyText, between: emptyText, close: emptyText, empty: emptyText }
