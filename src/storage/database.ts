import type { Commands } from './commands.ts'
import type { Sql } from './sql/sql.ts'
import type { Reader } from './transaction.ts'

export interface StreamOptions {
  /** When it aborts, the query is stopped in the middle. */
  signal: AbortSignal
  /** Rows that are fetched at a time; no more than this waits for a slow reader. */
  rows?: number
}

/**
 * The record. Short reads (`get`, `all`) answer at once; long ones go through `stream`, which never blocks the loop.
 * Writes are named commands with plain data in and out, because the writer may live in another thread.
 */
/** Those that answer whether there is more to do. */
type BehindCommands = {
  [Name in keyof Commands]: ReturnType<Commands[Name]> extends Promise<boolean> ? Name : never
}[keyof Commands]

export interface Database extends Reader {
  /** Resolves when the write is on disk. */
  write<Name extends keyof Commands>(
    name: Name,
    input: Parameters<Commands[Name]>[1],
  ): Promise<Awaited<ReturnType<Commands[Name]>>>
  /**
   * For work that can wait, and may be undone by a power cut because it would be done again: runs the command while nobody
   * else writes, again and again as long as it answers true. Answers what it answered last, which may be true after a while.
   */
  writeBehind<Name extends BehindCommands>(name: Name, input: Parameters<Commands[Name]>[1]): Promise<boolean>
  /** Chunks of rows. Ending the loop early gives everything back. */
  stream<T>(query: Sql, options: StreamOptions): AsyncIterable<T[]>
  /** Gives a little of the space that was freed back to the disk. Answers whether there is more to give. */
  reclaim(): Promise<boolean>
  /** Fails with a refusal when the store cannot read or cannot write. */
  probe(): Promise<void>
  /** Waits for running writes, flushes and closes. */
  close(): Promise<void>
}
