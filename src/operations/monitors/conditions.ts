import type { Expression } from '../../domain/expressions/expression.ts'
import { parseExpression, parseExpressionText } from '../../domain/expressions/parse.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { unjudgedOps } from '../../domain/judge-op.ts'
import { now } from '../../domain/time.ts'
import type { CallsFilter } from '../../storage/calls/filter.ts'
import { type CallsView, streamCalls } from '../../storage/calls/queries.ts'
import type { Database } from '../../storage/database.ts'
import { boundTo } from '../../storage/transaction.ts'
import { Value } from '../objects/values.ts'

/** The conditions of calls, as a request gives them. */
interface GivenConditions {
  filter?: CallsFilter | null | undefined
  query?: JsonText | null | undefined
  models?: readonly string[] | null | undefined
  statuses?: readonly string[] | null | undefined
}

export const conditionNames = ['filter', 'query', 'models', 'statuses'] as const

/** The conditions as they are stored: a JSON object with those that were given. */
export function conditionsText(conditions: GivenConditions): string {
  const members = conditionNames.map((name) => [name, conditions[name] ?? undefined])
  return writeJson(Object.fromEntries(members))
}

export function storedConditions(text: string): GivenConditions {
  const { filter, models, statuses } = JSON.parse(text) as GivenConditions
  const query = new Value(text).member('query')?.text
  return { filter, models, statuses, query: query === undefined ? undefined : new JsonText(query) }
}

const field = (name: string) => ({ $getField: name })
const among = (name: string, values: readonly string[]) => ({
  $in: [field(name), values.map((value) => ({ $literal: value }))],
})

function expressionOf(operation: object): Expression {
  return parseExpression({ $expr: operation })
}

/** The calls of judges and shadows, and calls that have not ended, are never judged. */
const always: readonly Expression[] = [
  expressionOf({ $not: [among('op_name', unjudgedOps)] }),
  { op: 'convert', input: { op: 'field', field: 'ended_at' }, to: 'exists' },
]

/** The calls for which all of these conditions hold. */
export function viewOfConditions(
  project: string,
  all: readonly GivenConditions[],
  ids?: readonly string[],
  others: readonly Expression[] = [],
): CallsView {
  const operands = [...always, ...others]
  const filters: CallsFilter[] = []
  for (const { filter, query, models, statuses } of all) {
    // The call of a turn has no texts: its last answer has.
    if (filter?.trace_roots_only) filters.push({ ...filter, trace_roots_only: false, ends_only: true })
    else if (filter) filters.push(filter)
    if (query) operands.push(parseExpressionText(query.text))
    if (models)
      operands.push(expressionOf({ $or: [among('inputs.model', models), among('output.model', models)] }))
    if (statuses) operands.push(expressionOf(among('summary.weave.status', statuses)))
  }
  if (ids) filters.push({ call_ids: ids })
  return {
    project,
    filters,
    query: { op: 'and', operands },
    sort: [],
    limit: null,
    offset: 0,
  }
}

/** Refuses what a query of calls would refuse, by the field names of queries. */
export function checkConditions(db: Database, project: string, conditions: GivenConditions): void {
  const columns = { large: new Set<never>(), totalStorageSize: false }
  streamCalls(boundTo(db, AbortSignal.abort()), viewOfConditions(project, [conditions]), columns, now())
}
