import type { WithSharedTexts } from '../domain/json/text.ts'
import type { Watcher } from './changes.ts'
import type { Commands } from './commands.ts'
import type { LongReader } from './transaction.ts'

/** Those that answer whether there is more to do. */
type BehindCommands = {
  [Name in keyof Commands]: ReturnType<Commands[Name]> extends Promise<boolean> ? Name : never
}[keyof Commands]

/**
 * The record. Short reads (`get`, `all`) answer at once; long ones go through `stream`. Writes are named commands with
 * plain data in and out, because the writer may live in another thread.
 */
export interface Database extends LongReader {
  /** Resolves when the write is on disk. The input is used up. */
  write<Name extends keyof Commands>(
    name: Name,
    input: WithSharedTexts<Parameters<Commands[Name]>[1]>,
    tenant?: string,
  ): Promise<Awaited<ReturnType<Commands[Name]>>>
  /**
   * For work that can wait, and that a power cut may undo because it would be done again: runs the command while nobody
   * else writes, again and again as long as it answers true. Ends after a number of runs, then with true.
   */
  writeBehind<Name extends BehindCommands>(name: Name, input: Parameters<Commands[Name]>[1]): Promise<boolean>
  /** Hears of what is written from now on, also by other processes. Answers what ends it. */
  watch(watcher: Watcher): () => void
  /** Gives a little of the space that was freed back to the disk. Answers whether there is more to give. */
  reclaim(): Promise<boolean>
  /** Fails with a refusal when the store cannot read or cannot write. */
  probe(): Promise<void>
  /** Waits for running writes, flushes and closes. */
  close(): Promise<void>
}

/** The same record for the requests of one tenant. Without a name it is the server itself that reads and writes. */
export function databaseOf(tenant: string, db: Database): Database {
  return {
    ...db,
    all: (query) => db.all(query, tenant),
    get: (query) => db.get(query, tenant),
    write: (name, input) => db.write(name, input, tenant),
    stream: (query, options) => db.stream(query, { ...options, tenant }),
  }
}
