import { type CallKind, isInnerStep, kindOfCall } from '../../domain/call-facts/kind.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { formatTime, formatTimeOrNull, now } from '../../domain/time.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { streamTrace, type TraceCall as TraceRow } from '../../storage/views/trace-calls.ts'
import { createPricing, sumOfCosts } from '../calls/costs.ts'
import { maxTraceCalls, type TraceBody, type TraceCall, type TraceColumns } from './trace-contract.ts'

/** A row with its cost, if that is known. */
type PricedRow = TraceRow & { cost: number | null; kind: CallKind | null; is_inner_step: boolean }

/**
 * Writes the calls of one trace as columns, one line for each batch of rows. It remembers what earlier lines contain.
 */
function columnsOfTrace(): (rows: readonly PricedRow[]) => string {
  const placeOfCall = new Map<string, number>()
  const placeOfKind = new Map<string, number>()
  let before = 0
  return (rows) => {
    const columns: TraceColumns = {
      kinds: [],
      id: [],
      kind: [],
      parent: [],
      after: [],
      took: [],
      storage_size_bytes: [],
      tokens: [],
      cost: [],
      feedback: [],
    }
    for (const row of rows) {
      const index = placeOfCall.size
      columns.id.push(row.id)
      columns.kind.push(kindOf(row, placeOfKind, columns.kinds))
      columns.parent.push(row.parent_id === null ? null : (placeOfCall.get(row.parent_id) ?? row.parent_id))
      // Only after `parent`: a call that names itself as its parent comes after no other.
      placeOfCall.set(row.id, index)
      columns.after.push(row.started_at - before)
      before = row.started_at
      columns.took.push(row.ended_at === null ? null : row.ended_at - row.started_at)
      columns.storage_size_bytes.push(row.storage_size)
      if (hasTokens(row)) columns.tokens.push([index, row.input_tokens, row.output_tokens])
      if (row.cost !== null) columns.cost.push([index, row.cost])
      if (row.feedback > 0) columns.feedback.push([index, row.feedback])
    }
    return JSON.stringify(columns)
  }
}

/** The position of a kind; a new one is added to the line. */
function kindOf(
  { status, op_name, display_name, kind, is_inner_step }: PricedRow,
  indexes: Map<string, number>,
  kinds: TraceColumns['kinds'],
): number {
  const name = display_name === null ? '' : `=${display_name}`
  const key = `${status} ${kind} ${is_inner_step} ${op_name.length} ${op_name}${name}`
  const known = indexes.get(key)
  if (known !== undefined) return known
  kinds.push({ op_name, display_name, kind, is_inner_step, status: status as TraceCall['status'] })
  indexes.set(key, indexes.size)
  return indexes.size - 1
}

/** The calls of one trace by their start, as lines of JSON, several lines at a time. */
export function readTrace(db: BoundDatabase, caller: Caller, body: TraceBody) {
  requireAccess(caller, body.project_id)
  return linesOf(db, body)
}

async function* linesOf(db: BoundDatabase, body: TraceBody): AsyncGenerator<string> {
  const { project_id: project, trace_id: trace } = body
  const costsOf = createPricing(db, project)
  const page = { project, trace, limit: body.limit ?? maxTraceCalls }
  const write = body.layout === 'columns' ? columnsOfTrace() : writeRows
  for await (const rows of streamTrace(db, page, now())) {
    const priced: PricedRow[] = []
    for (const row of rows) {
      const costs =
        row.usage === null ? undefined : await costsOf({ ...row, summary: `{"usage":${row.usage}}` })
      const kind = kindOfCall(row.stated_kind, hasTokens(row))
      priced.push(
        Object.assign(row, {
          kind,
          is_inner_step: isInnerStep({ isBareSpan: Number(row.bare_span) === 1, kind, op_name: row.op_name }),
          cost: costs === undefined ? null : sumOfCosts(costs),
        }),
      )
    }
    yield write(priced)
  }
}

const hasTokens = ({ input_tokens, output_tokens }: TraceRow) =>
  input_tokens !== null || output_tokens !== null

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
        kind: row.kind,
        is_inner_step: row.is_inner_step,
        input_tokens: row.input_tokens,
        output_tokens: row.output_tokens,
        cost: row.cost,
        storage_size_bytes: row.storage_size,
        feedback: row.feedback,
      } satisfies TraceCall),
    )
    .join('\n')
