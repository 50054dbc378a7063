import { allHolding, type Expression } from '../../domain/expressions/expression.ts'
import type { CallsFilter } from '../calls/filter.ts'
import { kinds, type SummedField } from './counting.ts'

/** What the conditions of a view have in common with what sums are kept by. */

export interface SummedView {
  project: string
  filters: readonly CallsFilter[]
  query: Expression | undefined
}

export interface Selection {
  kinds: string[]
  only?: { field: SummedField; value: string } | undefined
}

/** The fields of queries that mean what sums are kept by. */
const fieldNames = new Map<string, SummedField>([
  ['op', 'op'],
  ['model', 'model'],
  ['svc_user_id', 'user'],
  ['wb_user_id', 'user'],
])

/** Undefined if the conditions of a view are about anything else. */
export function selectionOf({ filters, query }: SummedView): Selection | undefined {
  let selected = kinds
  let only: Selection['only']
  for (const filter of filters) {
    if (!isOfRoots(filter)) return undefined
    if (filter.trace_roots_only) selected = selected.filter((kind) => kind.startsWith('root '))
  }
  for (const condition of allHolding(query)) {
    const equal = equalityIn(condition)
    if (equal === undefined) return undefined
    const field = fieldNames.get(equal.field)
    if (equal.field === 'origin') selected = selected.filter((kind) => kind.endsWith(` ${equal.value}`))
    else if (field === undefined || only !== undefined || equal.value === '') return undefined
    else only = { field, value: equal.value }
  }
  return { kinds: selected, only }
}

const isOfRoots = ({ trace_roots_only, ...others }: CallsFilter) =>
  Object.values(others).every((value) => value === null || value === undefined)

function equalityIn(expression: Expression): { field: string; value: string } | undefined {
  if (expression.op !== 'compare' || expression.by !== 'eq') return undefined
  const { left, right } = expression
  const [field, literal] = left.op === 'field' ? [left, right] : [right, left]
  if (field.op !== 'field' || literal.op !== 'literal' || literal.literal.kind !== 'text') return undefined
  return { field: field.field, value: literal.literal.value }
}

/** Conditions of a query that a summed field has a value. All of them must hold, among others. */
export function equalitiesIn(query: Expression | undefined): { field: SummedField; value: string }[] {
  return allHolding(query).flatMap((condition) => {
    const { field: name = '', value = '' } = equalityIn(condition) ?? {}
    const field = fieldNames.get(name)
    return field === undefined || value === '' ? [] : [{ field, value }]
  })
}
