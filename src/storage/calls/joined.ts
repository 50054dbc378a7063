import { itemsOf, membersOf, objectText } from '../../../packages/json/index.ts'
import { batchesOf } from '../../domain/batches.ts'
import { asText } from '../../domain/json/text.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Command, Transaction } from '../transaction.ts'
import { kindOf, sentColumns } from './columns.ts'
import type { CallEnd, CallPart, CallStart, JoinedPart } from './parts.ts'
import { joinAnswers, lockTurns, moveBelowSpans, tracesOfRequests } from './told-answers.ts'
import { spreadModels, tracesOfCodex } from './trace-models.ts'
import { spreadThreads, tracesNaming } from './trace-threads.ts'
import { upsertCalls } from './writes.ts'

/** Records of one call; what they say is taken even if they are not stored. */
const maxRecords = 200
const maxRecordsLength = 1 << 20

/** The attribute that has the records of a call. */
const logsAttribute = 'otel_logs'

/**
 * Writes spans and log records. A span replaces what it was before. A record adds what is missing: a request, an answer,
 * tokens, an error, and itself to the attributes. A span that arrives later leaves to the call what only records had.
 */
export const joinCalls: Command<readonly JoinedPart[], void> = async (tx, joinedParts) => {
  const byProject = Map.groupBy(joinedParts, ({ project_id }) => project_id)
  for (const project of [...byProject.keys()].sort()) {
    const own = byProject.get(project) as JoinedPart[]
    // Spans need not wait for one another, but what is read for a record must not change.
    const key = `log records ${project}`
    if (own.some(({ log }) => log)) {
      await tx.lock(key)
      await lockTurns(tx, project, own)
    } else {
      await tx.lockShared(key)
      await lockTraces(tx, project, [...tracesNaming(own), ...tracesOfCodex(own), ...tracesOfRequests(own)])
    }
  }
  for (const [project, own] of byProject) {
    const known = own.filter(({ log }) => !log?.findsTurn)
    await joinSome(tx, project, await joinAnswers(tx, project, known))
    const turnless = own.filter(({ log }) => log?.findsTurn)
    await joinSome(tx, project, await joinAnswers(tx, project, await withTurns(tx, project, turnless)))
    await moveBelowSpans(tx, project, known)
    await spreadThreads(tx, project, known)
    await spreadModels(tx, project, known)
  }
}

/** Calls of a trace that are written at once must see each other. There are few locks, whatever the number of traces. */
async function lockTraces(tx: Transaction, project: string, traces: readonly string[]): Promise<void> {
  const groups = new Set(traces.map((trace) => trace.slice(-1)))
  for (const group of [...groups].sort()) await tx.lock(`traces ${group} of ${project}`)
}

export async function joinSome(
  tx: Transaction,
  project: string,
  joinedParts: readonly JoinedPart[],
): Promise<void> {
  if (joinedParts.length === 0) return
  const ofRecords = new Set(joinedParts.flatMap(({ id, log }) => (log ? [id] : [])))
  const ofSpans = new Set(joinedParts.flatMap(({ id }) => (ofRecords.has(id) ? [] : [id])))
  // Few spans were named by a record before: the others need not be read.
  const marked = sql`${tx.dialect.position(rawSql('attributes'), rawSql(`'"${logsAttribute}":{"records":'`))} > 0`
  const known = new Map<string, Joined>()
  for (const [ids, condition] of [
    [ofRecords, rawSql('1 = 1')],
    [ofSpans, marked],
  ] as const) {
    for (const some of batchesOf([...ids], 500)) {
      for (const row of await storedRows(tx, project, some, condition)) known.set(row.id, joinedOf(row))
    }
  }
  const changed: CallPart[] = []
  for (const own of joinedParts) {
    const call = known.get(own.id) ?? emptyCall()
    if (own.log) {
      known.set(own.id, call)
      addRecord(call, own, own.log)
    } else if (known.has(own.id)) replaceSpan(call, own)
    else changed.push(own)
  }
  for (const [id, call] of known) changed.push(...writtenParts(project, id, call))
  if (changed.length > 0) await upsertCalls(tx, changed)
}

type WholeStart = { [Name in keyof CallStart]: CallStart[Name] }
type WholeEnd = { [Name in keyof CallEnd]: CallEnd[Name] }

/** A call while parts are added to it. */
interface Joined {
  display_name: string | null
  start: WholeStart | undefined
  end: WholeEnd | undefined
  attributes: Map<string, string>
  records: Map<string, string>
  length: number
  /** Since when, in nanoseconds, a record has filled it. */
  filled: Map<string, bigint>
  isFull: boolean
  isChanged: boolean
  /** It stays deleted. */
  isDeleted: boolean
}

const emptyCall = (): Joined => ({
  display_name: null,
  start: undefined,
  end: undefined,
  attributes: new Map(),
  records: new Map(),
  length: 0,
  filled: new Map(),
  isFull: false,
  isChanged: false,
  isDeleted: false,
})

