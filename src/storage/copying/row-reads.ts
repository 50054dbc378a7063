import { createHash } from 'node:crypto'
import { emptySql, join, rawSql, type SqlValue, sql } from '../sql/sql.ts'
import type { LongReader } from '../transaction.ts'
import type { StoredTable } from './stored-tables.ts'

/** The most rows of one query, so that none reaches the query time limit. */
const rowsOfQuery = 2_000
/** Rows in memory at a time: a single row may be megabytes. */
const rowsAtOnce = 50

type Row = Record<string, SqlValue>

const quoted = (columns: readonly string[]) => rawSql(columns.map((column) => `"${column}"`).join(', '))

/** The rows of a table in key order, starting after `after`, in batches. */
export async function* rowsOf(
  db: LongReader,
  { name, columns, key }: StoredTable,
  after: SqlValue[] | undefined,
  signal: AbortSignal,
): AsyncGenerator<SqlValue[][]> {
  const order = quoted(key)
  for (let at = after; ; ) {
    const behind = at ? sql`WHERE (${order}) > (${join(at, ', ')})` : emptySql
    const query = sql`SELECT ${quoted(columns)} FROM ${rawSql(`"${name}"`)} ${behind} ORDER BY ${order} LIMIT ${rowsOfQuery}`
    let read = 0
    for await (const rows of db.stream<Row>(query, { signal, rows: rowsAtOnce, asStored: true })) {
      read += rows.length
      const last = rows.at(-1)
      if (last) at = key.map((column) => last[column] as SqlValue)
      yield rows.map((row) => columns.map((column) => row[column] as SqlValue))
    }
    if (read < rowsOfQuery) return
  }
}

export async function lastKey(db: LongReader, { name, key }: StoredTable): Promise<SqlValue[] | undefined> {
  const backwards = rawSql(key.map((column) => `"${column}" DESC`).join(', '))
  const row = await db.get<Row>(
    sql`SELECT ${quoted(key)} FROM ${rawSql(`"${name}"`)} ORDER BY ${backwards} LIMIT 1`,
  )
  return row && key.map((column) => row[column] as SqlValue)
}

export interface Contents {
  rows: number
  /** The sum of the rows' hashes, which does not depend on their order. */
  digest: bigint
}

export async function contentsOf(db: LongReader, table: StoredTable, signal: AbortSignal): Promise<Contents> {
  let rows = 0
  let digest = 0n
  for await (const some of rowsOf(db, table, undefined, signal)) {
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
