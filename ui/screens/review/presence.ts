import { type ReadonlySignal, signal } from '@preact/signals'
import type { QueueItem } from '../../server/queues.ts'
import { setProgress } from '../../server/reviews.ts'
import type { ReviewContext } from './item-source.ts'
import { type LeasedItem, leaseEnd } from './leased-item.ts'

const beatEveryMs = 5 * 60_000
/** A reviewer without input for this long counts as absent. */
const idleAfterMs = 5 * 60_000
/** Input in the last minutes of a lease extends it at once. */
const lastMs = 2 * 60_000

const moves = ['keydown', 'pointerdown', 'pointermove', 'wheel']

/** Keeps the current item leased while the reviewer is active. `stays` is called whenever the lease is extended. */
export function createPresence(
  { project, queue, user }: ReviewContext,
  current: ReadonlySignal<LeasedItem | undefined>,
  stays: (held: LeasedItem) => void,
) {
  /** Who took the item over after the lease ran out. */
  const takenBy = signal<string | undefined>(undefined)
  let lastMoved = performance.now()

  function see({ lease }: QueueItem): void {
    const isOther = lease !== null && lease.user !== user && Date.parse(lease.expires_at) > Date.now()
    takenBy.value = isOther ? lease.user : undefined
  }

  /** Reports that the item is being worked on, which extends the lease or reveals who has it now. */
  async function beat(): Promise<void> {
    const held = current.value
    if (held === undefined) return
    const asked = performance.now()
    try {
      const item = await setProgress(project, queue, held.item.id, 'in_progress')
      if (current.value !== held) return
      see(item)
      if (takenBy.value === undefined) held.until.value = leaseEnd(asked)
    } catch {
      // The countdown continues and shows how long the lease lasts.
    }
  }

  const timer = setInterval(() => {
    if (performance.now() - lastMoved > idleAfterMs || document.visibilityState !== 'visible') return
    const held = current.value
    if (held === undefined || held.until.value < performance.now()) return
    void beat()
    stays(held)
  }, beatEveryMs)

  const onMove = () => {
    const now = performance.now()
    lastMoved = now
    const held = current.value
    const left = held === undefined ? Infinity : held.until.value - now
    if (held !== undefined && left > 0 && left < lastMs && takenBy.value === undefined) {
      held.until.value = now + lastMs
      void beat()
    }
  }

  for (const kind of moves) addEventListener(kind, onMove)

  return {
    takenBy,
    see,
    beat,
    close(): void {
      clearInterval(timer)
      for (const kind of moves) removeEventListener(kind, onMove)
    },
  }
}
