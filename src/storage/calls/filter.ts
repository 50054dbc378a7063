import { turnOp } from '../../domain/judge-op.ts'
import { wrong } from '../../domain/refusals.ts'
import type { Dialect } from '../sql/dialect.ts'
import { joined, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { stringSearch } from '../sql/string-search.ts'
import { type FilterMember, filteredColumns } from './columns.ts'

type ListField = FilterMember | 'op_names' | 'input_refs' | 'output_refs'

export interface CallsFilter extends Partial<Record<ListField, readonly string[] | null | undefined>> {
  trace_roots_only?: boolean | null | undefined
  /** Roots, and of a turn of several answers of this server the one that ends it. */
  ends_only?: boolean | undefined
  /** Microseconds. */
  began_after?: number | undefined
  /** Ops in the form of facts, which the index of calls by time holds. */
  ops?: readonly string[] | undefined
}

const maxListLength = 1000

/** Members of which an empty list is a condition that nothing meets. */
export const emptyMatchesNothing: ReadonlySet<ListField> = new Set(['thread_ids', 'turn_ids'])

/**
 * The values of a list are alternatives, and all fields must hold. An empty list is no condition, except where the
 * contract says otherwise.
 */
export function filterConditions(filter: CallsFilter, dialect: Dialect): Sql[] {
  const conditions: Sql[] = []
  for (const [field, column] of filteredColumns) {
    const values = listGiven(filter, field)
    if (values?.length || (values && emptyMatchesNothing.has(field))) {
      conditions.push(sql`${rawSql(column)} IN (${listOf(values)})`)
    }
  }
  const ops = listGiven(filter, 'op_names')
  if (ops?.length) conditions.push(anyVersion(ops, 'op_name', dialect))
  if (filter.ops !== undefined) conditions.push(sql`op IN (${listOf(filter.ops)})`)
  for (const [field, column] of [
    ['input_refs', 'inputs'],
    ['output_refs', 'output'],
  ] as const) {
    const refs = listGiven(filter, field)
    if (refs?.length) conditions.push(hasReference(refs, column, dialect))
  }
  if (filter.trace_roots_only) conditions.push(rawSql('parent_id IS NULL'))
  if (filter.ends_only) conditions.push(isEnd(dialect))
  if (filter.began_after !== undefined) conditions.push(sql`started_at > ${filter.began_after}`)
  return conditions
}

/** How answers of this server show that they call tools. */
const toolMarks = [
  ...['"finish_reason":"tool_calls"', '"stop_reason":"tool_use"'],
  ...['"type":"function_call"', '"type":"custom_tool_call"'],
]

/** An answer of a coding agent that calls tools is a step of its turn, also while it is the first and only one. */
function isEnd(dialect: Dialect): Sql {
  const heddle = (name: string) => dialect.json(rawSql('calls.attributes'), ['heddle', name]).exists
  const output = rawSql("coalesce(calls.output, '')")
  const isStep = joined(
    toolMarks.map((mark) => sql`${dialect.position(output, rawSql(`'${mark}'`))} > 0`),
    ' OR ',
  )
  const isOfTurn = sql`coalesce((SELECT turn.op_name FROM calls AS turn WHERE turn.project_id = calls.project_id
    AND turn.id = calls.parent_id) = ${turnOp}, FALSE) AND NOT (${isStep}) AND NOT ${heddle('subagent')}`
  return sql`(CASE WHEN calls.op_name NOT LIKE 'heddle.%' THEN parent_id IS NULL
    WHEN parent_id IS NULL THEN NOT (${heddle('agent')} AND (${isStep})) ELSE ${isOfTurn} END)`
}

function listGiven(filter: CallsFilter, field: ListField): readonly string[] | undefined {
  const values = filter[field] ?? undefined
  if (values !== undefined && values.length > maxListLength) {
    throw wrong(`filter.${field}`, `${values.length} entries`, `at most ${maxListLength}`)
  }
  return values
}

/** A trailing `:*` stands for every version of an op. */
function anyVersion(names: readonly string[], column: string, dialect: Dialect): Sql {
  const exact = names.filter((name) => !name.endsWith(':*'))
  const prefixes = names.filter((name) => name.endsWith(':*')).map((name) => name.slice(0, -1))
  const alternatives = prefixes.map((prefix) => sql`${dialect.position(rawSql(column), sql`${prefix}`)} = 1`)
  if (exact.length > 0) alternatives.push(sql`${rawSql(column)} IN (${listOf(exact)})`)
  return joined(alternatives, ' OR ')
}

/** In JSON a ref is a string of its own. */
function hasReference(refs: readonly string[], column: string, dialect: Dialect): Sql {
  const whole = refs.filter((ref) => !ref.endsWith(':*'))
  const starts = refs.filter((ref) => ref.endsWith(':*')).map((ref) => ref.slice(0, -1))
  return dialect.containsString(rawSql(column), stringSearch(whole, starts))
}
