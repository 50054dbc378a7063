import type { JsonText } from '../../domain/json/text.ts'
import type { JoinedPart } from '../../storage/calls/parts.ts'
import type { CompleteCall } from '../calls/contract.ts'
import { textOf } from './attribute-values.ts'
import { callOfSpan } from './call.ts'
import { digestOf, type Logged, recordJson, spanLike, timeOf } from './log-record.ts'
import type { Span, Value } from './span.ts'

/** What one record says of one call. */
export interface LogPart extends Omit<NonNullable<JoinedPart['log']>, 'record'> {
  call: CompleteCall
  record: JsonText
}

/** The call that an event is about, in the words of a span. */
export interface Described {
  id: string
  trace: string
  parent?: string | null
  name: string
  attributes: readonly (readonly [string, Value | undefined])[]
  /** The call that is the turn of its conversation, perhaps itself. */
  turn?: string
  findsTurn?: boolean
  /** In no conversation, although its attributes name one. */
  isOutside?: boolean
  /** Of a request to a model: what its answer is called, if the record says it. */
  request?: string | undefined
  fields?: Partial<Span>
}

export function partOf(logged: Logged, described: Described): LogPart {
  const { id, trace, parent = null, name, turn, findsTurn = false, isOutside, request, fields } = described
  const attributes = described.attributes.filter((pair): pair is [string, Value] => pair[1] !== undefined)
  const call = callOfSpan(spanLike(logged, name, attributes, fields), logged.resource, logged.scope, '')
  const record = recordJson(logged)
  const thread = isOutside ? null : call.thread_id
  const turnId = thread ? (turn ?? null) : null
  const ids = { id, trace_id: trace, parent_id: parent, thread_id: thread, turn_id: turnId }
  return {
    call: { ...call, ...ids, otel_dump: null },
    digest: digestOf(record),
    record,
    time: String(timeOf(logged.record)),
    findsTurn,
    addsMessages: fields?.events !== undefined,
    ...(request !== undefined && { request }),
  }
}

/** A run that ended with its event. */
export function lasting(logged: Logged, milliseconds: string | undefined): Partial<Span> {
  const time = timeOf(logged.record)
  const lasted = /^\d{1,12}(?:\.\d+)?$/.test(milliseconds ?? '') ? Math.round(Number(milliseconds) * 1e6) : 0
  const start = time - BigInt(lasted)
  return { startTimeUnixNano: start > 0n ? start : time, endTimeUnixNano: time }
}

export const failed = (message: string): Pick<Span, 'status'> => ({ status: { code: 2, message } })

export type Texts = (...names: string[]) => string | undefined

/** A decision about a tool, or its result, as Claude Code and Codex write them. */
export function toolRun(logged: Logged, common: Described['attributes']) {
  const text: Texts = (...names) => textOf(logged.record.attributes, ...names)
  const isRefused = /^(?:reject|deni|abort)/.test(text('decision') ?? '')
  const hasFailed = text('success') === 'false'
  const why = isRefused ? `rejected by ${text('source') ?? 'the user'}` : (text('error') ?? 'the tool failed')
  return {
    name: `execute_tool ${text('tool_name') ?? 'tool'}`,
    attributes: [
      ...common,
      ['gen_ai.operation.name', 'execute_tool'],
      ['gen_ai.tool.name', text('tool_name')],
      ['gen_ai.tool.call.id', text('tool_use_id', 'call_id')],
      ['gen_ai.tool.call.arguments', text('tool_input', 'arguments', 'tool_parameters')],
      ['gen_ai.tool.call.result', text('output')],
    ] as Described['attributes'],
    fields: { ...lasting(logged, text('duration_ms')), ...((isRefused || hasFailed) && failed(why)) },
  }
}

export const messages = (role: string, content: string | undefined): Value | undefined =>
  content === undefined ? undefined : [{ role, content }]
