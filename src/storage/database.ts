import type { WithSharedTexts } from '../domain/json/text.ts'
import type { Watcher } from './changes.ts'
import type { ColdReading } from './cold/reading.ts'
import type { OwnedStore } from './cold/store.ts'
import type { Commands } from './commands.ts'
import type { BoundReader, LongReader } from './transaction.ts'

/** Commands that return whether there is more to do. */
type BackgroundCommands = {
  [Name in keyof Commands]: ReturnType<Commands[Name]> extends Promise<boolean> ? Name : never
}[keyof Commands]

/**
 * The record. Short reads use `get` and `all`, which return at once; long reads use `stream`. Writes are named commands
 * with plain data in and out, because the writer may run in another thread.
 */
export interface Database extends LongReader {
  /** Where the texts of old calls are. */
  readonly cold?: ColdTexts
  /** Resolves when the write is on disk. The input must not be used afterwards. */
  write<Name extends keyof Commands>(
    name: Name,
    input: WithSharedTexts<Parameters<Commands[Name]>[1]>,
    tenant?: string,
  ): Promise<Awaited<ReturnType<Commands[Name]>>>
  /**
   * For work that can wait and that a power cut may undo, because it would be done again. Runs the command while
   * nothing else writes, repeatedly as long as it returns true. Stops after a fixed number of runs and then resolves to
   * true.
   */
  writeInBackground<Name extends BackgroundCommands>(
    name: Name,
    input: Parameters<Commands[Name]>[1],
  ): Promise<boolean>
  /**
   * Calls the watcher for all writes from now on, also those of other processes. Returns a function that ends the
   * watch.
   */
  watch(watcher: Watcher): () => void
  /** Returns some freed space to the disk. Resolves to whether there is more. */
  reclaim(): Promise<boolean>
  /**
   * Takes a step to leave nothing of what was deleted in the files of the record, as far as this server decides that. A
   * reader, or a file that keeps its free pages, blocks it.
   */
  scrub(): Promise<'clean' | 'freed' | 'blocked'>
  /** Of a database server: connections that work is done on, how many there may be, and work that waits for one. */
  connections?(): Record<'used' | 'bound' | 'waiting', number>
  /** Fails with a refusal if the store cannot be read or written. */
  probe(): Promise<void>
  /** Waits for running writes, flushes, and closes. */
  close(): Promise<void>
}

/** The record, used for one piece of work. */
export type BoundDatabase = Database & BoundReader

interface ColdTexts {
  /** The same record without the texts: rows have references. */
  bare: Database
  store: OwnedStore | undefined
  reading: ColdReading
  /** Puts these texts back into the record, where their references still are. Returns how many there were. */
  thaw(references: readonly string[]): Promise<number>
}

/** The same record, used on behalf of one tenant. Without a name, the server itself reads and writes. */
export function databaseOf(tenant: string, db: Database): Database {
  return {
    ...db,
    all: (query) => db.all(query, tenant),
    get: (query) => db.get(query, tenant),
    write: (name, input) => db.write(name, input, tenant),
    stream: (query, options) => db.stream(query, { ...options, tenant }),
  }
}
