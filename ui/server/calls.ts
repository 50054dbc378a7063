import type { Expression } from '../../packages/filter/index.ts'
import type { LightCall } from '../../src/operations/views/contract.ts'
import type { TraceColumns } from '../../src/operations/views/trace-contract.ts'
import { questionOf } from '../export/contents.ts'
import { type JsonNode, jsonNode, nodeAt, stringOf } from '../value/json-index.ts'
import { RefusedError, request, requestJson, requestLines } from './request.ts'
import { type TraceCall, traceReader } from './trace-columns.ts'

/** A call without inputs, output and attributes. */
export interface CallRow {
  id: string
  op_name: string
  display_name: string | null
  trace_id: string
  parent_id: string | null
  started_at: string
  ended_at: string | null
  exception: string | null
  svc_user_id: string | null
  storage_size_bytes: number | null
  summary: {
    usage?: Record<string, Usage>
    weave?: {
      status?: CallStatus
      latency_ms?: number
      costs?: Record<string, Record<string, number>>
      feedback?: FeedbackRow[]
    }
  }
}

export type CallStatus = 'success' | 'error' | 'running' | 'descendant_error'

interface Usage {
  prompt_tokens?: number
  completion_tokens?: number
  input_tokens?: number
  output_tokens?: number
}

interface FeedbackRow {
  id: string
  feedback_type: string
  payload: Record<string, unknown>
  created_at: string
  svc_user_id: string | null
}

export interface CallsView {
  project: string
  /** Only calls without a parent. */
  roots: boolean
  query: Expression | undefined
  sort: Sort
  /** Values inside calls that are read as well. */
  columns?: readonly string[]
  /** The newest calls that are looked at where conditions read values that no index has; all if absent. */
  examine?: number
}

export interface Sort {
  field: string
  direction: 'asc' | 'desc'
}

export const newestFirst: Sort = { field: 'started_at', direction: 'desc' }

/** A part of the calls of a view: those up to a time, those after times, or those with some ids. */
export interface Part {
  until?: string | undefined
  since?: string | undefined
  behind?: string | undefined
  ids?: readonly string[] | undefined
}

function bodyOf({ project, roots, query }: CallsView, { until, since, behind, ids }: Part = {}) {
  const started = (operator: string, at: string) => ({
    [operator]: [{ $getField: 'started_at' }, { $literal: at }],
  })
  const conditions = [
    ...(query ? [query] : []),
    ...(until ? [started('$lte', until)] : []),
    ...[since, behind].flatMap((at) => (at ? [started('$gt', at)] : [])),
  ]
  return {
    project_id: project,
    filter: { trace_roots_only: roots, ...(ids && { call_ids: ids }) },
    ...(conditions.length > 0 && { query: { $expr: { $and: conditions } } }),
  }
}

/** The calls of a view without inputs and output, and their number, counted up to a limit. */
interface LightCalls {
  calls: LightCall[]
  count: { value: number; is_exact: boolean } | null
  examined: Examined | null
}

/** The newest calls that were looked at, where that is not all. */
export interface Examined {
  calls: number
  since: string
}

const askLight = (body: object, signal: AbortSignal): Promise<LightCalls> =>
  requestJson('/views/calls', { body, signal })

export const readPage = async (...asked: Parameters<typeof readExaminedPage>): Promise<LightCall[]> =>
  (await readExaminedPage(...asked)).calls

export function readExaminedPage(
  view: CallsView,
  part: Part,
  page: { offset: number; limit: number },
  signal: AbortSignal,
): Promise<LightCalls> {
  const body = {
    ...bodyOf(view, part),
    sort_by: [view.sort],
    ...page,
    count_up_to: 0,
    columns: view.columns,
    examine: view.examine,
  }
  return askLight(body, signal)
}

/** What a call and those below it used. */
export interface TraceSum {
  input: number
  output: number
  cost: number | null
}

