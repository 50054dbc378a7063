import { JsonText, writeJson } from '../../domain/json/text.ts'
import type { CompleteCall } from '../calls/contract.ts'
import { textOf } from './attribute-values.ts'
import { nested } from './attributes.ts'
import { inputOf, outputOf } from './conventions.ts'
import type { Payload } from './event-messages.ts'
import { type Attributes, type Resource, type Scope, type Span, SpanError, type Value } from './span.ts'
import { microseconds, spanRecord } from './span-record.ts'
import { usageOf } from './usage.ts'

const errorStatus = 2

const longest = { op_name: 128, display_name: 1024, exception: 1 << 20, label: 512 }

/**
 * The attributes that name the conversation of a span. The first one present counts: Weave's own, OpenTelemetry's, and then
 * those of instrumentations.
 */
const threadNames = [
  'wandb.thread_id',
  'gen_ai.conversation.id',
  'session.id',
  'langfuse.session.id',
  'langfuse.trace.metadata.langfuse_session_id',
  'langfuse.observation.metadata.langfuse_session_id',
  'ai.telemetry.metadata.sessionId',
  'ai.settings.context.sessionId',
  'langsmith.metadata.session_id',
  'langsmith.metadata.thread_id',
  'langsmith.metadata.conversation_id',
  'gcp.vertex.agent.session_id',
  'conversation.id',
  'traceloop.association.properties.session_id',
  'traceloop.association.properties.chat_id',
  'traceloop.association.properties.thread_id',
  'mlflow.trace.session',
  'mastra.metadata.threadId',
  'mastra.metadata.sessionId',
] as const

/** It names a sub-agent where others name the conversation. */
const isClaudeCode = ({ name }: Scope) => name.startsWith('com.anthropic.claude_code')

/** The call that a span becomes. Throws SpanError if it cannot become one. */
export function callOfSpan(span: Span, resource: Resource, scope: Scope, project: string): CompleteCall {
  const { attributes } = span
  const started = timeOf('startTimeUnixNano', span.startTimeUnixNano)
  const ended = timeOf('endTimeUnixNano', span.endTimeUnixNano)
  const input = inputOf(span)
  const output = outputOf(span)
  const taken = [...(input?.taken ?? []), ...(output?.taken ?? [])]
  const usage = usageOf(span, scope)
  const displayName = textOf(attributes, 'wandb.display_name')
  const thread = labelOf(attributes, ...(isClaudeCode(scope) ? ['session.id'] : []), ...threadNames)
  const isRoot = isNone(span.parentSpanId)
  const turn = attributes.get('wandb.is_turn')
  // The root of a trace that belongs to a conversation is a turn of it.
  const isTurn = turn === undefined ? isRoot : turn === true || turn === 'true'
  return {
    project_id: project,
    id: idOf('spanId', span.spanId, 16),
    trace_id: idOf('traceId', span.traceId, 32),
    parent_id: isRoot ? null : idOf('parentSpanId', span.parentSpanId, 16),
    op_name: shortened(plain(span.name), longest.op_name) || 'unknown',
    display_name: displayName === undefined ? null : shortened(plain(displayName), longest.display_name),
    started_at: started,
    ended_at: ended,
    exception: exceptionOf(span),
    attributes: attributesLeft(withAgentVersion(span, resource), taken),
    inputs: inputsOf(input),
    output: output ? new JsonText(writeJson(output.value)) : null,
    summary: new JsonText(writeJson(usage ? { usage } : {})),
    thread_id: thread ?? null,
    turn_id: isTurn && thread !== undefined ? span.spanId : null,
    svc_run_id: labelOf(attributes, 'wandb.wb_run_id') ?? null,
    svc_run_step: stepOf(attributes, 'wandb.wb_run_step'),
    svc_run_step_end: stepOf(attributes, 'wandb.wb_run_step_end'),
    otel_dump: spanRecord(span, resource, scope),
  }
}

