import { checkPath, splitPath } from '../../domain/expressions/path.ts'
import { columnOf } from '../calls/columns.ts'
import { costOfCall } from '../calls/cost.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { FieldReading, FieldResolver, PlainReading } from '../sql/readings.ts'
import { rawSql, type Sql, sql } from '../sql/sql.ts'

type Read = (dialect: Dialect) => FieldReading

const column = (kind: PlainReading['kind'], text: string, isAlways = false): Read => {
  const reading = { kind, sql: rawSql(text), isAlways }
  return () => reading
}
const attribute =
  (...path: string[]): Read =>
  () => ({ kind: 'json', column: rawSql('attributes'), path })

const double = (text: string) => `CAST(${text} AS DOUBLE PRECISION)`
const statusCode =
  "(CASE WHEN ended_at IS NULL THEN 'UNSET' WHEN status = 'error' THEN 'ERROR' ELSE 'OK' END)"

/** What a span has, under the names of Weave's agents, and how it is read from the call. */
const fields = new Map<string, Read>([
  ['span_id', column('text', 'calls.id', true)],
  ['trace_id', column('text', 'trace_id', true)],
  ['parent_span_id', column('text', 'parent_id')],
  ['span_name', column('text', 'op_name', true)],
  ['status_code', (dialect) => ({ kind: 'text', sql: dialect.ordered(rawSql(statusCode)) })],
  ['status_message', () => ({ kind: 'text', sql: rawSql('exception'), document: rawSql('exception') })],
  ['started_at', column('time', 'started_at', true)],
  ['ended_at', column('time', 'ended_at')],
  ['operation_name', column('text', 'operation')],
  ['agent_name', column('text', 'agent')],
  ['agent_version', column('text', 'agent_version')],
  ['agent_id', attribute('gen_ai', 'agent', 'id')],
  ['agent_description', attribute('gen_ai', 'agent', 'description')],
  ['provider_name', attribute('gen_ai', 'provider', 'name')],
  ['tool_name', attribute('gen_ai', 'tool', 'name')],
  ['tool_type', attribute('gen_ai', 'tool', 'type')],
  ['tool_call_id', attribute('gen_ai', 'tool', 'call', 'id')],
  ['response_id', attribute('gen_ai', 'response', 'id')],
  ['error_type', attribute('error', 'type')],
  ['output_type', attribute('gen_ai', 'output', 'type')],
  ['request_model', column('text', 'coalesce(asked_model, model)')],
  ['response_model', column('text', columnOf('model').sql ?? 'model')],
  ['conversation_id', column('text', "nullif(thread_id, '')")],
  ['wb_user_id', column('text', 'user_id', true)],
  ['input_tokens', column('number', 'input_tokens')],
  ['output_tokens', column('number', 'output_tokens')],
  ['cache_read_input_tokens', column('number', 'cache_read_tokens')],
  ['cache_creation_input_tokens', column('number', 'cache_creation_tokens')],
  ['reasoning_tokens', attribute('gen_ai', 'usage', 'reasoning', 'output_tokens')],
  ['conversation_name', attribute('gen_ai', 'conversation', 'name')],
  ['total_tokens', column('number', '(coalesce(input_tokens, 0) + coalesce(output_tokens, 0))')],
  ['duration_ms', column('number', `(${double('ended_at - started_at')} / 1000)`)],
  ['is_error', column('number', "(CASE WHEN status = 'error' THEN 1 ELSE 0 END)")],
  ['is_invocation', column('number', "(CASE WHEN operation = 'invoke_agent' THEN 1 ELSE 0 END)")],
  ['total_cost_usd', (dialect) => ({ kind: 'number', sql: costOfCall(dialect) })],
  ['input_cost_usd', (dialect) => ({ kind: 'number', sql: costOfCall(dialect, undefined, 'input') })],
  ['output_cost_usd', (dialect) => ({ kind: 'number', sql: costOfCall(dialect, undefined, 'output') })],
])

/** `gen_ai.agent.name` and `weave.agent_name` are `agent_name`, for example. */
function readOf(name: string): Read | undefined {
  const bare = name.replace(/^(?:weave|gen_ai)\./, '')
  return fields.get(bare.replace(/^usage\./, '').replaceAll('.', '_'))
}

export const isConversationField = (name: string): boolean => readOf(name) === fields.get('conversation_id')

/** Something of a span that is grouped by or added up. */
export interface SpanValue {
  field: string
  /** A path inside the attributes, also where a field of spans has the name. */
  isAttribute: boolean
}

export function readingOf(value: SpanValue, dialect: Dialect, requestPath: string): FieldReading {
  if (!value.isAttribute) return spanFields(dialect, requestPath)(value.field)
  checkPath(value.field, requestPath)
  return { kind: 'json', column: rawSql('attributes'), path: splitPath(value.field) }
}

/** Fields of spans; any other name is a path inside the attributes. `requestPath` is how a refusal names the field. */
export function spanFields(dialect: Dialect, requestPath: string): FieldResolver {
  return (name) => {
    checkPath(name, requestPath)
    const known = readOf(name)
    return known ? known(dialect) : { kind: 'json', column: rawSql('attributes'), path: splitPath(name) }
  }
}

/** The document that has a field and the path inside of it; nothing of a field that is read elsewhere. */
export function stepsIn(name: string, dialect: Dialect): string[] {
  const reading = spanFields(dialect, 'query')(name)
  return reading.kind === 'json' ? ['attributes', ...reading.path] : []
}

/** Of a text that rows are grouped by, in characters. */
const maxKey = '1024'

/** The beginning of a value as a text that rows are grouped by; NULL where there is none. */
export function textOfField(reading: FieldReading, dialect: Dialect): Sql {
  if (reading.kind === 'json') {
    return sql`nullif(substr(${dialect.json(reading.column, reading.path).text}, 1, ${rawSql(maxKey)}), '')`
  }
  if (reading.kind === 'text') return sql`substr(${reading.sql}, 1, ${rawSql(maxKey)})`
  return reading.kind === 'number' ? dialect.numberText(reading.sql) : dialect.timeText(reading.sql)
}

/** A value as a number; NULL where it is none, or so large that sums of its squares would be none. */
export function numberOfField(reading: FieldReading, dialect: Dialect): Sql {
  const number = doubleOf(reading, dialect)
  return sql`(CASE WHEN abs(${number}) <= 1e100 THEN ${number} END)`
}

function doubleOf(reading: FieldReading, dialect: Dialect): Sql {
  if (reading.kind === 'json') {
    const { text, number } = dialect.json(reading.column, reading.path)
    return sql`CAST(CASE ${text} WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE ${number} END AS DOUBLE PRECISION)`
  }
  if (reading.kind === 'number') return sql`CAST(${reading.sql} AS DOUBLE PRECISION)`
  if (reading.kind === 'time') return sql`CAST(${reading.sql} AS DOUBLE PRECISION)`
  return sql`CAST(${dialect.textNumber(reading.sql)} AS DOUBLE PRECISION)`
}
