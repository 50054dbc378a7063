import { createHmac, randomBytes } from 'node:crypto'
import { batchesOf } from '../../domain/batches.ts'
import { byCaller } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { formatTime, now } from '../../domain/time.ts'
import { cleanAtOnce, storeOfProject } from '../../storage/cold/cleaning.ts'
import type { BoundDatabase, Database } from '../../storage/database.ts'
import { countOwn, countWithCalls, feedbackOfSubject } from '../../storage/erasures/found.ts'
import {
  type ErasedCounts,
  type ErasureKey,
  erasedSoFar,
  nothingErased,
  sumOf,
} from '../../storage/erasures/progress.ts'
import { callsOfSubject, familyOf, madeOf, type Subject } from '../../storage/erasures/subjects.ts'
import { derivePending } from '../../storage/evaluations/results.ts'
import type { Scope } from '../scope.ts'
import { type ErasureBody, notCovered } from './contract.ts'
import { overwritten } from './overwriting.ts'

/** Calls that are erased in one transaction: it takes a few milliseconds. */
const callsAtOnce = 20

/** Counts what an erasure would erase, or erases it and returns the receipt. */
export async function erase(
  db: BoundDatabase,
  { caller, project }: Scope,
  { subject, dry_run }: ErasureBody,
) {
  const { kind } = subject
  await storeOfProject(db, project)
  if (dry_run) {
    const erased = await countFound(db, project, subject)
    return { subject: { kind, hash: null }, erased, receipt: null, not_covered: notCovered }
  }
  const hash = await hashOf(db, project, subject)
  const key = { project_id: project, hash }
  const named = { ...key, kind, by: byCaller(caller) }
  const { id } = await db.write('beginErasure', { ...named, id: newId(), now: now() })
  await eraseAll(db, key, subject)
  const cold = await storeOfProject(db, project)
  if (cold !== undefined) await cleanAtOnce(cold, project, db.signal)
  const ended_at = now()
  // Results of evaluations that were derived from what is gone.
  await derivePending(db, project, ended_at)
  const storage = {
    engine: db.dialect.engine,
    overwritten: await overwritten(db, (await erasedSoFar(db, key)).search_entries > 0),
  }
  const receipt = { ended_at: formatTime(ended_at), storage }
  const { begun_at, erased } = await db.write('endErasure', { ...named, id, now: ended_at, receipt })
  return {
    subject: { kind, hash },
    erased,
    receipt: { erasure: id, by: caller.name, begun_at: formatTime(begun_at), ...receipt },
    not_covered: notCovered,
  }
}

/** The receipt and the audit log name the subject by it, so that they do not hold what was to be erased. */
async function hashOf(db: Database, project: string, { kind, value }: Subject): Promise<string> {
  const secret = await db.write('secretOf', { name: 'erasure', value: randomBytes(32).toString('base64') })
  return createHmac('sha256', secret)
    .update(JSON.stringify([project, kind, value]))
    .digest('hex')
}

/** Calls in the order in which they are erased: what was made of them, then they, the deepest first. */
async function* callsInOrder(
  db: BoundDatabase,
  project: string,
  subject: Subject,
): AsyncGenerator<readonly string[]> {
  for await (const roots of callsOfSubject(db, project, subject)) {
    const family = await familyOf(db, project, subject, roots)
    for (const some of batchesOf(family, callsAtOnce)) {
      const made = await madeOf(db, project, subject, some)
      yield* batchesOf(
        made.filter((id) => !family.includes(id)),
        callsAtOnce,
      )
      yield some
    }
  }
}

async function countFound(db: BoundDatabase, project: string, subject: Subject): Promise<ErasedCounts> {
  const pairs = new Set<string>()
  let found = sumOf(nothingErased, await countOwn(db, project, subject))
  for await (const ids of callsInOrder(db, project, subject)) {
    found = sumOf(found, await countWithCalls(db, project, subject, { ids, pairs }))
  }
  return found
}

/** Whatever of it was erased before is not found again: if this is cut short, the next request continues it. */
async function eraseAll(db: BoundDatabase, key: ErasureKey, subject: Subject): Promise<void> {
  const { project_id } = key
  for await (const ids of callsInOrder(db, project_id, subject)) {
    for (let hasMore = true; hasMore; ) {
      hasMore = await db.write('eraseCalls', { ...key, ids, now: now() })
      db.signal.throwIfAborted()
    }
  }
  for await (const ids of feedbackOfSubject(db, project_id, subject)) {
    await db.write('eraseFeedback', { ...key, ids })
  }
  if (subject.kind !== 'user') return
  const own = { ...key, user: subject.value }
  while (await db.write('eraseOwnRows', own)) db.signal.throwIfAborted()
  // The bytes of files are those of abandoned uploads from here on.
  while (await db.write('sweepUploads', { before: 1 })) db.signal.throwIfAborted()
}
