import { batchesOf, readInBatches } from '../../domain/batches.ts'
import { isTrialOp } from '../../domain/evaluations/trial-ops.ts'
import { newId } from '../../domain/ids.ts'
import type { CallPart } from '../calls/parts.ts'
import { emptySql, listOf, type Sql, sql, wantedIds } from '../sql/sql.ts'
import { type Command, countOf, hasRows, type Reader, type Transaction } from '../transaction.ts'
import { deriveTrials } from './trials.ts'

/** Ids per statement. */
const idsAtOnce = 200

/**
 * Pending trials of a project: the next query derives them first and must not wait long. A write that leaves more
 * derives the first ones itself.
 */
const maxPending = 400
/**
 * Checking for more costs as much as the number of pending trials, so a write of fewer trials than this checks only at
 * random.
 */
const lookedAfter = 64

/** A write of a trial and a concurrent write of its children must see each other; two writes of children need not. */
export const membershipLock = (project: string) => `the trials of ${project}`

/** Called before calls are written: notes the projects of the parts, and where new trials may appear. */
export async function lockTrialsOfParts(tx: Transaction, callParts: readonly CallPart[]): Promise<void> {
  const projects = new Map<string, boolean>()
  for (const { project_id, start } of callParts) {
    const brings = start !== undefined && start.parent_id != null && isTrialOp(start.op_name)
    projects.set(project_id, brings || projects.get(project_id) === true)
  }
  for (const project of [...projects.keys()].sort()) {
    if (projects.get(project)) await tx.lock(membershipLock(project))
    else await tx.lockShared(membershipLock(project))
  }
}

/** Called before calls are deleted. */
export function lockTrialsForDeletion(tx: Transaction, project: string): Promise<void> {
  return tx.lockShared(membershipLock(project))
}

/** Called after calls of one project were written: marks the trials that they affect as pending. */
export async function markTrialsOfParts(
  tx: Transaction,
  project: string,
  callParts: readonly CallPart[],
  now: number,
): Promise<void> {
  const touched = new Set<string>()
  const asked = new Set<string>()
  const ended: string[] = []
  for (const { id, start } of callParts) {
    if (start === undefined) {
      // The call may be a trial itself, or below one.
      asked.add(id)
      ended.push(id)
    } else if (start.parent_id != null) {
      if (isTrialOp(start.op_name)) touched.add(id)
      asked.add(start.parent_id)
    }
  }
  if (touched.size === 0 && !(await hasTrials(tx, project))) return
  for (const parent of await parentsOf(tx, project, ended)) asked.add(parent)
  for (const id of await formerTrials(tx, project, callParts)) asked.add(id)
  for (const id of touched) asked.delete(id)
  for (const id of await knownTrials(tx, project, [...asked])) touched.add(id)
  await markPending(tx, project, [...touched], now)
}

/** Called after calls were deleted. */
export async function markTrialsOfDeleted(
  tx: Transaction,
  project: string,
  calls: readonly string[],
  now: number,
): Promise<void> {
  // The parents are read again: a part may have arrived since the calls were selected.
  const asked = new Set([...calls, ...(await parentsOf(tx, project, calls))])
  await markPending(tx, project, await knownTrials(tx, project, [...asked]), now)
}

/** Most projects have no evaluations; this check is all that the feature costs them. */
const hasTrials = (tx: Transaction, project: string): Promise<boolean> =>
  hasRows(tx, sql`eval_trials WHERE project_id = ${project}`, sql`eval_owed WHERE project_id = ${project}`)

async function parentsOf(tx: Transaction, project: string, calls: readonly string[]): Promise<string[]> {
  const found = await inSome<{ parent_id: string }>(
    tx,
    calls,
    sql`SELECT parent_id FROM wanted CROSS JOIN calls
        WHERE project_id = ${project} AND calls.id = wanted.id AND parent_id IS NOT NULL`,
  )
  return found.map(({ parent_id }) => parent_id)
}

/** The trials that calls which have moved were before, or were below. */
async function formerTrials(tx: Transaction, project: string, calls: readonly CallPart[]): Promise<string[]> {
  const some = await tx.get(
    sql`SELECT id FROM calls WHERE project_id = ${project} AND moved_from IS NOT NULL LIMIT 1`,
  )
  if (some === undefined) return []
  const found = await inSome<{ id: string; moved_from: string }>(
    tx,
    calls.map(({ id }) => id),
    sql`SELECT calls.id, moved_from FROM wanted CROSS JOIN calls
        WHERE project_id = ${project} AND calls.id = wanted.id AND moved_from IS NOT NULL`,
  )
  return found.flatMap(({ id, moved_from }) => [id, moved_from])
}

/** Those of the calls that are already trials, derived or pending. */
export async function knownTrials(
  tx: Transaction,
  project: string,
  calls: readonly string[],
): Promise<string[]> {
  const found = await inSome<{ id: string }>(
    tx,
    calls,
    sql`SELECT id FROM wanted WHERE EXISTS
          (SELECT 1 FROM eval_trials WHERE project_id = ${project} AND trial_id = wanted.id)
        OR EXISTS (SELECT 1 FROM eval_owed WHERE project_id = ${project} AND trial_id = wanted.id)`,
  )
  return found.map(({ id }) => id)
}

