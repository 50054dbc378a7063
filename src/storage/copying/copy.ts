import { createHash } from 'node:crypto'
import type { Database } from '../database.ts'
import { StorageRefusal } from '../failures.ts'
import { projectTables } from '../projects/tables.ts'
import { emptySql, join, rawSql, type SqlValue, sql } from '../sql/sql.ts'
import { type BoundReader, boundTo, type LongReader } from '../transaction.ts'
import { unfinishedCopy } from './incomplete-copy.ts'
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
  for await (const some of rowsOf(boundTo(source, signal), table, await lastKey(target, table))) {
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
    contentsOf(boundTo(source, signal), table),
    contentsOf(boundTo(target, signal), table),
  ])
  return here.rows === there.rows && here.digest === there.digest ? there : undefined
}

function changedMeanwhile(table: string): StorageRefusal {
  return new StorageRefusal(
    'locked',
    `${table} changed while it was copied. Stop the servers of both records and run the command again: it continues where it stopped.`,
  )
}

/** The most rows of one query, so that none reaches the query time limit. */
const rowsOfQuery = 2_000
/** Rows in memory at a time: a single row may be megabytes. */
const rowsAtOnce = 50

type Row = Record<string, SqlValue>

const quoted = (columns: readonly string[]) => rawSql(columns.map((column) => `"${column}"`).join(', '))

/** The rows of a table in key order, starting after `after`, in batches. */
async function* rowsOf(
  db: BoundReader,
  { name, columns, key }: StoredTable,
  after: SqlValue[] | undefined,
): AsyncGenerator<SqlValue[][]> {
  const order = quoted(key)
  for (let at = after; ; ) {
    const behind = at ? sql`WHERE (${order}) > (${join(at, ', ')})` : emptySql
    const query = sql`SELECT ${quoted(columns)} FROM ${rawSql(`"${name}"`)} ${behind} ORDER BY ${order} LIMIT ${rowsOfQuery}`
    let read = 0
    for await (const rows of db.stream<Row>(query, { rows: rowsAtOnce, asStored: true })) {
      read += rows.length
      const last = rows.at(-1)
      if (last) at = key.map((column) => last[column] as SqlValue)
      yield rows.map((row) => columns.map((column) => row[column] as SqlValue))
    }
    if (read < rowsOfQuery) return
  }
}

async function lastKey(db: LongReader, { name, key }: StoredTable): Promise<SqlValue[] | undefined> {
  const backwards = rawSql(key.map((column) => `"${column}" DESC`).join(', '))
  const row = await db.get<Row>(
    sql`SELECT ${quoted(key)} FROM ${rawSql(`"${name}"`)} ORDER BY ${backwards} LIMIT 1`,
  )
  return row && key.map((column) => row[column] as SqlValue)
}

interface Contents {
  rows: number
  /** The sum of the rows' hashes, which does not depend on their order. */
  digest: bigint
}

async function contentsOf(db: BoundReader, table: StoredTable): Promise<Contents> {
  let rows = 0
  let digest = 0n
  for await (const some of rowsOf(db, table, undefined)) {
    rows += some.length
    for (const row of some) digest = BigInt.asUintN(256, digest + hashOf(row))
  }
  return { rows, digest }
}

/** Lengths and types are hashed too, so that different rows never serialise to the same bytes. */
function hashOf(row: readonly SqlValue[]): bigint {
  const hash = createHash('sha256')
  for (const value of row) {
    if (value === null) hash.update('null;')
    else if (value instanceof Uint8Array) hash.update(`bytes ${value.length};`).update(value)
    else if (typeof value === 'string') hash.update(`text ${Buffer.byteLength(value)};`).update(value)
    else hash.update(`number ${value};`)
  }
  return BigInt(`0x${hash.digest('hex')}`)
}
