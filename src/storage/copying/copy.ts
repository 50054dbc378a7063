import type { Database } from '../database.ts'
import { StorageRefusal } from '../failures.ts'
import { projectTables } from '../projects/tables.ts'
import { rawSql, type SqlValue, sql } from '../sql/sql.ts'
import type { LongReader } from '../transaction.ts'
import { unfinishedCopy } from './incomplete-copy.ts'
import { type Contents, contentsOf, lastKey, rowsOf } from './row-reads.ts'
import { type StoredTable, tablesInBoth } from './stored-tables.ts'

interface CopyOptions {
  /** A description of the source; a copy can be resumed only from the same source. */
  from: string
  signal: AbortSignal
  /** Called for each table once it is the same in both records. */
  report: (table: string, rows: number) => void
}

/** A transaction ends when it reaches this many bytes; a single row may be larger. */
const bytesOfWrite = 1 << 20

const rowsToClear = 1_000

/**
 * Copies every row into an empty record, or into one with part of the same copy. A table counts as copied when both
 * sides have the same number of rows with the same hashes; a table that was written to in between is copied again.
 */
export async function copyRecord(
  source: LongReader,
  target: Database,
  { from, signal, report }: CopyOptions,
): Promise<number> {
  const tables = await tablesInBoth(source, target)
  await claim(target, from)
  let sum = 0
  for (const table of tables) {
    await copyTable(source, target, table, signal)
    let there = await compare(source, target, table, signal)
    if (there === undefined) {
      while ((await target.write('clearRows', { table, most: rowsToClear })) > 0) signal.throwIfAborted()
      await copyTable(source, target, table, signal)
      there = await compare(source, target, table, signal)
    }
    if (there === undefined) throw changedMeanwhile(table.name)
    report(table.name, there.rows)
    sum += there.rows
  }
  await target.write('endCopy', {})
  return sum
}

async function claim(target: Database, from: string): Promise<void> {
  const begun = await unfinishedCopy(target)
  if (begun === from) return
  if (begun !== undefined) {
    throw new StorageRefusal('foreign', `The target is part of a copy of ${begun}, not of ${from}.`)
  }
  for (const table of ['users', ...projectTables.map(({ table }) => table)]) {
    if ((await target.get(sql`SELECT 1 AS one FROM ${rawSql(table)} LIMIT 1`)) === undefined) continue
    throw new StorageRefusal(
      'foreign',
      `The target already has a record: its table ${table} has rows. A copy needs an empty record.`,
    )
  }
  await target.write('beginCopy', { from })
}

async function copyTable(
  source: LongReader,
  target: Database,
  table: StoredTable,
  signal: AbortSignal,
): Promise<void> {
  let rows: SqlValue[][] = []
  let bytes = 0
  const flush = async () => {
    if (rows.length > 0) await target.write('copyRows', { table, rows })
    rows = []
    bytes = 0
  }
  for await (const some of rowsOf(source, table, await lastKey(target, table), signal)) {
    for (const row of some) {
      rows.push(row)
      for (const value of row) bytes += sizeOf(value)
      if (bytes >= bytesOfWrite) await flush()
    }
  }
  await flush()
}

function sizeOf(value: SqlValue): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 8
}

/** Undefined when they differ. */
async function compare(
  source: LongReader,
  target: Database,
  table: StoredTable,
  signal: AbortSignal,
): Promise<Contents | undefined> {
  const [here, there] = await Promise.all([
    contentsOf(source, table, signal),
    contentsOf(target, table, signal),
  ])
  return here.rows === there.rows && here.digest === there.digest ? there : undefined
}

function changedMeanwhile(table: string): StorageRefusal {
  return new StorageRefusal(
    'locked',
    `${table} changed while it was copied. Stop the servers of both records and run the command again: it continues where it stopped.`,
  )
}