/** `query` selects from a table `wanted` of ids. */
const inSome = <T>(tx: Reader, ids: readonly string[], query: Sql): Promise<T[]> =>
  readInBatches(ids, idsAtOnce, (some) => tx.all<T>(sql`${wantedIds(some)} ${query}`))

/** Each mark belongs to one write: a derivation removes only the marks that it has seen, not those added meanwhile. */
async function markPending(
  tx: Transaction,
  project: string,
  trials: readonly string[],
  now: number,
): Promise<void> {
  if (trials.length === 0) return
  const mark = newId()
  for (const some of batchesOf(trials, idsAtOnce)) {
    await tx.run(
      sql`INSERT INTO eval_owed (project_id, trial_id, mark) ${wantedIds(some)}
          SELECT ${tx.dialect.text(project)}, id, ${tx.dialect.text(mark)} FROM wanted WHERE id IS NOT NULL`,
    )
  }
  if (Math.random() * lookedAfter > trials.length) return
  const count = await countOf(tx, sql`eval_owed WHERE project_id = ${project}`)
  if (count <= maxPending) return
  // The most recent trials are left: their children may not have arrived yet, and they would have to be derived again.
  const first = await tx.all<PendingTrial>(
    sql`SELECT project_id, trial_id, mark FROM eval_owed WHERE project_id = ${project}
        ORDER BY trial_id, mark LIMIT ${count - maxPending}`,
  )
  await settle(tx, project, first, now)
}

interface PendingTrial {
  project_id: string
  trial_id: string
  mark: string
}

/** The pending trials of one project or of all, up to a limit. A trial may appear several times. */
export function readPending(
  db: Reader,
  project: string | null,
  limit: number | null,
): Promise<PendingTrial[]> {
  const where = project === null ? emptySql : sql`WHERE project_id = ${project}`
  const most = limit === null ? db.dialect.noLimit : sql`${limit}`
  return db.all<PendingTrial>(sql`SELECT project_id, trial_id, mark FROM eval_owed ${where} LIMIT ${most}`)
}

/** The last pending trial of a project. */
export async function lastPending(db: Reader, project: string): Promise<string | undefined> {
  const last = await db.get<{ trial_id: string }>(
    sql`SELECT trial_id FROM eval_owed WHERE project_id = ${project} ORDER BY trial_id DESC LIMIT 1`,
  )
  return last?.trial_id
}

/** Some pending trials of a project, in order, after one of them and up to another. */
export async function pendingBetween(
  db: Reader,
  project: string,
  after: string,
  last: string,
  limit: number,
): Promise<string[]> {
  const found = await db.all<{ trial_id: string }>(
    sql`SELECT DISTINCT trial_id FROM eval_owed WHERE project_id = ${project} AND trial_id > ${after}
        AND trial_id <= ${last} ORDER BY trial_id LIMIT ${limit}`,
  )
  return found.map(({ trial_id }) => trial_id)
}

/** The pending ones among these trials. */
export async function pendingAmong(
  db: Reader,
  project: string,
  trials: readonly string[],
): Promise<Set<string>> {
  const found = await inSome<{ id: string }>(
    db,
    trials,
    sql`SELECT id FROM wanted WHERE EXISTS
          (SELECT 1 FROM eval_owed WHERE project_id = ${project} AND trial_id = wanted.id)`,
  )
  return new Set(found.map(({ id }) => id))
}

/** Derives a few pending trials of any project. Returns whether there may be more. */
export const deriveNext: Command<{ limit: number; now: number }, boolean> = async (tx, { limit, now }) => {
  if (!(await tx.tryLock('deriving'))) return false
  const pending = await readPending(tx, null, limit)
  const byProject = Map.groupBy(pending, ({ project_id }) => project_id)
  for (const project of [...byProject.keys()].sort()) {
    await settle(tx, project, byProject.get(project) ?? [], now)
  }
  return pending.length === limit
}

/** Derives those of these trials that are pending. */
export const derivePending: Command<
  { project_id: string; trial_ids: readonly string[]; now: number },
  void
> = async (tx, { project_id: project, trial_ids, now }) => {
  const pending = await inSome<PendingTrial>(
    tx,
    [...new Set(trial_ids)],
    sql`SELECT project_id, trial_id, mark FROM wanted CROSS JOIN eval_owed
        WHERE project_id = ${project} AND trial_id = wanted.id`,
  )
  await settle(tx, project, pending, now)
}

/** The marks are read before the calls, so everything that they stand for is seen. */
async function settle(
  tx: Transaction,
  project: string,
  pending: readonly PendingTrial[],
  now: number,
): Promise<void> {
  const ids = pending.map(({ trial_id }) => trial_id)
  await deriveTrials(tx, project, ids, now)
  if (ids.length > 0) tx.changed({ project, kind: 'trial', ids })
  for (const some of batchesOf(pending, idsAtOnce)) {
    const trials = new Set(some.map(({ trial_id }) => trial_id))
    // Other trials with one of these marks were written together with what was seen.
    const marks = new Set(some.map(({ mark }) => mark))
    await tx.run(
      sql`DELETE FROM eval_owed WHERE project_id = ${project} AND trial_id IN (${listOf([...trials])}) AND mark IN (${listOf([...marks])})`,
    )
  }
}
