import { nextDerivation } from '../calls/facts.ts'
import { emptySql, join, listOf, rawSql, sql } from '../sql/sql.ts'
import { type Command, countOf, hasRows, type Reader, type Transaction } from '../transaction.ts'
import type { ColdText } from './blocks.ts'
import type { ColdColumn } from './reference.ts'

/**
 * A file of the store passes through these steps, each a transaction: a row `writing`; the file is written; references
 * replace texts, some calls at a time, and the row is `ready`. If a server ends in between, nothing is lost: texts that
 * no reference replaced are in the record. What is in a file without a reference is marked, and so is what loses its
 * reference later, by triggers. Marked files are written anew without it (cleaning.ts).
 */

/** Files that were begun and not finished are removed after this long, in microseconds. */
export const abandonedAfter = 3_600_000_000

export interface FileOfProject {
  project_id: string
  id: string
}

const coldLock = (project: string) => `cold files ${project}`
const isFile = ({ project_id, id }: FileOfProject) => sql`project_id = ${project_id} AND id = ${id}`
const isMarked = ({ project_id, id }: FileOfProject) => sql`project_id = ${project_id} AND file_id = ${id}`

/** Files that are looked at together. */
const maxUnfinished = 100

interface NewFile extends FileOfProject {
  calls: readonly string[]
  from_at: number
  until_at: number
  now: number
}

/** False if one of the calls is gone: what was erased meanwhile must not get into a file. */
export const beginColdFile: Command<NewFile, boolean> = async (
  tx,
  { project_id, id, calls, from_at, until_at, now },
) => {
  // What was erased before this is not in a file; a file that was begun before is found by whoever has the lock next.
  await tx.lock(coldLock(project_id))
  const withTexts = sql`calls WHERE project_id = ${project_id} AND id IN (${listOf(calls)})
    AND (inputs IS NOT NULL OR output IS NOT NULL)`
  if ((await countOf(tx, withTexts)) !== calls.length) return false
  await tx.run(
    sql`INSERT INTO cold_files (project_id, id, state, calls, bytes, from_at, until_at, created_at, call_ids)
        VALUES (${project_id}, ${id}, 'writing', ${calls.length}, 0, ${from_at}, ${until_at}, ${now}, ${JSON.stringify(calls)})`,
  )
  return true
}

/** A text or reference of a call, and the reference that replaces it. */
export interface Placing {
  call: string
  column: ColdColumn
  before: string
  after: string
  /** What lists show of a text that is too short for a stored preview: they read it no more. */
  preview: string | null
  /** Hashes of whom the text names: an erasure finds the call by them. */
  users: readonly string[]
}

/**
 * Replaces what a call has, if it still has it. False if the file is no longer wanted. The calls of an entry are
 * independent of each other: any number of them may be placed at a time.
 */
export const placeColdCalls: Command<
  FileOfProject & { bytes: number; texts: readonly Placing[]; isLast: boolean },
  boolean
> = async (tx, { bytes, texts, isLast, ...file }) => {
  await tx.lock(coldLock(file.project_id))
  const row = await tx.get<{ state: string }>(sql`SELECT state FROM cold_files WHERE ${isFile(file)}`)
  if (row === undefined) return false
  if (row.state === 'writing') {
    await tx.run(sql`UPDATE cold_files SET state = 'ready', bytes = ${bytes} WHERE ${isFile(file)}`)
    await mark(tx, file, '')
  }
  for (const { call, column, before, after, preview, users } of texts) {
    const name = rawSql(column)
    const shown = rawSql(column === 'inputs' ? 'input_preview' : 'output_preview')
    const placed = await tx.run(
      sql`UPDATE calls SET ${name} = ${after}, ${shown} = coalesce(${shown}, ${preview}), ${rawSql(nextDerivation('calls'))}
          WHERE project_id = ${file.project_id} AND id = ${call} AND ${name} = ${before}`,
    )
    if (placed === 0) await mark(tx, file, call)
    else if (users.length > 0) {
      const rows = users.map((user) => sql`(${file.project_id}, ${user}, ${call})`)
      await tx.run(sql`INSERT INTO cold_users (project_id, end_user, call_id) VALUES ${join(rows, ', ')}`)
    }
  }
  if (isLast) await tx.run(sql`DELETE FROM cold_marks WHERE ${isMarked(file)} AND call_id = ''`)
  return true
}

async function mark(tx: Transaction, { project_id, id }: FileOfProject, call: string): Promise<void> {
  await tx.run(
    sql`INSERT INTO cold_marks (project_id, file_id, call_id) VALUES (${project_id}, ${id}, ${call}) ON CONFLICT DO NOTHING`,
  )
}

