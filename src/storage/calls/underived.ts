import { isTrialOp } from '../../domain/evaluations/trial-ops.ts'
import { knownTrials, membershipLock } from '../evaluations/pending.ts'
import { renewRowSets } from '../evaluations/row-sets.ts'
import { deriveTrials } from '../evaluations/trials.ts'
import { nextProject } from '../projects/turns.ts'
import { markForSearch } from '../search/marks.ts'
import { listOf, sql } from '../sql/sql.ts'
import { type Command, hasRows, type Reader, type Transaction } from '../transaction.ts'
import { type StoredCall, storedColumns, storeFacts } from './facts.ts'

/**
 * While servers are upgraded one after the other, those of the older version write calls without what only the newer one
 * derives from them. Triggers mark these calls: they see that a write did not change the column `derivation`.
 */

/**
 * Whether lists and charts of the project may lack something that is still being derived from older or newly marked
 * calls. The older ones are derived project by project.
 */
export function isDeriving(db: Reader, project: string): Promise<boolean> {
  const older = sql`facts_backfill WHERE at_project <= ${project}`
  return hasRows(db, older, sql`underived_calls WHERE project_id = ${project}`)
}

/** Whether there are calls to derive again, of any project. */
export const hasMarked = async (db: Reader): Promise<boolean> =>
  (await nextProject(db, 'underived_calls', '')) !== undefined

interface DeriveStep {
  /** The most marks of a step, and the most characters of the JSON of their calls. */
  limit: number
  characters: number
  now: number
}

interface Mark {
  call_id: string
  mark: string
  size: number | null
}

/** Derives again some of what was marked of one project. Returns whether there may be more. */
export const deriveMarked: Command<DeriveStep, boolean> = async (tx, { limit, characters, now }) => {
  if (!(await tx.tryLock('marked calls'))) return false
  const state = await tx.get<{ project_turn: string }>(sql`SELECT project_turn FROM derivation_turn`)
  const project = await nextProject(tx, 'underived_calls', state?.project_turn ?? '')
  if (project === undefined) return false
  await tx.run(sql`UPDATE derivation_turn SET project_turn = ${project}`)
  const marks = await tx.all<Mark>(
    sql`SELECT call_id, mark, (SELECT start_bytes + end_bytes FROM calls
          WHERE calls.project_id = underived_calls.project_id AND calls.id = call_id) AS size
        FROM underived_calls WHERE project_id = ${project} ORDER BY call_id LIMIT ${limit}`,
  )
  let sum = 0
  const fitting = marks.filter(({ size }, index) => {
    sum += size ?? 0
    return index === 0 || sum <= characters
  })
  const calls = [...new Set(fitting.map(({ call_id }) => call_id))]
  await deriveAgain(tx, { project_id: project, calls, now })
  // The marks were read before the calls: what a write has added meanwhile stays.
  const seen = fitting.map(({ mark }) => mark)
  await tx.run(
    sql`DELETE FROM underived_calls WHERE project_id = ${project} AND call_id IN (${listOf(calls)}) AND mark IN (${listOf(seen)})`,
  )
  return true
}

interface CallsOfProject {
  project_id: string
  calls: readonly string[]
  now: number
}

/** Derives the facts, words and trials of these calls again; some may be gone. */
export const deriveAgain: Command<CallsOfProject, void> = async (tx, { project_id: project, calls, now }) => {
  // Shared with everything that writes parts of calls: nothing may change between the read and the write here.
  await tx.lock(membershipLock(project))
  const stored = await tx.all<StoredCall & { parent_id: string | null; moved_from: string | null }>(
    sql`SELECT parent_id, moved_from, ${storedColumns} FROM calls WHERE project_id = ${project} AND id IN (${listOf(calls)})`,
  )
  for (const call of stored) await storeFacts(tx, project, call)
  // Those that were read are in the record.
  await tx.run(sql`DELETE FROM cold_users WHERE project_id = ${project} AND call_id IN (${listOf(calls)})`)
  await markForSearch(tx, project, calls)
  const above = stored.flatMap(({ parent_id, moved_from }) => [parent_id ?? [], moved_from ?? []].flat())
  const trials = await knownTrials(tx, project, [...new Set([...calls, ...above])])
  const written = stored.filter(({ op_name }) => op_name !== null && isTrialOp(op_name)).map(({ id }) => id)
  await deriveTrialsAgain(tx, project, [...new Set([...trials, ...written])], now)
  tx.changed({ project, kind: 'call', ids: calls })
}

/** Also where the trial is right: the columns may have been packed before an older server corrected it. */
async function deriveTrialsAgain(
  tx: Transaction,
  project: string,
  trials: readonly string[],
  now: number,
): Promise<void> {
  if (trials.length === 0) return
  await deriveTrials(tx, project, trials, now)
  await renewRowSets(tx, project, trials)
  tx.changed({ project, kind: 'trial', ids: trials })
}
