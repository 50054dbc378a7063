import type { YieldToLoop } from '../../../../packages/waiting/index.ts'
import { columnNames } from '../../../domain/evaluations/columns/gathering.ts'
import { type PackedTexts, unpackWhole } from '../../../domain/evaluations/columns/packing.ts'
import { joinRows } from '../../../domain/evaluations/columns/rows.ts'
import { storageFailure } from '../../failures.ts'
import { listOf, sql } from '../../sql/sql.ts'
import { allRows, type BoundReader, type Reader } from '../../transaction.ts'
import type { RowSet } from '../row-sets.ts'
import { headerName, type StoredHeader } from './gather.ts'

/** An evaluation that has rows; its header is missing while its columns are not up to date with its trials. */
export type OpenedSet = RowSet & { header?: StoredHeader }
export type StoredEvaluation = RowSet & { header: StoredHeader }

export async function readSets(
  db: Reader,
  project: string,
  evaluations: readonly string[],
): Promise<OpenedSet[]> {
  const sets = await db.all<RowSet & { bytes: Uint8Array | null }>(
    sql`SELECT eval_row_sets.evaluation_id, row_count, row_sum, eval_row_sets.version, kept_as, bytes
        FROM eval_row_sets
        LEFT JOIN eval_columns ON eval_columns.project_id = eval_row_sets.project_id
          AND eval_columns.evaluation_id = eval_row_sets.evaluation_id
          AND eval_columns.version = eval_row_sets.version AND name = ${headerName}
        WHERE eval_row_sets.project_id = ${project} AND eval_row_sets.evaluation_id IN (${listOf(evaluations)})`,
  )
  return sets.map(({ bytes, ...set }) => (bytes === null ? set : { ...set, header: headerOf(bytes) }))
}

function headerOf(bytes: Uint8Array): StoredHeader {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as StoredHeader
  } catch (error) {
    throw storageFailure('storage_corrupt', error)
  }
}

/** One of several evaluations that are read together, with the requested columns. */
export interface Part extends StoredEvaluation {
  /** The index of each of its rows among the rows of all. */
  indexes: Int32Array
  /** The same for each trial. */
  rows: Int32Array
  columns: ReadonlyMap<string, Uint8Array>
}

interface JoinedParts {
  sets: readonly Part[]
  /** Of all rows, in order. */
  digests: PackedTexts
}

/** Undefined if a column was removed because trials have changed meanwhile. */
export async function readParts(
  db: BoundReader,
  project: string,
  asked: readonly (StoredEvaluation & { names: Iterable<string> })[],
  yieldToLoop: YieldToLoop,
): Promise<JoinedParts | undefined> {
  // Evaluations of the same rows have the same digests, which are most of what is read.
  const withDigests = new Map(asked.map((set) => [set.row_sum, set]))
  const wanted = asked.map((set) => {
    const names = new Set([columnNames.failed, ...set.names])
    if (set.header.trials !== set.header.rows) names.add(columnNames.rowOfTrial)
    if (set.header.shapes.length > 1) names.add(columnNames.shapes)
    if (withDigests.get(set.row_sum) === set) names.add(columnNames.digests)
    return { ...set, names: [...names].sort(), columns: new Map<string, Uint8Array>() }
  })
  // Usually the same columns are read of all evaluations.
  for (const [names, some] of Map.groupBy(wanted, (set) => JSON.stringify(set.names))) {
    const rows = await allRows<{ evaluation_id: string; version: string; name: string; bytes: Uint8Array }>(
      db,
      sql`SELECT evaluation_id, version, name, bytes FROM eval_columns WHERE project_id = ${project}
          AND evaluation_id IN (${listOf(some.map(({ evaluation_id }) => evaluation_id))})
          AND version IN (${listOf([...new Set(some.map(({ version }) => version))])})
          AND name IN (${listOf(JSON.parse(names) as string[])})`,
    )
    for (const { evaluation_id, version, name, bytes } of rows) {
      const set = some.find((known) => known.evaluation_id === evaluation_id)
      if (set?.version === version) set.columns.set(name, bytes)
    }
  }
  if (wanted.some(({ names, columns }) => columns.size < names.length)) return undefined
  const own = wanted.map(({ row_sum: sum, header: { rows: count } }) => {
    const read = wanted.find((set) => set.row_sum === sum && set.columns.has(columnNames.digests))
    return { sum, count, digests: read?.columns.get(columnNames.digests) as Uint8Array }
  })
  const joined = await joinRows(own, yieldToLoop)
  const sets = wanted.map((set, i): Part => {
    const indexes = joined.indexes[i] as Int32Array
    const packed = set.columns.get(columnNames.rowOfTrial)
    const rows = packed === undefined ? indexes : unpackWhole(packed).map((at) => indexes[at] as number)
    return { ...set, indexes, rows }
  })
  return { sets, digests: joined.digests }
}

/** All stored columns of an evaluation. */
export async function readColumns(
  db: BoundReader,
  project: string,
  { evaluation_id, version }: RowSet,
): Promise<Map<string, Uint8Array>> {
  const rows = await allRows<{ name: string; bytes: Uint8Array }>(
    db,
    sql`SELECT name, bytes FROM eval_columns
        WHERE project_id = ${project} AND evaluation_id = ${evaluation_id} AND version = ${version}`,
  )
  return new Map(rows.map(({ name, bytes }) => [name, bytes]))
}
