import { type Caller, requireAccess } from '../../domain/callers.ts'
import { wrong } from '../../domain/refusals.ts'
import { formatTime, formatTimeOrNull, now } from '../../domain/time.ts'
import { isDeriving } from '../../storage/calls/underived.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { boundTo } from '../../storage/transaction.ts'
import {
  type CallPosition,
  countFeedbackOf,
  countLightCalls,
  type LightCall as LightRow,
  type LightView,
  readLightPage,
} from '../../storage/views/light-calls.ts'
import { createPricing, sumOfCosts } from '../calls/costs.ts'
import { callsViewOf } from '../calls/query.ts'
import type { CallNames } from '../recording/named-calls.ts'
import { type CallsBody, defaultCalls, defaultCount, type LightCall } from './contract.ts'

export interface Asked {
  db: BoundDatabase
  names: CallNames
}

/** How long a count that accompanies a list may take. */
const countMs = 250

export async function listCalls({ db, names }: Asked, caller: Caller, body: CallsBody) {
  requireAccess(caller, body.project_id)
  const limit = body.limit ?? defaultCalls
  const view = {
    ...(await callsViewOf(names, body)),
    limit,
    after: positionGiven(body),
    columns: body.columns ?? [],
    examine: body.examine == null ? undefined : { rows: body.examine },
  }
  await names.looksAt(body.project_id, view.columns)
  const time = now()
  const { calls: rows, looked } = await readLightPage(db, view, time)
  const last = rows.at(-1)
  const goesOn = last !== undefined && rows.length === limit && isInTime(body)
  return {
    calls: await shownCalls(db, body.project_id, rows, body.columns != null),
    next: goesOn ? `${last.started_at}.${last.id}` : null,
    count: await countedCalls(db, view, body.count_up_to ?? defaultCount, rows.length, time),
    examined: looked ? { calls: looked.max, since: formatTime(looked.since) } : null,
    is_deriving: await isDeriving(db, body.project_id),
  }
}

const isInTime = ({ sort_by }: CallsBody): boolean =>
  !sort_by?.length || (sort_by.length === 1 && sort_by[0]?.field === 'started_at')

function positionGiven(body: CallsBody): CallPosition | undefined {
  const { after } = body
  if (after == null) return undefined
  const [, startedAt, id] = /^(-?\d{1,16})\.(.+)$/s.exec(after) ?? []
  if (startedAt === undefined || id === undefined || !isInTime(body)) {
    throw wrong('after', JSON.stringify(after), '`next` of the previous page, in the order of time')
  }
  return { startedAt: Number(startedAt), id }
}

/** If counting takes too long, the answer is the number of calls that are known to exist. */
async function countedCalls(db: BoundDatabase, view: LightView, most: number, found: number, time: number) {
  if (most === 0) return null
  const limit = AbortSignal.timeout(countMs)
  try {
    const { count: value, looked } = await countLightCalls(
      boundTo(db, AbortSignal.any([db.signal, limit])),
      view,
      most + 1,
      time,
    )
    return { value: Math.min(value, most), is_exact: value <= most && looked === undefined }
  } catch (error) {
    if (!limit.aborted || db.signal.aborted) throw error
    return { value: found === 0 ? 0 : view.offset + found, is_exact: false }
  }
}

export async function shownCalls(
  db: BoundDatabase,
  project: string,
  rows: readonly LightRow[],
  withValues = false,
): Promise<LightCall[]> {
  if (rows.length === 0) return []
  const costsOf = createPricing(db, project)
  const ids = rows.map(({ id }) => id)
  const feedback = Map.groupBy(await countFeedbackOf(db, project, ids), ({ call_id }) => call_id)
  const calls: LightCall[] = []
  for (const row of rows) {
    const costs =
      row.usage === null ? undefined : await costsOf({ ...row, summary: `{"usage":${row.usage}}` })
    calls.push({
      id: row.id,
      trace_id: row.trace_id,
      parent_id: row.parent_id,
      thread_id: row.thread_id,
      op_name: row.op_name,
      display_name: row.display_name,
      started_at: formatTime(row.started_at),
      ended_at: formatTimeOrNull(row.ended_at),
      status: row.status as LightCall['status'],
      exception: row.exception,
      model: row.model,
      latency_ms: row.ended_at === null ? null : (row.ended_at - row.started_at) / 1000,
      first_token_ms: row.first_token_us === null ? null : row.first_token_us / 1000,
      input_tokens: row.input_tokens,
      output_tokens: row.output_tokens,
      cost: costs === undefined ? null : sumOfCosts(costs),
      svc_user_id: row.user_id,
      storage_size_bytes: row.storage_size,
      input_preview: row.input_preview,
      output_preview: row.output_preview,
      ...(withValues && { values: row.values }),
      feedback: (feedback.get(row.id) ?? []).map(({ call_id, ...kind }) => kind),
    })
  }
  return calls
}
