import { createHash } from 'node:crypto'
import { join, nothing, type SqlValue, sql, trusted } from '../sql/sql.ts'
import type { LongReader } from '../transaction.ts'
import type { StoredTable } from './stored-tables.ts'

/** A query reads no more rows than this, so that none runs into the time that a query may take. */
const rowsOfQuery = 2_000
/** What is in memory at a time: a row may have megabytes. */
const rowsAtOnce = 50

type Row = Record<string, SqlValue>

const quoted = (columns: readonly string[]) => trusted(columns.map((column) => `"${column}"`).join(', '))

/** The rows of a table in the order of its key, those behind `after`, in pieces. */
export async function* rowsOf(
  db: LongReader,
  { name, columns, key }: StoredTable,
  after: SqlValue[] | undefined,
  signal: AbortSignal,
): AsyncGenerator<SqlValue[][]> {
  const order = quoted(key)
  for (let at = after; ; ) {
    const behind = at ? sql`WHERE (${order}) > (${join(at, ', ')})` : nothing
    const query = sql`SELECT ${quoted(columns)} FROM ${trusted(`"${name}"`)} ${behind} ORDER BY ${order} LIMIT ${rowsOfQuery}`
    let read = 0
    for await (const rows of db.stream<Row>(query, { signal, rows: rowsAtOnce })) {
      read += rows.length
      const last = rows.at(-1)
      if (last) at = key.map((column) => last[column] as SqlValue)
      yield rows.map((row) => columns.map((column) => row[column] as SqlValue))
    }
    if (read < rowsOfQuery) return
  }
}

export async function lastKey(db: LongReader, { name, key }: StoredTable): Promise<SqlValue[] | undefined> {
  const backwards = trusted(key.map((column) => `"${column}" DESC`).join(', '))
  const row = await db.get<Row>(
    sql`SELECT ${quoted(key)} FROM ${trusted(`"${name}"`)} ORDER BY ${backwards} LIMIT 1`,
  )
  return row && key.map((column) => row[column] as SqlValue)
}

export interface Contents {
  rows: number
  /** Of what the rows say, whatever their order: the sum of their hashes. */
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

/** Lengths and kinds are part of what is hashed, so that no two rows are read alike. */
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
