import { columnNames } from '../../../domain/evaluations/columns/gathering.ts'
import { type PackedTexts, unpackWhole } from '../../../domain/evaluations/columns/packing.ts'
import { joinRows } from '../../../domain/evaluations/columns/rows.ts'
import type { YieldToLoop } from '../../../domain/yielding.ts'
import type { LongReader } from '../../transaction.ts'
import type { RowSet } from '../row-sets.ts'
import type { StoredHeader } from './gather.ts'
import { placeColumns, readColumns } from './reading.ts'

export interface StoredEvaluation {
  set: RowSet
  header: StoredHeader
}

/** One of several evaluations that are read together, with the requested columns. */
export interface Part extends StoredEvaluation {
  /** The index of each of its rows among the rows of all. */
  places: Int32Array
  /** The same for each trial. */
  rows: Int32Array
  columns: ReadonlyMap<string, Uint8Array>
}

export interface JoinedParts {
  parts: readonly Part[]
  /** Of all rows, in order. */
  digests: PackedTexts
}

/** Undefined if a column was removed because trials have changed meanwhile. */
export async function joinParts(
  db: LongReader,
  project: string,
  asked: readonly (StoredEvaluation & { names: readonly string[] })[],
  signal: AbortSignal,
  yieldToLoop: YieldToLoop,
): Promise<JoinedParts | undefined> {
  // Evaluations of the same rows have the same digests, which are most of what is read.
  const digestsFrom = new Map(asked.map(({ set }) => [set.row_sum, set.evaluation_id]))
  const wanted = asked.map(({ set, header, names }) => ({
    set,
    names: new Set([
      ...placeColumns(header),
      ...(digestsFrom.get(set.row_sum) === set.evaluation_id ? [columnNames.digests] : []),
      ...names,
    ]),
  }))
  const columns = await readColumns(db, project, wanted, signal)
  if (columns === undefined) return undefined
  const column = (evaluation: string, name: string) => columns.get(evaluation)?.get(name)
  const own = asked.map(({ set, header }) => ({
    sum: set.row_sum,
    digests: column(digestsFrom.get(set.row_sum) ?? '', columnNames.digests) ?? new Uint8Array(),
    count: header.rows,
  }))
  const joined = await joinRows(own, yieldToLoop)
  const parts = asked.map(({ set, header }, i): Part => {
    const places = joined.places[i] as Int32Array
    const packed = column(set.evaluation_id, columnNames.places)
    const rows = packed === undefined ? places : unpackWhole(packed).map((at) => places[at] as number)
    return { set, header, places, rows, columns: columns.get(set.evaluation_id) ?? new Map() }
  })
  return { parts, digests: joined.digests }
}