/** Forgets a file that nothing refers to, if that is so, and removes it after that time. */
export const dropColdFile: Command<FileOfProject & { remove_at: number }, boolean> = async (
  tx,
  { remove_at, ...file },
) => {
  await tx.lock(coldLock(file.project_id))
  const row = await tx.get<{ call_ids: string }>(sql`SELECT call_ids FROM cold_files WHERE ${isFile(file)}`)
  if (row !== undefined) {
    const ids = JSON.parse(row.call_ids) as string[]
    for (let first = 0; first < ids.length; first += 500) {
      const used = await tx.get(
        sql`SELECT 1 AS one FROM calls WHERE project_id = ${file.project_id} AND id IN (${listOf(ids.slice(first, first + 500))})
            AND (substr(inputs, 8, 36) = ${file.id} OR substr(output, 8, 36) = ${file.id}) LIMIT 1`,
      )
      if (used !== undefined) return false
    }
    await tx.run(sql`DELETE FROM cold_files WHERE ${isFile(file)}`)
  }
  await tx.run(sql`DELETE FROM cold_marks WHERE ${isMarked(file)}`)
  await removeLater(tx, file, remove_at)
  return true
}

/**
 * Files that no call refers to yet, of one project or of all. They are removed again after a while, in case one of them is
 * being written. Returns how many are left that may be.
 */
export const dropUnfinishedFiles: Command<
  { project_id: string | null; before: number; now: number },
  number
> = async (tx, { project_id, before, now }) => {
  if (project_id !== null) await tx.lock(coldLock(project_id))
  const ofProject = project_id === null ? emptySql : sql`AND project_id = ${project_id}`
  const files = await tx.all<FileOfProject & { created_at: number }>(
    sql`SELECT project_id, id, created_at FROM cold_files WHERE state = 'writing' ${ofProject} ORDER BY created_at LIMIT ${rawSql(String(maxUnfinished))}`,
  )
  const abandoned = files.filter(({ created_at }) => Number(created_at) <= before)
  for (const file of abandoned) {
    await tx.lock(coldLock(file.project_id))
    const deleted = await tx.run(sql`DELETE FROM cold_files WHERE ${isFile(file)} AND state = 'writing'`)
    if (deleted > 0) await removeLater(tx, file, now + abandonedAfter)
  }
  return files.length === maxUnfinished ? files.length : files.length - abandoned.length
}

async function removeLater(tx: Transaction, { project_id, id }: FileOfProject, at: number): Promise<void> {
  await tx.run(
    sql`INSERT INTO cold_removals (id, project_id, remove_at) VALUES (${id}, ${project_id}, ${at})
        ON CONFLICT (id) DO UPDATE SET project_id = excluded.project_id, remove_at = excluded.remove_at`,
  )
}

/** These files were removed from the store: nothing waits for them any more. */
export const forgetRemoved: Command<{ ids: readonly string[]; now: number }, void> = async (
  tx,
  { ids, now },
) => {
  await tx.run(sql`DELETE FROM cold_removals WHERE id IN (${listOf(ids)}) AND remove_at <= ${now}`)
  await tx.run(sql`UPDATE cold_removals SET project_id = NULL WHERE id IN (${listOf(ids)})`)
}

/** The files of a project that is being deleted, without those that are being written. */
export async function dropFilesOfProject(tx: Transaction, project_id: string, most: number, now: number) {
  await tx.lock(coldLock(project_id))
  const files = await tx.all<{ id: string }>(
    sql`SELECT id FROM cold_files WHERE project_id = ${project_id} AND state = 'ready' ORDER BY id LIMIT ${most}`,
  )
  for (const { id } of files) {
    await removeLater(tx, { project_id, id }, now)
    await tx.run(sql`DELETE FROM cold_files WHERE ${isFile({ project_id, id })}`)
  }
  return files.length
}

/** The name of this record in its store. The first that is proposed stays. */
export const nameColdRecord: Command<{ record: string }, string> = async (tx, { record }) => {
  await tx.run(sql`INSERT INTO cold_owner (id, record) VALUES (1, ${record}) ON CONFLICT (id) DO NOTHING`)
  return (await tx.get<{ record: string }>(sql`SELECT record FROM cold_owner`))?.record ?? record
}

/** Whether files of the project are in the store, or may be. */
export const hasColdFiles = (db: Reader, project: string): Promise<boolean> =>
  hasRows(db, sql`cold_files WHERE project_id = ${project}`, sql`cold_removals WHERE project_id = ${project}`)

export interface ThawedText extends ColdText {
  reference: string
}

/** Puts texts back where their references still are. Returns how many there were. */
export const thawCalls: Command<{ project_id: string; texts: readonly ThawedText[] }, number> = async (
  tx,
  { project_id, texts },
) => {
  let thawed = 0
  for (const { call, column, reference, text } of texts) {
    const name = rawSql(column)
    thawed += await tx.run(
      sql`UPDATE calls SET ${name} = ${text}, ${rawSql(nextDerivation('calls'))}
          WHERE project_id = ${project_id} AND id = ${call} AND ${name} = ${reference}`,
    )
  }
  return thawed
}

/** Whether this server moves calls until then: no other does at the same time. */
export const takeColdTurn: Command<{ holder: string; now: number; until: number }, boolean> = async (
  tx,
  { holder, now, until },
) => {
  const taken = await tx.run(
    sql`INSERT INTO cold_turn (id, holder, until) VALUES (1, ${holder}, ${until})
        ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, until = excluded.until
        WHERE cold_turn.holder = excluded.holder OR cold_turn.until < ${now}`,
  )
  return taken > 0
}
