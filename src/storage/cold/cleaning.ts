import { setTimeout } from 'node:timers/promises'
import { refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { BoundDatabase, Database } from '../database.ts'
import { emptySql, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, boundTo } from '../transaction.ts'
import { type Block, isWhole, readBlock } from './blocks.ts'
import { abandonedAfter, type FileOfProject, hasColdFiles } from './files.ts'
import { type ColdRecord, knownOf, readTexts, writeFile } from './moving.ts'
import { damaged } from './reading.ts'
import { isReference, parseReference } from './reference.ts'

/** How long readers that have a reference may still read the file that it names, in microseconds. */
const readersLeft = 600_000_000

/** An upload takes no longer, in microseconds: see s3.ts. */
const maxWrite = 45_000_000

/** Of files that others move calls to meanwhile. */
const maxAttempts = 100
const pauseMs = 50

/** Marked files that are written anew in turn. */
export const maxFilesAtOnce = 100

interface Cleaning {
  now: number
  /** Nothing of it may be left when this is done, whoever reads. */
  atOnce: boolean
}

interface StoredFile {
  from_at: number
  until_at: number
  call_ids: string
}

/** Files with marks, of one project or of all; those whose references are being written only if nothing may be left. */
function markedFiles(
  db: BoundDatabase,
  project: string | undefined,
  { now, atOnce }: Cleaning,
): Promise<FileOfProject[]> {
  const isDue = atOnce
    ? rawSql('1 = 1')
    : sql`(marks.call_id <> '' OR files.id IS NULL OR files.created_at <= ${now - abandonedAfter})`
  const ofProject = project === undefined ? emptySql : sql`marks.project_id = ${project} AND`
  return allRows<FileOfProject>(
    db,
    sql`SELECT DISTINCT marks.project_id AS project_id, marks.file_id AS id FROM cold_marks AS marks
        LEFT JOIN cold_files AS files ON files.project_id = marks.project_id AND files.id = marks.file_id
        WHERE ${ofProject} ${isDue}
        ORDER BY 1, 2 LIMIT ${rawSql(String(maxFilesAtOnce))}`,
  )
}

/** Writes marked files anew without what nothing refers to. Returns how many were. */
export async function cleanSome(
  record: ColdRecord,
  project: string | undefined,
  cleaning: Cleaning,
  signal: AbortSignal,
): Promise<number> {
  let dropped = 0
  const failures: unknown[] = []
  for (const file of await markedFiles(boundTo(record.bare, signal), project, cleaning)) {
    signal.throwIfAborted()
    // The others do not wait for one that is damaged.
    const isDropped = await cleanFile(record, file, cleaning, signal).catch(
      (error) => void failures.push(error),
    )
    if (isDropped) dropped++
  }
  if (failures.length > 0) throw failures[0]
  return dropped
}

/** False if calls refer to it again: the next attempt finds them. */
async function cleanFile(
  record: ColdRecord,
  file: FileOfProject,
  { now, atOnce }: Cleaning,
  signal: AbortSignal,
): Promise<boolean> {
  const { bare: db, store } = record
  const { project_id, id } = file
  const row = await db.get<StoredFile>(
    sql`SELECT from_at, until_at, call_ids FROM cold_files WHERE project_id = ${project_id} AND id = ${id}`,
  )
  const calls = row === undefined ? [] : (JSON.parse(row.call_ids) as string[])
  const live = await liveTexts(boundTo(db, signal), file, calls)
  if (live.length > 0 && row !== undefined) {
    const size = live.reduce((end, { reference: { offset, length } }) => Math.max(end, offset + length), 0)
    const bytes = await store.read(id, 0, size, signal)
    if (bytes === undefined) {
      // Another server has written it anew, or its calls are gone.
      if ((await liveTexts(boundTo(db, signal), file, calls)).length < live.length) return false
      throw damaged(id, new Error(`${id} is not in ${store.address}`))
    }
    const blocks = new Map<number, Block>()
    const texts = []
    for (const { call, column, before, reference } of live) {
      const { offset, length, entry } = reference
      try {
        const block = blocks.get(offset) ?? (await readBlock(id, bytes.subarray(offset, offset + length)))
        blocks.set(offset, block)
        const own = { call, column, text: block.textOf(entry) }
        texts.push({ ...own, before, preview: null, users: knownOf(own)?.users ?? [] })
      } catch (error) {
        throw damaged(id, error)
      }
    }
    await writeFile(record, project_id, texts, [Number(row.from_at), Number(row.until_at)], signal)
  }
  return db.write('dropColdFile', { ...file, remove_at: atOnce ? now : now + readersLeft })
}

/** What refers to the file. */
async function liveTexts(db: BoundDatabase, { project_id, id }: FileOfProject, calls: readonly string[]) {
  return (await readTexts(db, project_id, calls)).flatMap(({ call, column, text }) => {
    const reference = isReference(text) ? parseReference(text) : undefined
    return reference?.file === id ? [{ call, column, before: text, reference }] : []
  })
}

/**
 * The store of the record. A deletion must not be confirmed for texts that this server cannot reach: without a store it is
 * refused, if the project has files in one.
 */
export async function storeOfProject(db: Database, project: string): Promise<ColdRecord | undefined> {
  const { cold } = db
  if (cold?.store !== undefined) return { bare: cold.bare, store: cold.store }
  if (await hasColdFiles(db, project)) throw refuse('cold_store_unset')
  return undefined
}

/** Leaves nothing of calls that are gone in the store, whoever reads it. */
export async function cleanAtOnce(record: ColdRecord, project: string, signal: AbortSignal): Promise<void> {
  await finishWriting(record, project, signal)
  for (let attempts = 0; ; ) {
    const cleaning = { now: now(), atOnce: true }
    // A file is marked until nothing in it is without a reference.
    if ((await markedFiles(boundTo(record.bare, signal), project, cleaning)).length === 0) break
    attempts = (await cleanSome(record, project, cleaning, signal)) > 0 ? 0 : attempts + 1
    if (attempts === maxAttempts) throw refuse('cold_store_unreachable')
    if (attempts > 0) await setTimeout(pauseMs, undefined, { signal })
  }
  await removeNow(record, project, signal)
}

/** Waits for files that are being written: they appear later than they could be removed. */
async function finishWriting({ bare: db }: ColdRecord, project: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const time = now()
    const unfinished = { project_id: project, before: time - maxWrite, now: time }
    if ((await db.write('dropUnfinishedFiles', unfinished)) === 0) return
    await setTimeout(pauseMs, undefined, { signal })
  }
}