type Row = { id: string; display_name: string | null; deleted_at: unknown } & Record<string, unknown>

const startNames = sentColumns('start')
const endNames = sentColumns('end')
const readColumns = rawSql(['id', 'display_name', 'deleted_at', ...startNames, ...endNames].join(', '))

export function storedRows(
  tx: Transaction,
  project: string,
  ids: readonly string[],
  condition: Sql,
): Promise<Row[]> {
  return tx.all<Row>(
    sql`SELECT ${readColumns} FROM calls WHERE project_id = ${project} AND id IN (${listOf(ids)}) AND ${condition}`,
  )
}

export function joinedOf(row: Row | undefined): Joined {
  const call = emptyCall()
  if (row === undefined) return call
  call.display_name = row.display_name
  call.isDeleted = row.deleted_at !== null
  if (row.started_at !== null && row.attributes !== null) call.start = columnsOf(row, startNames) as CallStart
  if (row.ended_at !== null && row.summary !== null) call.end = columnsOf(row, endNames) as CallEnd
  call.attributes = membersIn(call.start?.attributes)
  const logs = membersIn(call.attributes.get(logsAttribute))
  call.attributes.delete(logsAttribute)
  call.records = membersIn(logs.get('records'))
  for (const text of call.records.values()) call.length += text.length
  for (const [name, text] of membersIn(logs.get('filled'))) {
    if (/^"\d{1,20}"$/.test(text)) call.filled.set(name, BigInt(text.slice(1, -1)))
  }
  call.isFull = logs.get('full') === 'true'
  return call
}

/** One of the engines returns numbers as texts. */
function columnsOf(row: Row, names: readonly (typeof startNames | typeof endNames)[number][]): object {
  const value = (name: (typeof names)[number]) =>
    row[name] !== null && ['time', 'number'].includes(kindOf(name)) ? Number(row[name]) : row[name]
  return Object.fromEntries(names.map((name) => [name, value(name)]))
}

/** A client may have sent anything under this name. */
const membersIn = (text: string | undefined): Map<string, string> =>
  text?.startsWith('{') ? membersOf(text) : new Map()

const textsOf = <Half extends object>(half: Half, names: readonly (keyof Half)[]): Half => ({
  ...half,
  ...Object.fromEntries(
    names.map((name) => [name, half[name] == null ? null : asText(half[name] as string)]),
  ),
})
const startOf = ({ start }: CallPart) => start && (textsOf(start, ['attributes', 'inputs']) as WholeStart)
const endOf = ({ end }: CallPart) => end && (textsOf(end, ['output', 'summary']) as WholeEnd)

function replaceSpan(call: Joined, span: CallPart): void {
  const [start, end] = [startOf(span), endOf(span)]
  call.isChanged = true
  call.display_name = span.display_name ?? call.display_name
  if (start) {
    const isFilled = start.inputs === '{}' && call.filled.has('inputs')
    if (!isFilled) call.filled.delete('inputs')
    call.start = {
      ...start,
      thread_id: start.thread_id ?? call.start?.thread_id ?? null,
      inputs: isFilled ? (call.start?.inputs ?? '{}') : start.inputs,
    }
    call.attributes = membersIn(start.attributes)
  }
  if (end) {
    const isFilled = end.output === null && call.filled.has('output')
    if (!isFilled) call.filled.delete('output')
    const summary = membersIn(end.summary)
    const usage = call.filled.has('usage') ? membersIn(call.end?.summary).get('usage') : undefined
    if (usage !== undefined && !summary.has('usage')) summary.set('usage', usage)
    else call.filled.delete('usage')
    const output = isFilled ? (call.end?.output ?? null) : end.output
    call.end = { ...end, output, summary: objectText(summary) }
  }
}

type Log = NonNullable<JoinedPart['log']>

function addRecord(call: Joined, told: JoinedPart, log: Log) {
  const { digest, record, time } = log
  const [start, end] = [startOf(told), endOf(told)]
  if (call.isDeleted || call.records.has(digest) || start === undefined || end === undefined) return
  call.isChanged = true
  const at = BigInt(time)
  if (call.records.size < maxRecords && call.length + record.length <= maxRecordsLength) {
    call.records.set(digest, record)
    call.length += record.length
  } else call.isFull = true
  const isRunning = call.start !== undefined && call.end === undefined
  const isSpan = call.attributes.has('otel_span')
  for (const [name, text] of membersIn(start.attributes)) {
    if (!call.attributes.has(name)) call.attributes.set(name, text)
  }
  if (call.start === undefined) {
    call.start = { ...start, inputs: '{}' }
  } else if (!isSpan && !isRunning && !log.isOfAnswer) {
    call.start.started_at = Math.min(call.start.started_at, start.started_at)
    call.start.parent_id ??= start.parent_id ?? null
    call.start.turn_id ??= start.turn_id ?? null
  }
  call.start.thread_id ??= start.thread_id ?? null
  if (start.inputs !== '{}') call.start.inputs = filled(call, 'inputs', call.start.inputs, start.inputs, log)
  if (isRunning) return
  call.end ??= { ...end, exception: null, output: null, summary: '{}' }
  if (!isSpan && !log.isOfAnswer) call.end.ended_at = Math.max(call.end.ended_at, end.ended_at)
  call.end.exception ??= end.exception ?? null
  if (end.output !== null)
    call.end.output = filled(call, 'output', call.end.output ?? null, end.output as string, log)
  const usage = membersIn(end.summary).get('usage')
  const summary = membersIn(call.end.summary)
  const known = summary.get('usage')
  if (usage === undefined) return
  if (fills(call, 'usage', known === undefined, at)) summary.set('usage', usage)
  else if (log.isOfAnswer && known !== undefined) summary.set('usage', withStatedCost(known, usage))
  else return
  call.end.summary = objectText(summary)
}

