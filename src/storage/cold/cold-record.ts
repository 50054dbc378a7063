import { Refusal } from '../../domain/refusals.ts'
import type { Commands } from '../commands.ts'
import type { Database } from '../database.ts'
import { sql } from '../sql/sql.ts'
import type { LongReader } from '../transaction.ts'
import type { ThawedText } from './files.ts'
import { ownedStore } from './owner.ts'
import { createColdReading, damaged, MissingFile, unreadable } from './reading.ts'
import { coldColumns, isReference, parseReference, referencesIn } from './reference.ts'
import type { ColdStore } from './store.ts'

/** A write that reads cold calls is tried again with their texts in the record: at most so often while none gets there. */
const maxAttempts = 10

/** Blocks whose texts are in memory for rows of a stream that were not taken yet. */
const maxBlocksAtOnce = 4

/** How often a read is done again because a file was written anew meanwhile. */
const maxMoves = 3

/**
 * The same record, in which the texts of cold calls are in a store. Whoever reads rows gets the texts. A transaction must not
 * wait for the store: it is refused when it reads one of them, and tried again after they were put back into the record.
 */
export function coldRecord(bare: Database, anyStore: ColdStore | undefined): Database {
  const store = anyStore && ownedStore(bare, anyStore)
  const reading = createColdReading(store)

  async function put<T>(rows: readonly T[], signal?: AbortSignal): Promise<void> {
    const references = referencesIn(rows)
    if (references.size === 0) return
    const texts = await reading.texts(references, signal)
    for (const row of rows as readonly (Record<string, unknown> | undefined)[]) {
      for (const column of coldColumns) {
        const value = row?.[column]
        if (row !== undefined && isReference(value)) row[column] = texts.get(value)
      }
    }
  }

  /** A file that is gone was written anew, if the row has another reference when it is read again. */
  async function whole<T>(
    read: () => Promise<readonly T[]>,
    again: (rows: readonly T[]) => Promise<readonly T[]> = read,
    signal?: AbortSignal,
  ): Promise<readonly T[]> {
    let rows = await read()
    for (let moves = 1; ; moves++) {
      try {
        await put(rows, signal)
        return rows
      } catch (error) {
        if (!(error instanceof MissingFile)) throw error
        if (moves === maxMoves) throw damaged(error.message, error)
      }
      rows = await again(rows)
    }
  }

  /** Rows of a stream may be older than a cleaning or an erasure: with what their calls have now, which may be nothing. */
  async function renewed<T>(rows: readonly T[]): Promise<readonly T[]> {
    for (const row of rows as readonly Record<string, unknown>[]) {
      const { project_id, id } = row
      if (referencesIn([row]).size === 0 || typeof project_id !== 'string') continue
      const call = await bare.get<Record<string, unknown>>(
        sql`SELECT inputs, output FROM calls WHERE project_id = ${project_id} AND id = ${String(id)}`,
      )
      for (const column of coldColumns) if (isReference(row[column])) row[column] = call?.[column] ?? null
    }
    return rows
  }

  /** Returns how many are in the record now that were not. */
  async function thaw(texts: readonly string[]): Promise<number> {
    const thawed = new Map<string, ThawedText[]>()
    for (const text of texts) {
      const reference = parseReference(text)
      if (reference === undefined) throw unreadable(text)
      try {
        const { project, entries, textOf } = await reading.blockOf(reference)
        const of = entries[reference.entry]
        if (of === undefined) throw new Error('the block has no such entry')
        const own = thawed.get(project) ?? []
        thawed.set(project, own)
        own.push({ ...of, reference: text, text: textOf(reference.entry) })
      } catch (error) {
        // Of a missing file the next attempt reads the new reference.
        if (error instanceof MissingFile) continue
        throw error instanceof Refusal ? error : damaged(reference.file, error)
      }
    }
    let done = 0
    for (const [project_id, own] of thawed) done += await bare.write('thawCalls', { project_id, texts: own })
    return done
  }

  async function thawing<T>(write: () => Promise<T>): Promise<T> {
    for (let attempts = 0; ; ) {
      try {
        return await write()
      } catch (error) {
        if (!(error instanceof Refusal) || error.code !== 'cold_call_in_write') throw error
        const references = String(error.values.references).split('\n')
        if (attempts === maxAttempts) throw unreadable(references[0] as string)
        // A write may read any number of calls, one after the other.
        const thawed = await thaw(references)
        attempts = thawed > 0 ? 0 : attempts + 1
      }
    }
  }

  return {
    ...bare,
    cold: { bare, store, reading, thaw },
    all: async <T>(...question: Parameters<Database['all']>) =>
      (await whole<T>(() => bare.all<T>(...question))) as T[],
    get: async <T>(...question: Parameters<Database['get']>) =>
      (await whole<T | undefined>(async () => [await bare.get<T>(...question)]))[0],
    async *stream<T>(...[query, options]: Parameters<LongReader['stream']>) {
      for await (const rows of bare.stream<T>(query, options)) {
        for (const some of options.asStored ? [rows] : ofFewBlocks(rows)) {
          if (options.asStored) yield rows
          else yield (await whole(async () => some, renewed, options.signal)) as T[]
        }
      }
    },
    write: <Name extends keyof Commands>(...[name, input, tenant]: Parameters<typeof bare.write<Name>>) =>
      thawing(() => bare.write(name, input, tenant)),
    writeInBackground: (name, input) => thawing(() => bare.writeInBackground(name, input)),
  }
}

/** The same rows in pieces, so that little is in memory for a slow reader. */
function* ofFewBlocks<T>(rows: T[]): Generator<T[]> {
  if (!rows.some((row) => referencesIn([row]).size > 0)) return yield rows
  let some: T[] = []
  let blocks = new Set<string>()
  for (const row of rows) {
    for (const text of referencesIn([row])) blocks.add(text.slice(0, text.lastIndexOf(':')))
    if (blocks.size > maxBlocksAtOnce && some.length > 0) {
      yield some
      some = []
      blocks = new Set()
    }
    some.push(row)
  }
  if (some.length > 0) yield some
}
