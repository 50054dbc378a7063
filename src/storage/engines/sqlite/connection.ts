import Sqlite, { SqliteError } from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import { isPresent, textOfJson, valueAt } from '../../../domain/expressions/json-value.ts'
import { decimalText, type Exact, parseNumber } from '../../../domain/expressions/numbers.ts'
import { foldCase } from '../../../domain/text.ts'
import { formatTime } from '../../../domain/time.ts'
import { storageFailure } from '../../failures.ts'
import type { Sql } from '../../sql/sql.ts'
import { openFailure, sqliteFailure } from './failures.ts'
import { registerRowCondition } from './row-condition.ts'
import { registerStringSearch } from './string-search.ts'

export type { Database as SqliteHandle } from 'better-sqlite3'

/** Prepared statements cached per connection. Texts depend only on the shape of a query, so there are few. */
const statementLimit = 500

/** How long to wait for another process that writes, such as `heddle user add` while a server is running. */
const busyTimeoutMs = 5_000

export interface Connection {
  readonly handle: Sqlite.Database
  prepare(query: Sql): Sqlite.Statement<unknown[]>
  all<T>(query: Sql): T[]
  get<T>(query: Sql): T | undefined
  run(query: Sql): number
  close(): void
}

/** `throwIfCancelled` is called for each row of a long query; it throws to stop one. */
export function connect(
  file: string,
  access: 'write' | 'read',
  throwIfCancelled: () => void = () => {},
): Connection {
  let handle: Sqlite.Database
  try {
    handle = new Sqlite(file, { timeout: busyTimeoutMs })
    handle.pragma('busy_timeout = 5000')
    if (access === 'write') {
      // Must be set before the first table is created. Allows freed pages to be returned to the disk in small steps.
      // Setting it on an existing file would make SQLite write it again.
      if (handle.pragma('page_count', { simple: true }) === 0) handle.pragma('auto_vacuum = INCREMENTAL')
      handle.pragma('journal_mode = WAL')
      handle.pragma('foreign_keys = ON')
      // What is deleted is overwritten in the pages that are written anyway. Whole pages that become free are not: see
      // overwriting and scrub.
      handle.pragma('secure_delete = FAST')
      // Without FULL a power cut loses the last commits of a WAL, https://www.sqlite.org/pragma.html#pragma_synchronous
      handle.pragma('synchronous = FULL')
      handle.pragma('journal_size_limit = 67108864')
      // In pages. A separate thread empties the log before it grows to this size: see log.ts.
      handle.pragma('wal_autocheckpoint = 8000')
    }
    handle.pragma('cache_size = -16384')
    // What a query sorts can be as large as the record: beyond the cache it goes to a file.
    handle.pragma(`temp_store = ${access === 'write' ? 'MEMORY' : 'FILE'}`)
    // Shows the words of the index of words, and has no rows of its own.
    handle.exec('CREATE VIRTUAL TABLE temp.search_vocabulary USING fts5vocab (main, search_words, instance)')
    if (access === 'read') handle.pragma('query_only = ON')
  } catch (error) {
    throw openFailure(file, error)
  }
  registerFunctions(handle, throwIfCancelled)
  handle.function('heddle_damaged', { deterministic: false, directOnly: true }, () => {
    throw storageFailure('storage_corrupt', new Error('a stored text is not JSON'))
  })
  handle.function('heddle_going', { deterministic: false }, () => {
    throwIfCancelled()
    return 1
  })

  const statements = new LRUCache<string, Sqlite.Statement<unknown[]>>({ max: statementLimit })
  function prepare(query: Sql): Sqlite.Statement<unknown[]> {
    let statement = statements.get(query.text)
    if (statement === undefined) {
      statement = handle.prepare<unknown[]>(plannedOnce(query.text))
      statements.set(query.text, statement)
    }
    return statement
  }
  function guarded<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw sqliteFailure(error)
    }
  }
  return {
    handle,
    prepare,
    all: <T>(query: Sql) => guarded(() => prepare(query).all(query.values) as T[]),
    get: <T>(query: Sql) => guarded(() => prepare(query).get(query.values) as T | undefined),
    run: (query) => guarded(() => prepare(query).run(query.values).changes),
    close: () => handle.close(),
  }
}

