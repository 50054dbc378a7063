import { hasColdFiles } from '../cold/files.ts'
import { lockTrialsForDeletion } from '../evaluations/pending.ts'
import { rawSql, sql } from '../sql/sql.ts'
import { type Command, hasRows, type Reader, type Transaction } from '../transaction.ts'
import { type Actor, noteDeed } from '../users/audit.ts'
import { projectLock } from './projects.ts'
import { type ProjectTable, projectTables } from './tables.ts'

/** Counts by the names in `projectTables`. */
export type Counts = Record<string, number>

/** The progress of a deletion. It is stored in the record, so that any process can continue it. */
interface Deletion {
  by?: Actor
  /** The table that is being emptied. */
  table: string
  deleted: Counts
  /** When the client that requested the deletion took its last step. */
  touched_at: number
}

interface OfProject {
  project_id: string
  now: number
}

const steps = projectTables.filter(({ remove }) => remove !== undefined)
const noCounts: Counts = Object.fromEntries(
  projectTables.flatMap(({ counts }) => (counts === undefined ? [] : [[counts, 0]])),
)

async function findDeletion(tx: Reader, project: string): Promise<Deletion | undefined> {
  const row = await tx.get<{ deletion: string }>(
    sql`SELECT deletion FROM projects WHERE project_id = ${project} AND deletion IS NOT NULL`,
  )
  return row && (JSON.parse(row.deletion) as Deletion)
}

async function keepDeletion(tx: Transaction, project: string, deletion: Deletion): Promise<void> {
  const text = JSON.stringify(deletion)
  await tx.run(
    sql`INSERT INTO projects (project_id, deletion) VALUES (${project}, ${text})
        ON CONFLICT (project_id) DO UPDATE SET deletion = excluded.deletion`,
  )
}

export async function hasProject(db: Reader, project: string): Promise<boolean> {
  const tables = ['projects', ...projectTables.map(({ table }) => table)]
  return hasRows(db, ...tables.map((table) => sql`${rawSql(table)} WHERE project_id = ${project}`))
}

/** From here on the project is being deleted, even if the client disconnects. False if there is no such project. */
export const beginProjectDeletion: Command<OfProject & { by?: Actor }, boolean> = async (tx, request) => {
  const { project_id, now, by } = request
  await tx.lock(projectLock(project_id))
  if (!(await hasProject(tx, project_id))) return false
  if (await findDeletion(tx, project_id)) return true
  const first = steps[0] as ProjectTable
  await keepDeletion(tx, project_id, {
    ...(by && { by }),
    table: first.table,
    deleted: noCounts,
    touched_at: now,
  })
  return true
}

interface DeletionStep {
  isDone: boolean
  /** Only files of cold calls are left, which have to be removed from the store. */
  isInStore?: true
  /** So far. */
  deleted: Counts
}

/** Takes one step. Undefined if the project is not being deleted, because another process took the last step. */
export const deleteSomeOfProject: Command<OfProject, DeletionStep | undefined> = async (tx, request) => {
  const { project_id, now } = request
  await tx.lock(projectLock(project_id))
  const deletion = await findDeletion(tx, project_id)
  return deletion && takeStep(tx, { project_id, now }, { ...deletion, touched_at: now })
}

async function takeStep(
  tx: Transaction,
  { project_id, now }: OfProject,
  deletion: Deletion,
): Promise<DeletionStep> {
  await lockTrialsForDeletion(tx, project_id)
  const deleted = { ...deletion.deleted }
  // If the table is unknown because another version has stored it, start over: tables that are already empty cost
  // little.
  const from = steps.findIndex(({ table }) => table === deletion.table)
  for (const { table, counts, remove } of steps.slice(Math.max(0, from))) {
    const removed = await remove?.(tx, project_id, now)
    if (removed === undefined || removed.rows === 0) continue
    if (counts !== undefined) deleted[counts] = (deleted[counts] ?? 0) + removed.counted
    await keepDeletion(tx, project_id, { ...deletion, table, deleted })
    return { isDone: false, deleted }
  }
  if (await hasColdFiles(tx, project_id)) {
    // It starts over. If the client has left, other deletions have their turn before this one has the next.
    const { table } = steps[0] as ProjectTable
    await keepDeletion(tx, project_id, { ...deletion, table, deleted, touched_at: now })
    return { isDone: false, isInStore: true, deleted }
  }
  await tx.run(sql`DELETE FROM projects WHERE project_id = ${project_id}`)
  const { by } = deletion
  await noteDeed(tx, { ...(by && { by }), action: 'project.deleted', project_id, details: deleted })
  return { isDone: true, deleted }
}

/** Takes a step of a deletion whose client has left. Returns whether there was one. */
export const continueProjectDeletion: Command<{ now: number; leftBefore: number }, boolean> = async (
  tx,
  { now, leftBefore },
) => {
  const all = await tx.all<{ project_id: string; deletion: string }>(
    sql`SELECT project_id, deletion FROM projects WHERE deletion IS NOT NULL ORDER BY project_id LIMIT 100`,
  )
  const left = all.find(({ deletion }) => (JSON.parse(deletion) as Deletion).touched_at < leftBefore)
  if (left === undefined) return false
  await tx.lock(projectLock(left.project_id))
  const deletion = await findDeletion(tx, left.project_id)
  if (deletion === undefined) return true
  const { isInStore } = await takeStep(tx, { project_id: left.project_id, now }, deletion)
  return isInStore !== true
}
