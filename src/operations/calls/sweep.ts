import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { type BackgroundWork, inBackground } from '../background.ts'

const rowsAtOnce = 200
const bytesAtOnce = 4 << 20
const idleMs = 5_000
const busyMs = 50

/** How long a deleted call is remembered without its content, so that a late part cannot restore it. */
const remembered = 7 * 86_400_000_000

/** How long an upload may make no progress before it counts as abandoned. */
const uploadAbandoned = 86_400_000_000

/** How long the deletion of a project may pause before the sweep takes it over from the process that began it. */
const deletionLeft = 10_000_000

/**
 * Frees the space of deleted and expired calls, expired responses, conversations and files, abandoned uploads and deleted projects, in steps so
 * small that no request waits for them.
 */
export function startSweep(db: Database, failed: (error: unknown) => void): BackgroundWork {
  return inBackground({
    firstMs: idleMs,
    failedMs: idleMs,
    failed,
    async run() {
      const time = now()
      const touched = await db.write('sweepCalls', {
        now: time,
        forgetBefore: time - remembered,
        limit: rowsAtOnce,
        bytes: bytesAtOnce,
      })
      const hasExpired = await db.write('sweepWireFiles', { now: time })
      const hasAbandoned = await db.write('sweepUploads', { before: time - uploadAbandoned })
      const responses = await db.write('sweepResponses', { now: time, limit: rowsAtOnce, bytes: bytesAtOnce })
      const conversations = await db.write('sweepConversations', {
        now: time,
        limit: rowsAtOnce,
        bytes: bytesAtOnce,
      })
      const hasDeletion = await db.write('continueProjectDeletion', {
        now: time,
        leftBefore: time - deletionLeft,
      })
      const hasMoreSpace = await db.reclaim()
      return touched + responses + conversations > 0 ||
        hasExpired ||
        hasAbandoned ||
        hasDeletion ||
        hasMoreSpace
        ? busyMs
        : idleMs
    },
  })
}
