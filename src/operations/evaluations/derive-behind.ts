import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { readPending } from '../../storage/evaluations/pending.ts'
import { type BackgroundWork, inBackground } from '../background.ts'

/** So few that a write that waits behind them is hardly later. */
const trialsAtOnce = 32
/** Parts of one trial that arrive within this time are derived once. */
const idleMs = 100
/** After a failure, which is likely to last. */
const failedMs = 5_000

/** Derives the results of what was written, behind the writes, so that a query finds them done. */
export function startDeriving(db: Database, failed: (error: unknown) => void): BackgroundWork {
  return inBackground({
    firstMs: idleMs,
    failedMs,
    failed,
    async run(signal) {
      // Looking for pending results costs next to nothing.
      let hasMore = (await readPending(db, null, 1)).length > 0
      while (hasMore && !signal.aborted) {
        hasMore = await db.writeBehind('deriveNext', { limit: trialsAtOnce, now: now() })
      }
      return idleMs
    },
  })
}
