import { type Caller, hasAccess, hasScope } from '../../domain/callers.ts'
import { parseRef } from '../../domain/refs.ts'
import { refuse } from '../../domain/refusals.ts'
import { type Grant, grantsOf, mayWith } from '../../domain/roles.ts'
import type { Database } from '../../storage/database.ts'
import { blinded, isSettledBlind } from '../../storage/queues/blind.ts'
import { questionsOf, queuedCalls } from '../../storage/queues/queued.ts'
import type { Reader } from '../../storage/transaction.ts'

/** Whether the caller sees only what queues of the project name: an annotator, or a key for reviews. */
export const seesQueuesOnly = (caller: Caller, project: string): boolean =>
  !hasAccess(caller, project, 'read') || !hasScope(caller, 'read')

/**
 * The record as the caller sees it: below an editor, without what others answered in a blind queue, until it has
 * finished the item.
 */
export function recordFor(caller: Caller, db: Database): Database {
  const grants = grantsOf(caller)
  const isEditor = ({ role }: Grant) => mayWith([role], 'write')
  const maySee = hasScope(caller, 'read')
  if (maySee && grants.every(isEditor)) return db
  const unhidden = maySee ? grants.filter(isEditor).map(({ scope }) => scope) : []
  return unhidden.includes('*') ? db : blinded(db, { user: caller.name, unhidden })
}

/** For an annotator, a call that is in no queue does not exist. */
export async function requireQueued(
  db: Reader,
  caller: Caller,
  project: string,
  id: string | null,
  { field, shown = id ?? '' }: { field: string; shown?: string },
): Promise<void> {
  if (!seesQueuesOnly(caller, project)) return
  if (id !== null && (await queuedCalls(db, project, [id])).has(id)) return
  throw refuse('call_not_found', { field, id: shown, project })
}

/** Whether the caller may read this object: an annotator reads the questions of queues, in any version. */
export async function mayReadObject(
  db: Reader,
  caller: Caller,
  project: string,
  name: string,
): Promise<boolean> {
  if (!seesQueuesOnly(caller, project)) return true
  return (await questionsOf(db, project)).some((text) => {
    const ref = parseRef(text)
    return ref?.kind === 'object' && ref.project === project && ref.name === name
  })
}

/** Below an editor: in a blind queue, the answers of others are hidden until the caller has completed the item. */
export const isBlind = (caller: Caller, project: string): boolean =>
  !hasScope(caller, 'read') || !hasAccess(caller, project, 'write')

/** Whose feedback the caller may replace or remove: below an editor its own, others all. */
export const feedbackOwner = (caller: Caller, project: string): string | null =>
  isBlind(caller, project) ? caller.name : null

/** Who has completed an item of a blind queue may have seen the answers of others: its own stands. */
export async function requireUnsettled(
  db: Reader,
  caller: Caller,
  answer: Parameters<typeof isSettledBlind>[1],
  field: string,
): Promise<void> {
  if (!isBlind(caller, answer.project_id) || answer.user_id !== caller.name) return
  if (!(await isSettledBlind(db, answer))) return
  const accepted = 'reopening the item'
  throw refuse('annotation_state_conflict', { field, received: 'an answer', state: 'completed', accepted })
}