/** This server counts the tokens of its answers. Only their client knows what they cost where the model has no price. */
function withStatedCost(known: string, told: string): string {
  const [ofTold = ''] = membersIn(told).values()
  const cost = membersIn(ofTold).get('total_cost')
  const models = membersIn(known)
  const [model] = models
  if (cost === undefined || model === undefined || models.size > 1) return known
  const used = membersIn(model[1])
  if (used.has('total_cost')) return known
  return objectText(models.set(model[0], objectText(used.set('total_cost', cost))))
}

function filled<Known extends string | null>(
  call: Joined,
  name: 'inputs' | 'output',
  known: Known,
  told: string,
  { digest, time, addsMessages }: Log,
): Known | string {
  const since = call.filled.get(name)
  const at = BigInt(time)
  if (!addsMessages || since === undefined || known === null || known === '{}')
    return fills(call, name, known === null || known === '{}', at) ? told : known
  const isEarlier = at < since
  if (!isEarlier) call.filled.set(name, at)
  const [before, own] = [messagesIn(known), messagesIn(told)]
  // Whether a record that was not stored is sent again can only be seen from its messages.
  if (!call.records.has(digest) && own.every((message) => before.includes(message))) return known
  const all = `[${(isEarlier ? [...own, ...before] : [...before, ...own]).join(',')}]`
  return name === 'output' ? all : objectText(membersIn(known).set('messages', all))
}

function messagesIn(text: string): string[] {
  const list = text.startsWith('{') ? membersOf(text).get('messages') : text
  return list?.startsWith('[') ? itemsOf(list) : []
}

/** The last record wins over those before it, and none over the span itself. */
function fills(call: Joined, name: string, isEmpty: boolean, at: bigint): boolean {
  const since = call.filled.get(name)
  if (!isEmpty && (since === undefined || since > at)) return false
  call.filled.set(name, at)
  return true
}

function writtenParts(project_id: string, id: string, call: Joined): CallPart[] {
  const { start, end, display_name, records, filled, isFull } = call
  if (!call.isChanged) return []
  if (start && records.size + filled.size > 0) {
    const times = [...filled].map(([name, time]): [string, string] => [name, `"${time}"`])
    const logs = new Map([['records', objectText(records)]])
    if (times.length > 0) logs.set('filled', objectText(new Map(times)))
    if (isFull) logs.set('full', 'true')
    call.attributes.set(logsAttribute, objectText(logs))
    start.attributes = objectText(call.attributes)
    start.start_bytes = Buffer.byteLength(start.attributes) + Buffer.byteLength(start.inputs)
  }
  if (end)
    end.end_bytes = Buffer.byteLength(end.summary) + (end.output === null ? 0 : Buffer.byteLength(end.output))
  return [{ project_id, id, display_name, ...(start && { start }), ...(end && { end }) }]
}

interface Turn {
  id: string
  trace_id: string
  started_at: number
}

/** Turns of one conversation that are looked at, the latest first. */
const maxTurns = 1000

async function withTurns(
  tx: Transaction,
  project: string,
  joinedParts: readonly JoinedPart[],
): Promise<JoinedPart[]> {
  const turnsOf = new Map<string, Turn[]>()
  const found: JoinedPart[] = []
  for (const told of joinedParts) {
    const { start } = told
    const thread = start?.thread_id
    if (start === undefined || thread == null) {
      found.push(told)
      continue
    }
    // The condition is that of the index of turns.
    const turns =
      turnsOf.get(thread) ??
      (await tx.all<Turn>(sql`SELECT id, trace_id, started_at FROM calls WHERE project_id = ${project}
        AND thread_id = ${thread} AND thread_id <> '' AND (parent_id IS NULL OR turn_id = id) AND turn_id = id
        AND op_name NOT LIKE 'heddle.%' AND deleted_at IS NULL ORDER BY started_at DESC, id DESC LIMIT ${maxTurns}`))
    turnsOf.set(thread, turns)
    const turn = turns.find(({ started_at }) => Number(started_at) <= start.started_at)
    const own = turn && { trace_id: turn.trace_id, parent_id: turn.id, turn_id: turn.id }
    found.push({ ...told, start: { ...start, ...own } })
  }
  return found
}
