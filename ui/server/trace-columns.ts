import type { TraceColumns, TraceCall as TraceRow } from '../../src/operations/views/trace-contract.ts'

/** A call of a trace without inputs and output. Times are milliseconds since 1970. */
export interface TraceCall extends Omit<TraceRow, 'started_at' | 'ended_at'> {
  start: number
  /** Null for a running call. */
  end: number | null
}

/** Decodes lines of columns to rows; each line continues the ones before it. */
export function traceReader(): { rows: TraceCall[]; read(columns: TraceColumns): void } {
  const rows: TraceCall[] = []
  const kinds: TraceColumns['kinds'] = []
  // Kept as whole microseconds: sums of fractions would drift.
  let micros = 0
  const read = (columns: TraceColumns) => {
    kinds.push(...columns.kinds)
    for (const [index, id] of columns.id.entries()) {
      const parent = columns.parent[index]
      const took = columns.took[index] ?? null
      micros += columns.after[index] as number
      rows.push({
        ...(kinds[columns.kind[index] as number] as TraceColumns['kinds'][number]),
        id,
        parent_id: typeof parent === 'number' ? (rows[parent] as TraceCall).id : (parent ?? null),
        start: micros / 1_000,
        end: took === null ? null : (micros + took) / 1_000,
        input_tokens: null,
        output_tokens: null,
        cost: null,
        storage_size_bytes: columns.storage_size_bytes[index] as number,
        feedback: 0,
      })
    }
    for (const [place, input_tokens, output_tokens] of columns.tokens)
      Object.assign(rows[place] as TraceCall, { input_tokens, output_tokens })
    for (const [place, cost] of columns.cost) (rows[place] as TraceCall).cost = cost
    for (const [place, count] of columns.feedback) (rows[place] as TraceCall).feedback = count
  }
  return { rows, read }
}
