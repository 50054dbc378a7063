import { setTimeout as sleep } from 'node:timers/promises'
import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { findUnstored } from '../../storage/evaluations/columns/gather.ts'
import { storeColumns } from '../../storage/evaluations/columns/store-columns.ts'
import { readPending } from '../../storage/evaluations/pending.ts'
import { boundTo } from '../../storage/transaction.ts'
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

/** An evaluation whose trials have not changed for this long is at rest. */
const restMs = 1_000
/** Evaluations examined in one step; the others wait for the next. */
const evaluationsAtOnce = 50
/**
 * After packing an evaluation, the work pauses for this many times as long. An evaluation that keeps changing is so
 * packed only now and then.
 */
const pauses = 4

/** Packs the columns of evaluations whose trials have changed, once they are at rest. */
export function startStoringColumns(db: Database, failed: (error: unknown) => void): BackgroundWork {
  let before = new Map<string, string>()
  return inBackground({
    firstMs: restMs,
    failedMs,
    failed,
    async run(signal) {
      const unkept = await findUnstored(db, evaluationsAtOnce)
      const now = new Map<string, string>()
      for (const of of unkept) {
        const key = JSON.stringify([of.project_id, of.evaluation_id])
        if (before.get(key) === of.version && !signal.aborted) {
          const since = performance.now()
          await storeColumns(boundTo(db, signal), of).catch((error: unknown) => {
            if (!signal.aborted) throw error
          })
          await sleep((performance.now() - since) * pauses, undefined, { signal }).catch(() => undefined)
        }
        now.set(key, of.version)
      }
      before = now
      return restMs
    },
  })
}
