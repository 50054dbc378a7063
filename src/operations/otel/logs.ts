import { idOf } from '../../domain/ids.ts'
import { JsonText } from '../../domain/json/text.ts'
import { claudeCodeCalls, isClaudeCode } from './claude-code-logs.ts'
import { codexCalls, isCodex, isCodexNoise } from './codex-logs.ts'
import { type Evaluation, evaluationEvent, evaluationOf } from './evaluation-events.ts'
import { messageEvent } from './event-messages.ts'
import { type Described, type LogPart, partOf } from './log-calls.ts'
import { digestOf, eventNameOf, type Logged, type LogRecord, recordJson, timeOf } from './log-record.ts'
import type { ItemPiece, ResourcePiece } from './pieces.ts'
import { openedOr, type ReadResource, type Rejected, readResources } from './reading.ts'
import { type Attributes, cut, type Resource, type SpanEvent, type Value } from './span.ts'

/** What a record becomes, without its project. */
export interface ReadRecord {
  calls: LogPart[]
  evaluations: Evaluation[]
  /** How the answer names what it says nothing about, or is left out. */
  unknown?: string
  leftOut?: string
}

export const readLogs = (pieces: readonly ResourcePiece<LogRecord>[]): ReadResource<ReadRecord>[] =>
  readResources(pieces, 'resourceLogs', readRecords)

function readRecords(items: readonly ItemPiece<LogRecord>[], resource: Resource): (ReadRecord | Rejected)[] {
  const opened = items.map((piece) =>
    openedOr(
      (): Logged => {
        const record = piece.item()
        timeOf(record)
        return { record, name: eventNameOf(record), resource, scope: piece.scope() }
      },
      (why): Rejected => ({ why: `a record: ${why}` }),
    ),
  )
  const all = opened.filter((item): item is Logged => !('why' in item))
  const isTraced = all.some(({ record }) => spanOf(record) !== undefined)
  const told = messagesBySpan(all)
  return opened.map((item) =>
    'why' in item
      ? item
      : openedOr(
          () => readRecord(item, isTraced, told),
          (why) => ({ why: `record ${cut(item.name)}: ${why}` }),
        ),
  )
}

function readRecord(logged: Logged, isTraced: boolean, told: MessagesBySpan): ReadRecord {
  const { record, name } = logged
  const span = spanOf(record)
  const from = (...described: Described[]): ReadRecord => ({
    calls: described.map((call) => partOf(logged, call)),
    evaluations: [],
  })
  if (name === evaluationEvent) {
    const evaluation = evaluationOf(record.attributes, span?.id, timeOf(record))
    // Without a span it may name the answer of a model; if that is not found, the record remains.
    return { ...(span ? { calls: [] } : from(alone(logged, name))), evaluations: [evaluation] }
  }
  if (isClaudeCode(logged)) return from(...claudeCodeCalls(logged, span))
  if (isCodex(logged)) {
    if (isCodexNoise(logged)) return { calls: [], evaluations: [], leftOut: name || logged.scope.name }
    return from(...codexCalls(logged, span, isTraced))
  }
  const known = isContent(logged) ? withBody(record) : undefined
  const shown = name || logged.scope.name || 'log'
  if (span !== undefined) {
    const messages = told.get(logged)
    return from({
      ...span,
      name: shown,
      attributes: [...(known ?? [])],
      ...(messages && { fields: { events: messages } }),
    })
  }
  return { ...from(alone(logged, shown, known)), ...(known ? {} : { unknown: shown }) }
}

/** A call for a record that belongs to no other. */
function alone(logged: Logged, name: string, attributes: Attributes = new Map()): Described {
  const id = idOf(`log ${digestOf(recordJson(logged))}`)
  return {
    id,
    trace: id,
    name,
    attributes: [...attributes],
    ...(attributes.size > 0 ? { turn: id } : { isOutside: true }),
  }
}

const noId = /^0*$/

function spanOf({ traceId, spanId }: LogRecord): { id: string; trace: string } | undefined {
  const isSpan = traceId.length === 32 && spanId.length === 16 && !noId.test(traceId) && !noId.test(spanId)
  return isSpan ? { id: spanId, trace: traceId } : undefined
}

const contents = ['gen_ai.input.messages', 'gen_ai.output.messages', 'gen_ai.system_instructions']

const isContent = ({ name, record }: Logged): boolean =>
  name === 'gen_ai.client.inference.operation.details' ||
  contents.some((content) => record.attributes.has(content))

/** Early versions of the conventions put the content into the body. */
function withBody({ attributes, body }: LogRecord): Attributes {
  const members = isMembers(body) ? Object.entries(body).filter(([name]) => !attributes.has(name)) : []
  return new Map([...attributes, ...members.filter(([name]) => name.startsWith('gen_ai.'))])
}

const isMembers = (body: Value): body is { [key: string]: Value } =>
  typeof body === 'object' && body !== null && !Array.isArray(body) && !(body instanceof JsonText)

type MessagesBySpan = ReadonlyMap<Logged, SpanEvent[]>

/** One record for each message, as instrumentations of 2024 send them: the first of a span tells all of its batch. */
function messagesBySpan(all: readonly Logged[]): MessagesBySpan {
  const bySpan = Map.groupBy(
    all.filter(({ name, record }) => messageEvent.test(name) && spanOf(record) !== undefined),
    ({ record }) => `${record.traceId} ${record.spanId}`,
  )
  return new Map(
    [...bySpan.values()].map((list) => [
      list[0] as Logged,
      list.map(({ name, record }) => ({
        name,
        timeUnixNano: timeOf(record),
        attributes: isMembers(record.body)
          ? new Map([...record.attributes, ...Object.entries(record.body)])
          : record.attributes,
        droppedAttributesCount: 0,
      })),
    ]),
  )
}
