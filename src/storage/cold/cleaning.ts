import type { Database } from '../database.ts'
import { emptySql, sql } from '../sql/sql.ts'
import { allRows } from '../transaction.ts'
import { readBlock } from './blocks.ts'
import { abandonedAfter, type FileOfProject } from './files.ts'
import { type ColdRecord, readTexts, writeFile } from './moving.ts'
import { damaged } from './reading.ts'
import { isReference, parseReference } from './reference.ts'

/** How long readers that have a reference may still read the file that it names, in microseconds. */
const readersLeft = 600_000_000

interface Cleaning {
  now: number
  /** Nothing of it may be left when this is done, whoever reads. */
  atOnce: boolean
}

interface StoredFile {
  project_id: string
  id: string
  from_at: number
  until_at: number
  created_at: number
  call_ids: string
}

/** Files with marks, of one project or of all; those whose references are being written only if nothing may be left. */
function markedFiles(
  db: Database,
  project: string | undefined,
  { now, atOnce }: Cleaning,
  signal: AbortSignal,
): Promise<FileOfProject[]> {
  const ofProject = project === undefined ? emptySql : sql`marks.project_id = ${project} AND`
  return allRows<FileOfProject>(
    db,
    sql`SELECT DISTINCT marks.project_id AS project_id, marks.file_id AS id FROM cold_marks AS marks
        LEFT JOIN cold_files AS files ON files.project_id = marks.project_id AND files.id = marks.file_id
        WHERE ${ofProject} (marks.call_id <> '' OR files.id IS NULL OR files.created_at <= ${atOnce ? now : now - abandonedAfter})
        ORDER BY 1, 2 LIMIT 100`,
    signal,
  )
}

/** Writes marked files anew without what nothing refers to. Returns how many there were. */
export async function cleanSome(
  record: ColdRecord,
  project: string | undefined,
  cleaning: Cleaning,
  signal: AbortSignal,
): Promise<number> {
  const files = await markedFiles(record.bare, project, cleaning, signal)
  for (const file of files) await cleanFile(record, file, cleaning, signal)
  return files.length
}

async function cleanFile(
  record: ColdRecord,
  file: FileOfProject,
  { now, atOnce }: Cleaning,
  signal: AbortSignal,
): Promise<void> {
  const { bare: db, store } = record
  signal.throwIfAborted()
  const { project_id, id } = file
  const row = await db.get<StoredFile>(
    sql`SELECT project_id, id, from_at, until_at, created_at, call_ids FROM cold_files WHERE project_id = ${project_id} AND id = ${id}`,
  )
  const calls = row === undefined ? [] : (JSON.parse(row.call_ids) as string[])
  const live = (await readTexts(db, project_id, calls, signal)).flatMap(({ call, column, text }) => {
    const reference = isReference(text) ? parseReference(text) : undefined
    return reference?.file === id ? [{ call, column, before: text, reference }] : []
  })
  if (live.length > 0 && row !== undefined) {
    const size = live.reduce((end, { reference: { offset, length } }) => Math.max(end, offset + length), 0)
    const bytes = await store.read(id, 0, size, signal)
    if (bytes === undefined) throw damaged(new Error(`${id} is not in ${store.address}`))
    const blocks = new Map<number, ReturnType<typeof readBlock>>()
    const texts = []
    for (const { reference, ...of } of live) {
      const { offset, length, entry } = reference
      const block =
        blocks.get(offset) ?? readBlock(id, bytes.subarray(offset, offset + length)).catch(failDamaged)
      blocks.set(offset, block)
      texts.push({ ...of, preview: null, text: (await block).textOf(entry) })
    }
    await writeFile(record, project_id, texts, [Number(row.from_at), Number(row.until_at)], now, signal)
  }
  const isDropped = await db.write('dropColdFile', { ...file, remove_at: atOnce ? now : now + readersLeft })
  if (isDropped && atOnce) await removeFile(record, id, now)
}

function failDamaged(error: unknown): never {
  throw damaged(error)
}

async function removeFile({ bare: db, store }: ColdRecord, id: string, now: number): Promise<void> {
  await store.remove(id)
  await db.write('forgetRemoved', { ids: [id], now })
}

/** Leaves nothing of calls that are gone in the store. What is being written is dropped, too. */
export async function cleanAtOnce(
  record: ColdRecord,
  project: string,
  now: number,
  signal: AbortSignal,
): Promise<void> {
  const { bare: db, store } = record
  const dropped = await db.write('dropUnfinishedFiles', { project_id: project, before: now, now })
  for (const id of dropped) await store.remove(id)
  // A file is marked until nothing in it is without a reference.
  while ((await cleanSome(record, project, { now, atOnce: true }, signal)) > 0) signal.throwIfAborted()
}

/** Removes files that nothing refers to. Returns how many. */
export async function removeSome(
  { bare: db, store }: ColdRecord,
  now: number,
  signal: AbortSignal,
): Promise<number> {
  await db.write('dropUnfinishedFiles', { project_id: null, before: now - abandonedAfter, now })
  const due = await db.all<{ id: string }>(
    sql`SELECT id FROM cold_removals WHERE remove_at <= ${now} ORDER BY remove_at LIMIT 100`,
  )
  for (const { id } of due) {
    signal.throwIfAborted()
    await removeFile({ bare: db, store }, id, now)
  }
  return due.length
}

interface CheckedFile {
  project_id: string
  id: string
  bytes: number
  calls: number
}

const filesAtOnce = 100

/** Files that calls refer to and that are not whole in the store, in words. What is in them is compared with the calls later. */
export async function missingFiles(db: Database, most: number, signal: AbortSignal): Promise<string[]> {
  const problems: string[] = []
  for (let after = { project_id: '', id: '' }; problems.length < most; ) {
    const files = await allRows<CheckedFile>(
      db,
      sql`SELECT project_id, id, bytes, calls FROM cold_files
          WHERE state = 'ready' AND (project_id, id) > (${after.project_id}, ${after.id})
          ORDER BY project_id, id LIMIT ${filesAtOnce}`,
      signal,
    )
    const last = files.at(-1)
    if (last === undefined) return problems
    const store = db.cold?.store
    if (store === undefined) return ['Inputs and outputs of calls are in a store: set HEDDLE_COLD_STORE.']
    for (const { project_id, id, bytes, calls } of files) {
      const size = await store.size(id, signal)
      if (size === Number(bytes)) continue
      const is = size === undefined ? 'is missing' : `has ${size} bytes instead of ${bytes}`
      problems.push(`the file ${id} of ${calls} calls in ${project_id} ${is} in ${store.address}`)
    }
    after = last
  }
  return problems.slice(0, most)
}
