import { useEffect, useState } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { ProgressBar } from '../../review/progress-bar.tsx'
import { paths } from '../../routes.ts'
import type { Queue } from '../../server/queues.ts'
import { currentUser } from '../../server/session.ts'
import { countText, durationText } from '../../value/units.ts'
import type { Review } from './review.ts'

/** The countdown of a lease is shown in its last minutes. */
const shownFromMs = 2 * 60_000

interface Props {
  review: Review
  project: string
  queue: Queue
}

/** The progress of all reviewers, and whether everything is saved. */
export function Bar({ review, project, queue }: Props) {
  const stats = review.stats.value
  const mine = stats?.by_user.find(({ user }) => user === currentUser.value?.user)
  const pace = review.pace()
  const others = review.othersOn.value
  return (
    <div class="review-bar">
      <a class="icon-button" href={paths.queue(project, queue.id)} aria-label="Back to the queue">
        <Icon name="back" />
      </a>
      <span class="strong clipped" title={queue.name}>
        {queue.name}
      </span>
      {stats && <ProgressBar done={stats.completed_items} all={stats.total_items} />}
      {stats && <span class="muted">{countText((mine?.completed ?? 0) + (mine?.skipped ?? 0))} by you</span>}
      {stats && <span class="muted">{countText(stats.total_items - stats.completed_items)} left</span>}
      {pace !== undefined && <span class="muted">{durationText(pace * 1_000)} each</span>}
      {others > 0 && <span class="muted">{others === 1 ? '1 other' : `${others} others`} reviewing</span>}
      <span class="review-news">
        <LeaseClock review={review} />
        <Saving review={review} />
      </span>
    </div>
  )
}

function Saving({ review }: { review: Review }) {
  const waiting = review.waiting.value
  const fault = review.fault.value
  const isRefused = review.refused.value !== undefined
  const hasSaved = review.undoable.value !== undefined
  return (
    <span role="status" class={fault === undefined && !isRefused ? 'muted' : 'problem'}>
      {fault !== undefined
        ? `${countText(waiting)} not saved: ${fault} Trying again.`
        : waiting > 0
          ? 'Saving'
          : isRefused
            ? 'Not saved'
            : hasSaved
              ? 'Saved'
              : ''}
    </span>
  )
}

function LeaseClock({ review }: { review: Review }) {
  const [now, setNow] = useState(performance.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  const held = review.current.value
  const taker = review.takenBy.value
  if (held === undefined) return null
  if (taker !== undefined) {
    return (
      <span class="problem" role="alert">
        {taker} has this item now.{' '}
        <button type="button" onClick={() => void review.lookFurther()}>
          Next item
        </button>
      </span>
    )
  }
  const left = held.until.value - now
  if (left <= 0) {
    return (
      <span class="problem" role="alert">
        Your lease ran out: others may get this item.{' '}
        <button type="button" onClick={() => void review.takeAgain()}>
          Renew lease
        </button>
      </span>
    )
  }
  if (left > shownFromMs) return null
  const seconds = Math.ceil(left / 1_000)
  return (
    <span class="lease-clock" role="timer">
      kept for you {Math.floor(seconds / 60)}:{String(seconds % 60).padStart(2, '0')}
    </span>
  )
}
