import type { TraceCall as TraceRow } from '../../storage/views/trace-calls.ts'
import type { TraceCall, TraceColumns } from './trace-contract.ts'

/** A row with its cost, if that is known. */
export type PricedRow = TraceRow & { cost: number | null }

/**
 * Writes the calls of one trace as columns, one line for each batch of rows. It remembers what earlier lines contain.
 */
export function columnsOfTrace(): (rows: readonly PricedRow[]) => string {
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
      if (row.cost !== null) columns.cost.push([index, row.cost])
      if (row.feedback > 0) columns.feedback.push([index, row.feedback])
    }
    return JSON.stringify(columns)
  }
}

/** The position of a kind; a new one is added to the line. */
function kindOf(
  { status, op_name, display_name }: PricedRow,
  indexes: Map<string, number>,
  kinds: TraceColumns['kinds'],
): number {
  const name = display_name === null ? '' : `=${display_name}`
  const key = `${status} ${op_name.length} ${op_name}${name}`
  const known = indexes.get(key)
  if (known !== undefined) return known
  kinds.push({ op_name, display_name, status: status as TraceCall['status'] })
  indexes.set(key, indexes.size)
  return indexes.size - 1
}
