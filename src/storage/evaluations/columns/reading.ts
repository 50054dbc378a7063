import { columnNames } from '../../../domain/evaluations/columns/gathering.ts'
import { storageFailure } from '../../failures.ts'
import { listOf, sql } from '../../sql/sql.ts'
import { allRows, type LongReader, type Reader } from '../../transaction.ts'
import type { RowSet } from '../row-sets.ts'
import { headerName, type StoredHeader } from './gather.ts'

function headerOf(bytes: Uint8Array): StoredHeader {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as StoredHeader
  } catch (error) {
    throw storageFailure('storage_corrupt', error)
  }
}

/** The headers of the evaluations whose columns are up to date with their trials. */
export async function readHeaders(
  db: Reader,
  project: string,
  sets: readonly RowSet[],
): Promise<Map<string, StoredHeader>> {
  const fresh = new Map(
    sets.filter(({ version, kept_as }) => kept_as === version).map((set) => [set.evaluation_id, set.version]),
  )
  if (fresh.size === 0) return new Map()
  const found = await db.all<{ evaluation_id: string; version: string; bytes: Uint8Array }>(
    sql`SELECT evaluation_id, version, bytes FROM eval_columns
        WHERE project_id = ${project} AND evaluation_id IN (${listOf([...fresh.keys()])}) AND name = ${headerName}`,
  )
  return new Map(
    found
      .filter(({ evaluation_id, version }) => fresh.get(evaluation_id) === version)
      .map(({ evaluation_id, bytes }) => [evaluation_id, headerOf(bytes)]),
  )
}

interface AskedColumns {
  set: RowSet
  names: ReadonlySet<string>
}

/** Columns by evaluation and name; undefined if one was removed because trials have changed meanwhile. */
export async function readColumns(
  db: LongReader,
  project: string,
  asked: readonly AskedColumns[],
  signal: AbortSignal,
): Promise<Map<string, Map<string, Uint8Array>> | undefined> {
  const found = new Map<string, Map<string, Uint8Array>>(
    asked.map(({ set }) => [set.evaluation_id, new Map()]),
  )
  // Usually the same columns are read of all evaluations.
  const byNames = Map.groupBy(asked, ({ names }) => JSON.stringify([...names].sort()))
  for (const some of byNames.values()) {
    const names = [...(some[0] as AskedColumns).names]
    if (names.length === 0) continue
    const versions = new Map(some.map(({ set }) => [set.evaluation_id, set.version]))
    const rows = await allRows<{ evaluation_id: string; version: string; name: string; bytes: Uint8Array }>(
      db,
      sql`SELECT evaluation_id, version, name, bytes FROM eval_columns
          WHERE project_id = ${project} AND evaluation_id IN (${listOf([...versions.keys()])})
          AND version IN (${listOf([...new Set(versions.values())])}) AND name IN (${listOf(names)})`,
      signal,
    )
    for (const { evaluation_id, version, name, bytes } of rows) {
      if (versions.get(evaluation_id) === version) found.get(evaluation_id)?.set(name, bytes)
    }
  }
  return asked.every(({ set, names }) => found.get(set.evaluation_id)?.size === names.size)
    ? found
    : undefined
}

/** The columns that give the row and the shape of each trial. */
export function placeColumns({ trials, rows, shapes }: StoredHeader): string[] {
  return [
    ...(trials === rows ? [] : [columnNames.places]),
    ...(shapes.length > 1 ? [columnNames.shapes] : []),
  ]
}

/** All stored columns of an evaluation. */
export async function readKept(
  db: LongReader,
  project: string,
  { evaluation_id, version }: RowSet,
  signal: AbortSignal,
): Promise<{ header: StoredHeader; columns: Map<string, Uint8Array> } | undefined> {
  const rows = await allRows<{ name: string; bytes: Uint8Array }>(
    db,
    sql`SELECT name, bytes FROM eval_columns
        WHERE project_id = ${project} AND evaluation_id = ${evaluation_id} AND version = ${version}`,
    signal,
  )
  const columns = new Map(rows.map(({ name, bytes }) => [name, bytes]))
  const header = columns.get(headerName)
  if (header === undefined) return undefined
  return { header: headerOf(header), columns }
}
