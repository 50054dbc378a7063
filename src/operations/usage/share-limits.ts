import { newId } from '../../domain/ids.ts'
import { now } from '../../domain/time.ts'
import type { Limits } from '../../http/limits.ts'
import type { Database } from '../../storage/database.ts'
import { type BackgroundWork, inBackground } from '../background.ts'

/** Other servers learn what one has counted after this time and that of a write: within a second. */
const shareMs = 400
const failedMs = 2_000

/** Makes limits apply to all servers on one record together. */
export function startSharingLimits(
  db: Database,
  limits: Limits,
  failed: (error: unknown) => void,
): BackgroundWork {
  const holder = newId()
  return inBackground({
    firstMs: shareMs,
    failedMs,
    failed,
    async run() {
      await limits.share((users) => db.write('shareSpending', { holder, users, now: now() }))
      return shareMs
    },
  })
}
