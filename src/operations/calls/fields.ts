import { refuse } from '../../domain/refusals.ts'
import type { Dialect } from '../../storage/dialect.ts'
import type { FieldReading, FieldResolver } from '../../storage/expressions.ts'
import { type Sql, sql, trusted } from '../../storage/sql.ts'

const texts: Record<string, string> = {
  id: 'id',
  project_id: 'project_id',
  trace_id: 'trace_id',
  parent_id: 'parent_id',
  thread_id: 'thread_id',
  turn_id: 'turn_id',
  op_name: 'op_name',
  exception: 'exception',
  svc_user_id: 'user_id',
  wb_user_id: 'user_id',
  svc_run_id: 'run_id',
  wb_run_id: 'run_id',
}
const times: Record<string, string> = {
  started_at: 'started_at',
  ended_at: 'ended_at',
  expire_at: 'expire_at',
}
const numbers: Record<string, string> = {
  svc_run_step: 'run_step',
  wb_run_step: 'run_step',
  svc_run_step_end: 'run_step_end',
  wb_run_step_end: 'run_step_end',
  storage_size_bytes: '(start_bytes + end_bytes)',
}
const documents = ['inputs', 'output', 'attributes', 'summary']

export const accepted =
  'id, trace_id, parent_id, thread_id, turn_id, op_name, display_name, started_at, ended_at, expire_at, exception, svc_user_id, svc_run_id, svc_run_step, svc_run_step_end, storage_size_bytes, inputs.…, output.…, attributes.…, summary.…, summary.weave.status, summary.weave.latency_ms, summary.weave.trace_name'

/** What the fields of a calls query read: columns, values inside the JSON, and what follows from a call itself. */
export function callFields(dialect: Dialect, splitPath: (field: string) => string[]): FieldResolver {
  return (field) => {
    if (texts[field]) return { kind: 'text', sql: trusted(texts[field]) }
    if (times[field]) return { kind: 'time', sql: trusted(times[field]) }
    if (numbers[field]) return { kind: 'number', sql: trusted(numbers[field]) }
    if (field === 'display_name') return { kind: 'text', sql: trusted("nullif(display_name, '')") }
    const [document = '', ...path] = splitPath(field)
    if (document === 'summary' && path[0] === 'weave') {
      const derived = derivedReading(path.slice(1).join('.'), dialect)
      if (derived) return derived
    } else if (documents.includes(document)) {
      return { kind: 'json', column: trusted(document), path }
    }
    throw refuse('unknown_field', { field: 'query', given: JSON.stringify(field), accepted })
  }
}

function derivedReading(name: string, dialect: Dialect): FieldReading | undefined {
  if (name === 'status') return { kind: 'text', sql: status(dialect) }
  if (name === 'latency_ms') return { kind: 'number', sql: trusted('((ended_at - started_at) / 1000)') }
  if (name === 'trace_name') return { kind: 'text', sql: traceName(dialect) }
  return undefined
}

/** The same rule as the record shows, in SQL. */
function status(dialect: Dialect): Sql {
  const errors = dialect.json(trusted('summary'), ['status_counts', 'error']).number
  return sql`(CASE WHEN exception <> '' THEN 'error' WHEN ended_at IS NULL THEN 'running'
    WHEN ${errors} > 0 THEN 'descendant_error' ELSE 'success' END)`
}

function traceName(dialect: Dialect): Sql {
  const at = (text: string, part: string) => dialect.position(trusted(text), trusted(`'${part}'`))
  const tail = `substr(op_name, ${at('op_name', '/op/').text} + 4)`
  const colon = at(tail, ':')
  return sql`coalesce(nullif(display_name, ''), CASE WHEN ${at('op_name', ':///')} = 0 OR ${at('op_name', '/op/')} = 0 THEN op_name
    WHEN ${colon} = 0 THEN ${trusted(tail)} ELSE substr(${trusted(tail)}, 1, ${colon} - 1) END)`
}
