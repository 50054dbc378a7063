import type { Change } from './changes.ts'
import type { Dialect } from './sql/dialect.ts'
import type { Sql } from './sql/sql.ts'

/** Reads that answer at once. `tenant` is whose request reads: where reads have to wait, tenants take turns. */
export interface Reader {
  readonly dialect: Dialect
  all<T>(query: Sql, tenant?: string): Promise<T[]>
  get<T>(query: Sql, tenant?: string): Promise<T | undefined>
}

export interface StreamOptions {
  /** When it aborts, the query is stopped in the middle. */
  signal: AbortSignal
  tenant?: string
  /** Rows that are fetched at a time; no more than this waits for a slow reader. */
  rows?: number
}

/** A reader that also takes queries that may be long, without blocking the event loop. */
export interface LongReader extends Reader {
  /** Chunks of rows. Ending the loop early gives everything back. */
  stream<T>(query: Sql, options: StreamOptions): AsyncIterable<T[]>
}

/** The one row of a long query, such as a count. */
export async function onlyRow<T>(db: LongReader, query: Sql, signal: AbortSignal): Promise<T> {
  for await (const [row] of db.stream<T>(query, { signal })) if (row !== undefined) return row
  throw new Error('the query should answer one row')
}

/** All rows of a long query, of which there are few. */
export async function allRows<T>(db: LongReader, query: Sql, signal: AbortSignal): Promise<T[]> {
  const all: T[] = []
  for await (const rows of db.stream<T>(query, { signal, rows: 1000 })) for (const row of rows) all.push(row)
  return all
}

/** Reads and writes that become true together. A command awaits its transaction and nothing else. */
export interface Transaction extends Reader {
  /** Answers how many rows it changed. */
  run(query: Sql): Promise<number>
  /** Commands that read first and write then take turns by this key; an engine with one writer has nothing to do here. */
  turn(key: string): Promise<void>
  /** Waits for whoever has the turn of this key, and whoever wants that turn waits; others that share it do not wait. */
  share(key: string): Promise<void>
  /** Whether nobody else does this work at the moment, in any process. It is ours then until the transaction ends, however it ends. */
  alone(work: string): Promise<boolean>
  /** Those who watch the record hear of it behind the commit. */
  changed(change: Change): void
}

export type Command<Input, Output> = (tx: Transaction, input: Input) => Promise<Output>