/**
 * When SQLite plans a comparison with `=` or IS it looks at the bound value, and so plans the statement anew on each
 * execution: 10 us, where the search itself takes one. Behind a unary plus the planner does not see the value, which is
 * otherwise unchanged.
 */
const plannedOnce = (text: string): string => text.replaceAll(/(=|\bIS) \?/g, '$1 +?')

/**
 * Truncates up to this many free pages from the end of the file. Returns whether it had an effect and more are left.
 */
export function reclaimPages({ handle }: Connection, pages: number): boolean {
  const free = () => handle.pragma('freelist_count', { simple: true }) as number
  try {
    const before = free()
    if (before === 0) return false
    handle.pragma(`incremental_vacuum(${pages})`)
    const after = free()
    return after > 0 && after < before
  } catch {
    // Locked or full: nothing depends on this, and the next sweep tries again.
    return false
  }
}

/** Runs what also overwrites the pages that it frees. */
export async function overwriting<T>({ handle }: Connection, run: () => Promise<T>): Promise<T> {
  handle.pragma('secure_delete = ON')
  try {
    return await run()
  } finally {
    handle.pragma('secure_delete = FAST')
  }
}

/** Leaves no free page in the file, and no page in its log, a step at a time. It waits for no reader of the log. */
export function scrub(connection: Connection, pages: number): 'clean' | 'freed' | 'blocked' {
  const { handle } = connection
  if (reclaimPages(connection, pages)) return 'freed'
  const hasFreePages = (handle.pragma('freelist_count', { simple: true }) as number) > 0
  handle.pragma('busy_timeout = 0')
  try {
    const [{ busy }] = handle.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }]
    return busy > 0 || hasFreePages ? 'blocked' : 'clean'
  } catch (error) {
    if (error instanceof SqliteError) return 'blocked'
    throw error
  } finally {
    handle.pragma(`busy_timeout = ${busyTimeoutMs}`)
  }
}

/**
 * Functions that SQLite lacks. The dialect calls these for the rare rows that need them, never for every row. `throwIfCancelled`
 * is called while a condition on one row is evaluated; it throws to stop that.
 */
export function registerFunctions(db: Sqlite.Database, throwIfCancelled: () => void): void {
  const pure = { deterministic: true, directOnly: true }
  const ofText = (call: (text: string) => string | Exact | null) => (text: unknown) =>
    typeof text === 'string' ? call(text) : null

  db.function('heddle_json_text', pure, ofText(textOfJson))
  db.function(
    'heddle_json_number',
    pure,
    ofText((json) => parseNumber(textOfJson(json))),
  )
  db.function('heddle_number', pure, ofText(parseNumber))
  db.function('heddle_lower', pure, ofText(foldCase))
  db.function('heddle_decimal', pure, (value: unknown) =>
    typeof value === 'number' ? decimalText(value) : null,
  )
  db.function('heddle_time', pure, (time: unknown) => (typeof time === 'number' ? formatTime(time) : null))

  const ofValueAt =
    (call: (json: string | undefined) => string | Exact | null) => (json: unknown, path: unknown) =>
      call(typeof json === 'string' ? valueAt(json, JSON.parse(path as string) as string[]) : undefined)
  db.function('heddle_text_at', pure, ofValueAt(textOfJson))
  db.function(
    'heddle_number_at',
    pure,
    ofValueAt((json) => parseNumber(textOfJson(json))),
  )
  db.function(
    'heddle_exists_at',
    pure,
    ofValueAt((json) => Number(isPresent(json))),
  )

  registerRowCondition(db, throwIfCancelled)
  registerStringSearch(db, throwIfCancelled)
}
