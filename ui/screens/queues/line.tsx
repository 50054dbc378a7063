import { Time } from '../../parts/time.tsx'
import { movedTo } from '../../parts/virtual-list.tsx'
import { ProgressBar } from '../../review/progress-bar.tsx'
import { paths } from '../../routes.ts'
import type { Queue, QueueStats } from '../../server/queues.ts'
import { mayReview } from '../../server/rights.ts'
import { currentUser } from '../../server/session.ts'
import { countText } from '../../value/units.ts'

/** As in style/queues.css. */
export const queueHeight = 3

interface Props {
  index: number
  top: number
  project: string
  queue: Queue
  stats: QueueStats | undefined
  isActive: boolean
  onChoose(): void
}

export function QueueLine({ index, top, project, queue, stats, isActive, onChoose }: Props) {
  const mine = stats?.by_user.find(({ user }) => user === currentUser.value?.user)
  return (
    <div
      class={`grid-row ${isActive ? 'is-active' : ''}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isActive}
      ref={movedTo(top)}
      onClick={onChoose}
    >
      <div role="gridcell" class="queue-title" title={`${queue.name}\n${queue.description}`}>
        <a class="strong" dir="auto" href={paths.queue(project, queue.id)}>
          {queue.name}
        </a>
        {queue.description !== '' && (
          <span class="muted" dir="auto">
            {queue.description}
          </span>
        )}
      </div>
      <div role="gridcell">
        {stats && <ProgressBar done={stats.completed_items} all={stats.total_items} />}
      </div>
      <div role="gridcell">
        {mayReview(project, queue) && (
          <a class="button" href={paths.review(project, queue.id)} aria-label={`Review ${queue.name}`}>
            Review
          </a>
        )}
      </div>
      <div role="gridcell" class="is-number">
        {countText((mine?.completed ?? 0) + (mine?.skipped ?? 0))}
      </div>
      <div role="gridcell">{queue.created_by}</div>
      <div role="gridcell">
        <Time at={queue.created_at} />
      </div>
    </div>
  )
}
