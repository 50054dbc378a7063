import { now } from '../../domain/time.ts'
import { backfillPosition } from '../../storage/calls/backfill.ts'
import { hasMarked } from '../../storage/calls/underived.ts'
import type { Database } from '../../storage/database.ts'
import { type BackgroundWork, inBackground } from '../background.ts'

/** Small enough that a write waiting behind it is hardly delayed. */
const atOnce = { limit: 64, characters: 512 * 1024 }
const firstMs = 500
const failedMs = 5_000
/** How soon calls are read that a server of an older version has written meanwhile. */
const doneMs = 5_000

/** Derives what calls lack that an older version wrote, after the pending writes. */
export function startBackfill(db: Database, failed: (error: unknown) => void): BackgroundWork {
  return inBackground({
    firstMs,
    failedMs,
    failed,
    async run(signal) {
      let hasMore = await hasMarked(db)
      while (hasMore && !signal.aborted) {
        hasMore = await db.writeInBackground('deriveMarked', { ...atOnce, now: now() })
      }
      hasMore = (await backfillPosition(db)) !== undefined
      while (hasMore && !signal.aborted) hasMore = await db.writeInBackground('backfillFacts', atOnce)
      return doneMs
    },
  })
}
