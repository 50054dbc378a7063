import { refuse } from '../../domain/refusals.ts'
import { lockTrialsForDeletion } from '../evaluations/pending.ts'
import { keepBeside, readBeside } from '../projects/beside.ts'
import { projectLock } from '../projects/projects.ts'
import type { Command, Reader, Transaction } from '../transaction.ts'
import type { SubjectKind } from './subjects.ts'

/** How many of each kind were erased. */
export type ErasedCounts = Record<ErasedKind, number>
type ErasedKind =
  | 'calls'
  | 'feedback'
  | 'queue_items'
  | 'reviews'
  | 'judgements'
  | 'shadow_pairs'
  | 'search_entries'
  | 'completions'
  | 'responses'
  | 'waiting_responses'
  | 'conversations'
  | 'batches'
  | 'files'

export const nothingErased: ErasedCounts = {
  calls: 0,
  feedback: 0,
  queue_items: 0,
  reviews: 0,
  judgements: 0,
  shadow_pairs: 0,
  search_entries: 0,
  completions: 0,
  responses: 0,
  waiting_responses: 0,
  conversations: 0,
  batches: 0,
  files: 0,
}

/** An erasure that has begun. Another one of the same subject continues it. */
interface Begun {
  id: string
  begun_at: number
  erased: ErasedCounts
}

/** The subject of an erasure, as it may be written down. */
export interface ErasureKey {
  project_id: string
  /** Keyed, so that it cannot be guessed back. */
  hash: string
}

type AllBegun = Record<string, Begun>

const readBegun = async (db: Reader, project: string): Promise<AllBegun> =>
  (await readBeside<AllBegun>(db, project, 'erasures')) ?? {}

/** By the hash of the subject. */
async function keepBegun(
  tx: Transaction,
  { project_id, hash }: ErasureKey,
  begun: Begun | null,
): Promise<void> {
  const { [hash]: _, ...others } = await readBegun(tx, project_id)
  const next = begun === null ? others : { ...others, [hash]: begun }
  await keepBeside(tx, project_id, 'erasures', Object.keys(next).length === 0 ? null : next)
}

interface Beginning extends ErasureKey {
  kind: SubjectKind
  id: string
  now: number
}

/** The id of the one that is begun or continued. */
export const beginErasure: Command<Beginning, { id: string; isContinued: boolean }> = async (
  tx,
  beginning,
) => {
  const { project_id, hash, id, now } = beginning
  await tx.lock(projectLock(project_id))
  const found = (await readBegun(tx, project_id))[hash]
  if (found !== undefined) return { id: found.id, isContinued: true }
  await keepBegun(tx, { project_id, hash }, { id, begun_at: now, erased: nothingErased })
  return { id, isContinued: false }
}

/** Called first by every step: the order of the locks is that of the deletion of a project. */
export async function lockErasure(tx: Transaction, { project_id }: ErasureKey): Promise<void> {
  await tx.lock(projectLock(project_id))
  await lockTrialsForDeletion(tx, project_id)
}

/** Called by every step, in its transaction. */
export async function countErased(
  tx: Transaction,
  key: ErasureKey,
  counts: Partial<ErasedCounts>,
): Promise<void> {
  const begun = (await readBegun(tx, key.project_id))[key.hash]
  // Another request for the same subject has ended it.
  if (begun === undefined) return
  await keepBegun(tx, key, { ...begun, erased: sumOf(begun.erased, counts) })
}

export function sumOf(erased: ErasedCounts, counts: Partial<ErasedCounts>): ErasedCounts {
  const all = { ...nothingErased, ...erased }
  for (const [kind, count] of Object.entries(counts)) all[kind as ErasedKind] += count
  return all
}

interface Ending extends Beginning {
  /** What the receipt says besides. */
  receipt: Record<string, unknown>
}

interface Ended {
  begun_at: number
  erased: ErasedCounts
}

/** What was erased since it began, however often it was cut short. */
export const endErasure: Command<Ending, Ended> = async (tx, { project_id, hash, id }) => {
  await tx.lock(projectLock(project_id))
  const begun = (await readBegun(tx, project_id))[hash]
  if (begun?.id !== id) throw refuse('erasure_ended', { id })
  await keepBegun(tx, { project_id, hash }, null)
  return { begun_at: begun.begun_at, erased: begun.erased }
}

export const erasedSoFar = async (db: Reader, { project_id, hash }: ErasureKey): Promise<ErasedCounts> =>
  (await readBegun(db, project_id))[hash]?.erased ?? nothingErased
