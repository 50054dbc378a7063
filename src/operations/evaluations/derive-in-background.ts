import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { readPending } from '../../storage/evaluations/pending.ts'
import { type BackgroundWork, inBackground } from '../background.ts'

/** Few enough that a write waiting behind them is hardly delayed. */
const trialsAtOnce = 32
/** Parts of one trial that arrive within this time are derived once. */
const idleMs = 100
/** Pause after a failure, which is likely to last. */
const failedMs = 5_000

/** Derives the results of what was written, after the writes, so that a query finds them ready. */
export function startDeriving(db: Database, failed: (error: unknown) => void): BackgroundWork {
  return inBackground({
    firstMs: idleMs,
    failedMs,
    failed,
    async run(signal) {
      // Looking for pending results costs next to nothing.
      let hasMore = (await readPending(db, null, 1)).length > 0
      while (hasMore && !signal.aborted) {
        hasMore = await db.writeInBackground('deriveNext', { limit: trialsAtOnce, now: now() })
      }
      return idleMs
    },
  })
}
