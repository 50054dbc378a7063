import { backfillPosition } from '../../storage/calls/facts.ts'
import type { Database } from '../../storage/database.ts'
import { type BackgroundWork, inBackground } from '../background.ts'

/** Small enough that a write waiting behind it is hardly delayed. */
const atOnce = { limit: 64, characters: 512 * 1024 }
const firstMs = 500
const failedMs = 5_000
/** Only an upgrade leaves calls without facts. */
const doneMs = 86_400_000

/** Reads the facts of calls that an older version wrote, after the pending writes. */
export function startBackfill(db: Database, failed: (error: unknown) => void): BackgroundWork {
  return inBackground({
    firstMs,
    failedMs,
    failed,
    async run(signal) {
      let hasMore = (await backfillPosition(db)) !== undefined
      while (hasMore && !signal.aborted) hasMore = await db.writeInBackground('backfillFacts', atOnce)
      return doneMs
    },
  })
}
