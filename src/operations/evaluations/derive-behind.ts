import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { readPending } from '../../storage/evaluations/pending.ts'

/** So few that a write that waits behind them hardly notices. */
const trialsAtOnce = 8
/** Parts of one trial that arrive within this are looked at once. */
const pauseMs = 100
/** After a failure, which is likely to be there still. */
const longPauseMs = 5_000

/** Derives the results of what was written behind the writes, so that whoever asks for them finds them done. */
export function startDeriving(db: Database, failed: (error: unknown) => void): { stop(): Promise<void> } {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  let stopped = false

  async function deriveAll(): Promise<void> {
    let pause = pauseMs
    try {
      // A look that costs next to nothing.
      let hasMore = (await readPending(db, null, 1)).length > 0
      while (hasMore && !stopped) {
        hasMore = await db.writeBehind('deriveNext', { limit: trialsAtOnce, now: now() })
      }
    } catch (error) {
      failed(error)
      pause = longPauseMs
    }
    plan(pause)
  }

  function plan(pause: number): void {
    if (stopped) return
    timer = setTimeout(() => {
      running = deriveAll()
    }, pause)
    timer.unref()
  }

  plan(pauseMs)
  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}
