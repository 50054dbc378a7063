import { checkPath, splitPath } from '../../domain/expressions/path.ts'
import { refuse } from '../../domain/refusals.ts'
import { isHere } from '../cold/reference.ts'
import { type FeedbackSubject, maxPayloadBytes, payloadOf } from '../feedback/feedback.ts'
import type { Price } from '../prices.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { FieldReading, FieldResolver } from '../sql/readings.ts'
import { rawSql, type Sql, sql } from '../sql/sql.ts'
import { failedBelow } from './calls.ts'
import {
  columnOf,
  isLarge,
  isOptional,
  kindOf,
  type LargeColumn,
  largeColumns,
  nameOf,
  namesOf,
  type QueriedColumn,
  queriedColumns,
  shownName,
} from './columns.ts'
import { costOfCall } from './cost.ts'
import { originOf } from './origin.ts'

const columns = new Map(
  queriedColumns.flatMap((column) => namesOf(column).map((name) => [name, readingOf(column)])),
)

function readingOf(column: QueriedColumn): FieldReading {
  const { sql = column, isLong } = columnOf(column)
  const reading = { kind: kindOf(column), sql: rawSql(sql), isAlways: !isOptional(column) }
  return isLong ? { ...reading, document: rawSql(sql) } : reading
}

/** Values of `summary.weave`, which follow from the call. */
const derived = new Map<string, (dialect: Dialect) => FieldReading>([
  ['status', (dialect) => ({ kind: 'text', sql: statusOfCall(dialect) })],
  ['latency_ms', () => ({ kind: 'number', sql: rawSql('((ended_at - started_at) / 1000)') })],
  ['trace_name', (dialect) => ({ kind: 'text', sql: traceName(dialect) })],
])

/** By the prices of the project. */
export const costField = 'cost'
/** app, judge or evaluation. */
const originField = 'origin'

const accepted = [
  ...queriedColumns.map(nameOf),
  costField,
  originField,
  ...largeColumns.map((name) => `${name}.…`),
  ...Array.from(derived.keys(), (name) => `summary.weave.${name}`),
  'feedback.[<type>].payload.…',
].join(', ')

export interface FieldSources {
  /** Whose feedback is meant. */
  subject?: FeedbackSubject
  /** All of the project, if they are known and few. */
  prices?: readonly Price[] | undefined
}

/**
 * What the fields of a calls query are read from: columns, values inside the JSON, and values derived from the call.
 * `requestPath` is how a refusal names where the field was given.
 */
export function callFields(
  dialect: Dialect,
  requestPath: string,
  { subject = 'call', prices }: FieldSources = {},
): FieldResolver {
  return (field) => {
    checkPath(field, requestPath)
    const column = columns.get(field)
    if (column) return column
    if (field === originField)
      return { kind: 'text', sql: dialect.ordered(originOf(dialect)), isAlways: true }
    if (field === costField) return { kind: 'number', sql: costOfCall(dialect, prices) }
    const payload = payloadReading(field, dialect, subject)
    if (payload) return payload
    const [document = '', ...path] = splitPath(field)
    if (document === 'summary' && path[0] === 'weave') {
      const read = derived.get(path.slice(1).join('.'))
      if (read) return read(dialect)
    } else if (isLarge(document)) {
      const column = rawSql(document)
      return {
        kind: 'json',
        path,
        ...(path.length > 0 ? { column } : { column: hereOnly(document), within: column }),
      }
    }
    throw refuse('unknown_field', { field: requestPath, received: JSON.stringify(field), accepted })
  }
}

/** What the request names; of a cold call its fact, which may be shortened. */
export const requestedModel = (dialect: Dialect): Sql =>
  sql`(CASE WHEN ${isHere('calls.inputs')} THEN ${dialect.json(rawSql('calls.inputs'), ['model']).text} ELSE calls.asked_model END)`

/** The whole text of a document; of one in the store of cold calls nothing is known, and its reference is nobody's business. */
const hereOnly = (document: LargeColumn): Sql =>
  document === 'inputs' || document === 'output'
    ? sql`(CASE WHEN ${isHere(document)} THEN ${rawSql(document)} END)`
    : rawSql(document)

/** `feedback.[wandb.runnable.judge].payload.output.score`; a kind may contain dots, and `*` matches any kind. */
const feedbackField = /^feedback\.\[(.+?)\]\.payload(?:\.(.+))?$/s

/** The type of feedback that a field reads, null for any, and the path inside its payload. */
export function payloadField(field: string): { type: string | null; path: string[] } | undefined {
  const [match, type = '', rest] = feedbackField.exec(field) ?? []
  if (match === undefined) return undefined
  return { type: type === '*' ? null : type, path: rest === undefined ? [] : splitPath(rest) }
}

function payloadReading(field: string, dialect: Dialect, subject: FeedbackSubject): FieldReading | undefined {
  const { type, path } = payloadField(field) ?? {}
  if (type === undefined || path === undefined) return undefined
  return { kind: 'json', column: payloadOf(dialect, subject, type, path), path, most: maxPayloadBytes }
}

/**
 * The rule by which the record shows a status, in SQL. Calls written by an older version may lack a stored status; only
 * for these is the summary opened.
 */
export function statusOfCall(dialect: Dialect): Sql {
  const errors = dialect.json(rawSql('summary'), ['status_counts', 'error']).number
  return dialect.ordered(sql`(CASE WHEN ended_at IS NULL THEN 'running' WHEN status <> 'success' THEN status
    WHEN status IS NULL AND exception <> '' THEN 'error' WHEN status IS NULL AND ${errors} > 0 THEN 'descendant_error'
    WHEN ${failedBelow} THEN 'descendant_error' ELSE 'success' END)`)
}

function traceName(dialect: Dialect): Sql {
  const at = (text: string, sought: string) => dialect.position(rawSql(text), rawSql(`'${sought}'`))
  const tail = `substr(op_name, ${at('op_name', '/op/').text} + 4)`
  const colon = at(tail, ':')
  return sql`coalesce(${rawSql(shownName)}, CASE WHEN ${at('op_name', ':///')} = 0 OR ${at('op_name', '/op/')} = 0 THEN op_name
    WHEN ${colon} = 0 THEN ${rawSql(tail)} ELSE substr(${rawSql(tail)}, 1, ${colon} - 1) END)`
}
