import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'

const rowsAtOnce = 200
const bytesAtOnce = 4 << 20
const idleMs = 5_000
const busyMs = 50

/** How long a deleted call is remembered without its content, so that a late part cannot bring it back. */
const remembered = 7 * 86_400_000_000

/** An upload without progress for this long is abandoned. */
const uploadAbandoned = 86_400_000_000

export interface Sweep {
  stop(): Promise<void>
}

/**
 * Frees the space of deleted and expired calls and of abandoned uploads in the background, in small
 * steps.
 */
export function startSweep(db: Database, failed: (error: unknown) => void): Sweep {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  let stopped = false

  async function step(): Promise<void> {
    let pause = idleMs
    try {
      const time = now()
      const touched = await db.write('sweepCalls', {
        now: time,
        forgetBefore: time - remembered,
        limit: rowsAtOnce,
        bytes: bytesAtOnce,
      })
      const hasAbandoned = await db.write('sweepUploads', { before: time - uploadAbandoned })
      const hasMoreSpace = await db.reclaim()
      if (touched > 0 || hasAbandoned || hasMoreSpace) pause = busyMs
    } catch (error) {
      failed(error)
    }
    if (!stopped) plan(pause)
  }

  function plan(pause: number): void {
    timer = setTimeout(() => {
      running = step()
    }, pause)
    timer.unref()
  }

  plan(idleMs)
  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}
