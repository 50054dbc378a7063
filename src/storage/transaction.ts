import type { Change } from './changes.ts'
import type { Dialect } from './sql/dialect.ts'
import { join, type Sql, sql } from './sql/sql.ts'

/** Reads that return at once. `tenant` is the one whose request reads; if reads have to wait, tenants take turns. */
export interface Reader {
  readonly dialect: Dialect
  all<T>(query: Sql, tenant?: string): Promise<T[]>
  get<T>(query: Sql, tenant?: string): Promise<T | undefined>
}

export interface StreamOptions {
  /** When it aborts, the running query is interrupted. */
  signal: AbortSignal
  tenant?: string
  /** Rows fetched at a time; no more than this is buffered for a slow reader. */
  rows?: number
  /** References instead of the texts of cold calls: see cold/cold-record.ts. */
  asStored?: true
}

/** A reader that also runs long queries, without blocking the event loop. */
export interface LongReader extends Reader {
  /** Yields chunks of rows. Leaving the loop early releases everything. */
  stream<T>(query: Sql, options: StreamOptions): AsyncIterable<T[]>
}

/** A reader for one piece of work: its long queries end when nobody wants the result any more. */
export interface BoundReader extends LongReader {
  /** Aborts when the work is abandoned. */
  readonly signal: AbortSignal
  stream<T>(query: Sql, options?: Partial<StreamOptions>): AsyncIterable<T[]>
}

/** The same reader for work that is abandoned when the signal aborts. A function is called when it is first needed. */
export function boundTo<Db extends LongReader>(
  db: Db,
  signal: AbortSignal | (() => AbortSignal),
): Db & BoundReader {
  let created = typeof signal === 'function' ? undefined : signal
  const bound = {
    ...db,
    stream: <T>(query: Sql, options: Partial<StreamOptions> = {}) =>
      db.stream<T>(query, { ...options, signal: options.signal ?? bound.signal }),
  } as Db & BoundReader
  // Not enumerable, so that a copy does not create it.
  return Object.defineProperty(bound, 'signal', {
    get() {
      created ??= (signal as () => AbortSignal)()
      return created
    },
  })
}

/** The only row of a long query, such as a count. */
export async function onlyRow<T>(db: BoundReader, query: Sql): Promise<T> {
  for await (const [row] of db.stream<T>(query)) if (row !== undefined) return row
  throw new Error('the query should return one row')
}

/** Of `table WHERE …`. */
export const countOf = async (db: Reader, rows: Sql): Promise<number> =>
  Number((await db.get<{ count: number }>(sql`SELECT count(*) AS count FROM ${rows}`))?.count)

/** Whether one of these has rows, each of them `table WHERE …`. */
export async function hasRows(db: Reader, ...rows: Sql[]): Promise<boolean> {
  const any = rows.map((own) => sql`EXISTS (SELECT 1 FROM ${own})`)
  return (await db.get(sql`SELECT 1 AS one WHERE ${join(any, ' OR ')}`)) !== undefined
}

/** All rows of a long query that returns few. */
export async function allRows<T>(db: BoundReader, query: Sql): Promise<T[]> {
  const all: T[] = []
  for await (const rows of db.stream<T>(query, { rows: 1000 })) for (const row of rows) all.push(row)
  return all
}

/** Reads and writes that take effect together. A command awaits nothing but its transaction. */
export interface Transaction extends Reader {
  /** Stands for the open record: commands keep by it what they remember between transactions. */
  readonly record: object
  /** Returns the number of changed rows. */
  run(query: Sql): Promise<number>
  /** Commands that read before they write take this lock first; an engine with a single writer does nothing here. */
  lock(key: string): Promise<void>
  /**
   * Waits for the holder of this lock, and blocks others that want it for themselves. Others that share it are not
   * blocked.
   */
  lockShared(key: string): Promise<void>
  /**
   * Whether nothing else is doing this work now, in any process. If so, it is reserved until the transaction ends,
   * however it ends.
   */
  tryLock(work: string): Promise<boolean>
  /** Reports a change to the watchers of the record, after the commit. */
  changed(change: Change): void
}

export type Command<Input, Output> = (tx: Transaction, input: Input) => Promise<Output>