/** Removes all files of a project whose calls are gone. */
export async function emptyStore(record: ColdRecord, project: string, signal: AbortSignal): Promise<void> {
  await finishWriting(record, project, signal)
  await removeNow(record, project, signal)
}

/** Removes files of the project that nothing refers to, also those that readers may still want. */
async function removeNow(record: ColdRecord, project: string, signal: AbortSignal): Promise<void> {
  while ((await removeFiles(record, sql`project_id = ${project}`, now(), signal)) > 0);
}

/** Removes files that nothing refers to. Returns how many. */
export async function removeSome(record: ColdRecord, time: number, signal: AbortSignal): Promise<number> {
  const before = time - abandonedAfter
  await record.bare.write('dropUnfinishedFiles', { project_id: null, before, now: time })
  return removeFiles(record, sql`remove_at <= ${time}`, time, signal)
}

async function removeFiles(
  { bare: db, store }: ColdRecord,
  which: Sql,
  time: number,
  signal: AbortSignal,
): Promise<number> {
  const files = await db.all<{ id: string }>(
    sql`SELECT id FROM cold_removals WHERE ${which} ORDER BY remove_at LIMIT 100`,
  )
  for (const { id } of files) {
    signal.throwIfAborted()
    await store.remove(id)
    await db.write('forgetRemoved', { ids: [id], now: time })
  }
  return files.length
}

interface CheckedFile {
  project_id: string
  id: string
  bytes: number
  calls: number
}

const filesAtOnce = 100

/** Files that calls refer to and that are not whole in the store, in words. What is in them is compared with the calls later. */
export async function missingFiles(db: BoundDatabase, most: number): Promise<string[]> {
  const problems: string[] = []
  for (let after = { project_id: '', id: '' }; problems.length < most; ) {
    const files = await allRows<CheckedFile>(
      db,
      sql`SELECT project_id, id, bytes, calls FROM cold_files
          WHERE state = 'ready' AND (project_id, id) > (${after.project_id}, ${after.id})
          ORDER BY project_id, id LIMIT ${filesAtOnce}`,
    )
    const last = files.at(-1)
    if (last === undefined) return problems
    const store = db.cold?.store
    if (store === undefined) return ['Inputs and outputs of calls are in a store: set HEDDLE_COLD_STORE.']
    for (const { project_id, id, bytes, calls } of files) {
      const read = await store.read(id, 0, Number(bytes) + 1, db.signal)
      const is =
        read === undefined ? 'is missing' : (await isWhole(id, read, Number(bytes))) ? '' : 'is damaged'
      if (is === '') continue
      // A server may have written it anew since.
      const row = await db.get(
        sql`SELECT 1 AS one FROM cold_files WHERE project_id = ${project_id} AND id = ${id}`,
      )
      if (row === undefined) continue
      problems.push(`the file ${id} of ${calls} calls in ${project_id} ${is} in ${store.address}`)
    }
    after = last
  }
  return problems.slice(0, most)
}