/** Of each of these calls, together with those below it; nothing where they are too many to be added up. */
export async function readTraceSums(
  project: string,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, TraceSum>> {
  const body = { project_id: project, call_ids: ids, include_costs: true }
  type Answer = { call_usage: Record<string, Record<string, Record<string, number | null>>> }
  const { call_usage } = await requestJson<Answer>('/calls/usage', { body, signal })
  return new Map(
    Object.entries(call_usage).map(([id, models]) => {
      const used = Object.values(models)
      const sumOf = (name: string) => used.reduce((sum, model) => sum + (model[name] ?? 0), 0)
      const costs = used.flatMap((model) =>
        Object.keys(model).flatMap((name) => (name.endsWith('_total_cost') ? (model[name] ?? []) : [])),
      )
      const cost = costs.length === 0 ? null : costs.reduce((sum, each) => sum + each, 0)
      return [id, { input: sumOf('prompt_tokens'), output: sumOf('completion_tokens'), cost }]
    }),
  )
}

/** Calls that can be selected together: what one request may name. */
export const maxSelected = 1_000

/** When the newest call of a list by time began: later pages leave out newer calls, so that no row moves. */
export function newestOf({ sort }: CallsView, first: readonly LightCall[]): string | undefined {
  const isByTime = sort.field === newestFirst.field && sort.direction === 'desc'
  return isByTime ? first[0]?.started_at : undefined
}

/** The current state of these calls, whatever a view asks for; deleted ones are missing. */
export async function readCalls(
  { project, columns = [] }: Pick<CallsView, 'project' | 'columns'>,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<LightCall[]> {
  const found: LightCall[] = []
  for (let from = 0; from < ids.length; from += idsAtOnce) {
    const filter = { call_ids: ids.slice(from, from + idsAtOnce) }
    const body = { project_id: project, filter, columns, limit: idsAtOnce, count_up_to: 0 }
    found.push(...(await askLight(body, signal)).calls)
  }
  return found
}

/** How far a view counts. */
const mostCounted = 1_000_000

export async function countCalls(view: CallsView, part: Part, signal: AbortSignal): Promise<number> {
  const body = bodyOf(view, part)
  const { count: quick, examined } = await askLight(
    { ...body, sort_by: [view.sort], limit: 0, count_up_to: mostCounted, examine: view.examine },
    signal,
  )
  if (quick?.is_exact) return quick.value
  const looked = bodyOf(view, { ...part, since: examined?.since })
  const { count } = await requestJson<{ count: number }>('/calls/query_stats', { body: looked, signal })
  return count
}

const idsAtOnce = maxSelected

export async function deleteCalls(project: string, ids: readonly string[]): Promise<void> {
  for (let from = 0; from < ids.length; from += idsAtOnce) {
    await request('/calls/delete', {
      body: { project_id: project, call_ids: ids.slice(from, from + idsAtOnce) },
    })
  }
}

/** A kind of file, written from the JSON of each call. */
export interface CallFormat {
  type: string
  head: string
  lineOf(json: string): string
}

/** Whole calls, with the digits that were sent. `told` gets their number so far. */
export async function exportCalls(
  view: CallsView,
  part: Part,
  { format, told }: { format: CallFormat; told(count: number): void },
  signal: AbortSignal,
): Promise<Blob> {
  const parts = [format.head]
  let count = 0
  const body = { ...bodyOf(view, part), sort_by: [view.sort], include_feedback: true, include_costs: true }
  for await (const line of requestLines('/calls/stream_query', { body, signal })) {
    parts.push(format.lineOf(line))
    if (++count % 100 === 0) told(count)
  }
  told(count)
  return new Blob(parts, { type: format.type })
}

/** Inputs and output of these calls, and what else is named. Only for small calls. */
export async function readPayloads(
  project: string,
  ids: readonly string[],
  signal: AbortSignal,
  others: readonly string[] = [],
): Promise<Map<string, JsonNode>> {
  const found = new Map<string, JsonNode>()
  const columns = ['id', 'inputs', 'output', ...others]
  const body = { project_id: project, filter: { call_ids: ids }, columns }
  for await (const line of requestLines('/calls/stream_query', { body, signal })) {
    const node = jsonNode(line)
    const id = nodeAt(node, 'id')
    if (id) found.set(JSON.parse(line.slice(id.start, id.end)) as string, node)
  }
  return found
}

/** Calls of one trace that are shown. */
export const mostOfTrace = 50_000

export type { TraceCall } from './trace-columns.ts'

/** Fewer do not fill a screen, and are not worth a frame. */
const leastShown = 200

/** Ordered by their start. `show` gets the calls that have arrived, each time four times as many as before. */
export async function readTrace(
  project: string,
  trace: string,
  signal: AbortSignal,
  show: (rows: TraceCall[]) => void = () => undefined,
  limit = mostOfTrace,
): Promise<TraceCall[]> {
  const { rows, read } = traceReader()
  let next = leastShown
  const body = { project_id: project, trace_id: trace, limit, layout: 'columns' }
  for await (const line of requestLines('/views/trace', { body, signal })) {
    read(JSON.parse(line) as TraceColumns)
    if (rows.length < next) continue
    show([...rows])
    next = rows.length * 4
  }
  return rows
}

const wholeCall = (project: string, id: string) => ({
  project_id: project,
  id,
  include_costs: true,
  include_storage_size: true,
})

/** Keeps what `readCall` of each of these asks for, in few requests. */
export async function captureCalls(
  project: string,
  ids: readonly string[],
  kept: Map<string, string>,
  signal: AbortSignal,
): Promise<void> {
  for (let from = 0; from < ids.length; from += idsAtOnce) {
    const filter = { call_ids: ids.slice(from, from + idsAtOnce) }
    const body = { project_id: project, filter, include_costs: true, include_storage_size: true }
    // Each call is kept on its own, so this response is not: a signal of its own keeps nothing.
    const own = AbortSignal.any([signal])
    for await (const line of requestLines('/calls/stream_query', { body, signal: own })) {
      const id = stringOf(nodeAt(jsonNode(line), 'id')) ?? ''
      kept.set(questionOf('/call/read', JSON.stringify(wholeCall(project, id))), `{"call":${line}}`)
    }
  }
}

/** The whole call, with the digits of its numbers. */
export async function readCall(project: string, id: string, signal: AbortSignal): Promise<JsonNode> {
  const body = wholeCall(project, id)
  const text = await (await request('/call/read', { body, signal })).text()
  const call = nodeAt(jsonNode(text), 'call')
  if (call === undefined) throw new Error('The answer has no call.')
  return call
}

/** A call without inputs and output. */
export async function findCall(
  project: string,
  id: string,
  signal: AbortSignal,
): Promise<Pick<CallRow, 'id' | 'trace_id'>> {
  const body = { project_id: project, filter: { call_ids: [id] }, columns: ['id', 'trace_id'] }
  for await (const line of requestLines('/calls/stream_query', { body, signal })) return JSON.parse(line)
  throw new RefusedError(404, 'call_not_found', `There is no call ${id} in ${project}.`)
}

export const nameOf = ({ display_name, op_name }: Pick<CallRow, 'display_name' | 'op_name'>): string =>
  display_name ?? shortOp(op_name)

/** Ops of clients are references to a version of their code. */
export const shortOp = (op: string): string => /\/op\/([^:/]+)/.exec(op)?.[1] ?? op

export function statusOf({ summary, ended_at, exception }: CallRow): CallStatus {
  if (summary.weave?.status) return summary.weave.status
  if (exception !== null) return 'error'
  return ended_at === null ? 'running' : 'success'
}

export function tokensOf({ summary }: CallRow): { input: number; output: number } | undefined {
  const used = Object.values(summary.usage ?? {})
  if (used.length === 0) return undefined
  const sum = (value: (one: Usage) => number | undefined) =>
    used.reduce((all, one) => all + (value(one) ?? 0), 0)
  return {
    input: sum((one) => one.prompt_tokens ?? one.input_tokens),
    output: sum((one) => one.completion_tokens ?? one.output_tokens),
  }
}

export const modelsOf = ({ summary }: CallRow): string[] => Object.keys(summary.usage ?? {})

/** Undefined where no price is known. */
export function costOf({ summary }: CallRow): number | undefined {
  const costs = Object.values(summary.weave?.costs ?? {})
  if (costs.length === 0) return undefined
  return costs
    .flatMap(Object.entries)
    .reduce((all, [name, cost]) => (name.endsWith('_total_cost') ? all + cost : all), 0)
}

export function latencyOf({
  started_at,
  ended_at,
}: Pick<CallRow, 'started_at' | 'ended_at'>): number | undefined {
  return ended_at === null ? undefined : Date.parse(ended_at) - Date.parse(started_at)
}
