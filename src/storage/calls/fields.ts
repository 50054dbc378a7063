import { checkPath, splitPath } from '../../domain/expressions/path.ts'
import { refuse } from '../../domain/refusals.ts'
import { mostPayloadBytes, payloadOfCall } from '../feedback/feedback.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { FieldReading, FieldResolver } from '../sql/readings.ts'
import { rawSql, type Sql, sql } from '../sql/sql.ts'
import { largeColumns, shownName } from './calls.ts'

const text = (column: string): FieldReading => ({ kind: 'text', sql: rawSql(column) })
const time = (column: string): FieldReading => ({ kind: 'time', sql: rawSql(column) })
const number = (column: string): FieldReading => ({ kind: 'number', sql: rawSql(column) })

const columns = new Map([
  ['id', { kind: 'text', sql: rawSql('id'), isAlways: true }],
  ['project_id', text('project_id')],
  ['trace_id', text('trace_id')],
  ['parent_id', text('parent_id')],
  ['thread_id', text('thread_id')],
  ['turn_id', text('turn_id')],
  ['op_name', text('op_name')],
  ['op', text('op')],
  ['model', { kind: 'text', sql: rawSql('coalesce(model, asked_model)') }],
  ['display_name', text(shownName)],
  ['exception', { kind: 'text', sql: rawSql('exception'), document: rawSql('exception') }],
  ['svc_user_id', text('user_id')],
  ['wb_user_id', text('user_id')],
  ['svc_run_id', text('run_id')],
  ['wb_run_id', text('run_id')],
  ['started_at', { kind: 'time', sql: rawSql('started_at'), isAlways: true }],
  ['ended_at', time('ended_at')],
  ['expire_at', time('expire_at')],
  ['svc_run_step', number('run_step')],
  ['wb_run_step', number('run_step')],
  ['svc_run_step_end', number('run_step_end')],
  ['wb_run_step_end', number('run_step_end')],
  ['input_tokens', number('input_tokens')],
  ['output_tokens', number('output_tokens')],
  ['first_token_ms', number('(first_token_us / 1000)')],
  ['storage_size_bytes', number('(start_bytes + end_bytes)')],
])

const accepted =
  'id, trace_id, parent_id, thread_id, turn_id, op_name, op, display_name, model, input_tokens, output_tokens, first_token_ms, started_at, ended_at, expire_at, exception, svc_user_id, svc_run_id, svc_run_step, svc_run_step_end, storage_size_bytes, inputs.…, output.…, attributes.…, summary.…, summary.weave.status, summary.weave.latency_ms, summary.weave.trace_name, feedback.[<type>].payload.…'

/**
 * What the fields of a calls query are read from: columns, values inside the JSON, and values derived from the call.
 * `place` is how a refusal names where the field was given.
 */
export function callFields(dialect: Dialect, place: string): FieldResolver {
  return (field) => {
    checkPath(field, place)
    const column = columns.get(field)
    if (column) return column
    const payload = payloadReading(field, dialect)
    if (payload) return payload
    const [document = '', ...path] = splitPath(field)
    if (document === 'summary' && path[0] === 'weave') {
      const derived = derivedReading(path.slice(1).join('.'), dialect)
      if (derived) return derived
    } else if ((largeColumns as readonly string[]).includes(document)) {
      return { kind: 'json', column: rawSql(document), path }
    }
    throw refuse('unknown_field', { field: place, given: JSON.stringify(field), accepted })
  }
}

/** `feedback.[wandb.runnable.judge].payload.output.score`; a kind may contain dots, and `*` matches any kind. */
const feedbackField = /^feedback\.\[(.+?)\]\.payload(?:\.(.+))?$/s

function payloadReading(field: string, dialect: Dialect): FieldReading | undefined {
  const [match, type = '', rest] = feedbackField.exec(field) ?? []
  if (match === undefined) return undefined
  const path = rest === undefined ? [] : splitPath(rest)
  const column = payloadOfCall(dialect, type === '*' ? null : type, path)
  return { kind: 'json', column, path, most: mostPayloadBytes }
}

function derivedReading(name: string, dialect: Dialect): FieldReading | undefined {
  if (name === 'status') return { kind: 'text', sql: statusOfCall(dialect) }
  if (name === 'latency_ms') return { kind: 'number', sql: rawSql('((ended_at - started_at) / 1000)') }
  if (name === 'trace_name') return { kind: 'text', sql: traceName(dialect) }
  return undefined
}

/**
 * The rule by which the record shows a status, in SQL. Calls written by an older version may lack a stored status; only
 * for these is the summary opened.
 */
export function statusOfCall(dialect: Dialect): Sql {
  const errors = dialect.json(rawSql('summary'), ['status_counts', 'error']).number
  return dialect.ordered(sql`(CASE WHEN ended_at IS NULL THEN 'running' WHEN status IS NOT NULL THEN status
    WHEN exception <> '' THEN 'error' WHEN ${errors} > 0 THEN 'descendant_error' ELSE 'success' END)`)
}

function traceName(dialect: Dialect): Sql {
  const at = (text: string, part: string) => dialect.position(rawSql(text), rawSql(`'${part}'`))
  const tail = `substr(op_name, ${at('op_name', '/op/').text} + 4)`
  const colon = at(tail, ':')
  return sql`coalesce(${rawSql(shownName)}, CASE WHEN ${at('op_name', ':///')} = 0 OR ${at('op_name', '/op/')} = 0 THEN op_name
    WHEN ${colon} = 0 THEN ${rawSql(tail)} ELSE substr(${rawSql(tail)}, 1, ${colon} - 1) END)`
}
