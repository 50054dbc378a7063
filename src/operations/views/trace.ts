import { type Caller, requireAccess } from '../../domain/callers.ts'
import { formatTime, formatTimeOrNull, now } from '../../domain/time.ts'
import { streamTrace } from '../../storage/views/trace-calls.ts'
import { createPricing } from '../calls/costs.ts'
import { type Asked, sumOfCosts } from './calls.ts'
import { columnsOfTrace, type PricedRow } from './trace-columns.ts'
import { maxTraceCalls, type TraceBody, type TraceCall } from './trace-contract.ts'

type Parts = Pick<Asked, 'db'>

/** The calls of one trace by their start, as lines of JSON, several lines at a time. */
export function readTrace(services: Parts, caller: Caller, body: TraceBody, signal: AbortSignal) {
  requireAccess(caller, body.project_id)
  return linesOf(services, body, signal)
}

async function* linesOf({ db }: Parts, body: TraceBody, signal: AbortSignal): AsyncGenerator<string> {
  const { project_id: project, trace_id: trace } = body
  const costsOf = createPricing(db, project)
  const page = { project, trace, limit: body.limit ?? maxTraceCalls }
  const write = body.layout === 'columns' ? columnsOfTrace() : writeRows
  for await (const rows of streamTrace(db, page, now(), signal)) {
    const priced: PricedRow[] = []
    for (const row of rows) {
      const costs =
        row.usage === null ? undefined : await costsOf({ ...row, summary: `{"usage":${row.usage}}` })
      priced.push(Object.assign(row, { cost: costs === undefined ? null : sumOfCosts(costs) }))
    }
    yield write(priced)
  }
}

const writeRows = (rows: readonly PricedRow[]): string =>
  rows
    .map((row) =>
      JSON.stringify({
        id: row.id,
        parent_id: row.parent_id,
        op_name: row.op_name,
        display_name: row.display_name,
        started_at: formatTime(row.started_at),
        ended_at: formatTimeOrNull(row.ended_at),
        status: row.status as TraceCall['status'],
        cost: row.cost,
        storage_size_bytes: row.storage_size,
        feedback: row.feedback,
      } satisfies TraceCall),
    )
    .join('\n')