/** Claude Code and Codex state their version once for all that they send. */
function withAgentVersion({ name, attributes }: Span, resource: Resource): Attributes {
  const version = textOf(resource.attributes, 'service.version')
  const isOwn = /^(?:claude_code|codex)\./.test(name) && !attributes.has('gen_ai.agent.version')
  if (!isOwn || version === undefined) return attributes
  return new Map([...attributes, ['gen_ai.agent.version', version]])
}

function isNone(id: string): boolean {
  return /^0*$/.test(id)
}

function idOf(field: string, id: string, length: number): string {
  if (id.length !== length || isNone(id)) {
    throw new SpanError(
      `${field}: expected ${length / 2} bytes that are not all zero, received "${id.slice(0, 64)}"`,
    )
  }
  return id
}

function timeOf(field: string, nanoseconds: bigint): number {
  const time = microseconds(nanoseconds)
  if (nanoseconds > 0n && Number.isSafeInteger(time)) return time
  throw new SpanError(
    `${field}: expected nanoseconds since 1970 before the year 2255, received ${nanoseconds}`,
  )
}

/** Replaces characters that a text column of either database cannot store. */
function plain(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}

/** The full text stays in attributes.otel_span. */
function shortened(text: string, most: number): string {
  if (text.length <= most) return text
  const start = text.slice(0, most - 1)
  return `${start.isWellFormed() ? start : start.slice(0, -1)}…`
}

/** Labels group calls, and a shortened one could join two groups. */
function labelOf(attributes: Attributes, ...names: string[]): string | undefined {
  const name = names.find((candidate) => textOf(attributes, candidate) !== undefined)
  const label = name === undefined ? undefined : textOf(attributes, name)
  if (label === undefined) return undefined
  if (label.length > longest.label) {
    throw new SpanError(`${name}: expected at most ${longest.label} characters`)
  }
  return plain(label)
}

function stepOf(attributes: Attributes, name: string): number | null {
  const text = textOf(attributes, name)
  if (text === undefined) return null
  const step = Number(text)
  if (Number.isSafeInteger(step) && step >= 0) return step
  throw new SpanError(`${name}: expected a whole number of at least 0, received "${text.slice(0, 64)}"`)
}

function exceptionOf({ status, events, attributes }: Span): string | null {
  const thrown = events.findLast(({ name }) => name === 'exception')?.attributes
  // Langfuse reports errors in an attribute, and may leave the status unset; LangSmith sets OK, and only then the exception.
  const isError =
    status.code === errorStatus ||
    attributes.get('langfuse.observation.level') === 'ERROR' ||
    (thrown !== undefined && attributes.has('langsmith.span.kind'))
  if (!isError) return null
  const fromEvent = thrown && (textOf(thrown, 'exception.message') ?? textOf(thrown, 'exception.type'))
  return shortened(
    plain(
      status.message ||
        fromEvent ||
        textOf(attributes, 'langfuse.observation.status_message', 'error.type') ||
        'Error',
    ),
    longest.exception,
  )
}

/** All attributes except those that became inputs or output. */
function attributesLeft(attributes: Attributes, taken: readonly string[]): JsonText {
  if (attributes.size === 0) return new JsonText('{}')
  const all = nested(attributes)
  if (all.otel_span !== undefined) {
    throw new SpanError('attribute "otel_span" conflicts with the attribute that stores the span itself')
  }
  if (taken.length === 0) return new JsonText(writeJson(all))
  const left = new Map(attributes)
  for (const name of taken) left.delete(name)
  return new JsonText(writeJson(nested(left)))
}

function inputsOf(input: Payload | undefined): JsonText {
  if (input === undefined) return new JsonText('{}')
  const text = writeJson(input.value)
  if (text.startsWith('{')) return new JsonText(text)
  const named: { [name: string]: Value } = { [input.name]: new JsonText(text) }
  return new JsonText(writeJson(named))
}
