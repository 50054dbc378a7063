import { useState } from 'preact/hooks'
import { useKeys } from '../../parts/keys.ts'
import { Empty, Failed, Skeleton } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { paths } from '../../places.ts'
import { ProgressBar } from '../../review/progress-bar.tsx'
import { go } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import { mostQueues, readQueues, readStats } from '../../server/queues.ts'
import { who } from '../../server/session.ts'
import { inQuotedJson } from '../../value/shell.ts'
import { countText } from '../../value/units.ts'
import { NewQueue } from './new-queue.tsx'

async function readAll(project: string, signal: AbortSignal) {
  const queues = await readQueues(project, signal)
  const ids = queues.map(({ id }) => id)
  return { queues, stats: await readStats(project, ids, signal) }
}

/** What people review together, and how far they are. */
export function QueuesScreen({ project }: { project: string }) {
  const { value, error, again } = useLoading((signal) => readAll(project, signal), [project])
  const [active, setActive] = useState(-1)
  const [isMaking, setMaking] = useState(false)
  const queues = value?.queues ?? []
  const current = queues[active]
  const move = (by: number) => setActive(Math.min(queues.length - 1, Math.max(0, active + by)))
  useKeys('Queues', [
    { keys: ['j', 'ArrowDown'], does: 'Next queue', run: () => move(1) },
    { keys: ['k', 'ArrowUp'], does: 'Previous queue', run: () => move(-1) },
    { keys: ['Enter', 'o'], does: 'Open it', run: () => current && go(paths.queue(project, current.id)) },
    { keys: ['r'], does: 'Review it', run: () => current && go(paths.review(project, current.id)) },
    { keys: ['n'], does: 'Make a queue', run: () => setMaking(true) },
  ])
  return (
    <main class="screen sheet">
      <header class="sheet-head">
        <h1>Queues</h1>
        <button type="button" class="main-button" onClick={() => setMaking(true)}>
          New queue
        </button>
      </header>
      {error && <Failed error={error} again={again} />}
      {!error && value === undefined && <Skeleton rows={6} />}
      {value && queues.length === 0 && (
        <Empty title="No queue yet" command={firstQueue(project)}>
          <p>
            A queue holds calls that people look at together: nobody gets a call that somebody else is on.
            Make one here or by a command, then add calls with <kbd>a</kbd> in the list of calls.
          </p>
        </Empty>
      )}
      {queues.length > 0 && (
        <div class="scrolled">
          <table class="table queue-list">
            <thead>
              <tr>
                <th scope="col">Queue</th>
                <th scope="col">Reviewed</th>
                <th scope="col" class="is-number">
                  By you
                </th>
                <th scope="col">Made by</th>
                <th scope="col">Made</th>
                <th scope="col">
                  <span class="hidden-text">Review</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {queues.map((queue, index) => {
                const stats = value?.stats.get(queue.id)
                const mine = stats?.by_user.find(({ user }) => user === who.value?.user)
                return (
                  <tr
                    key={queue.id}
                    class={index === active ? 'is-active' : ''}
                    aria-selected={index === active}
                    ref={(row) => void (index === active && row?.scrollIntoView({ block: 'nearest' }))}
                  >
                    <td>
                      <a class="strong" href={paths.queue(project, queue.id)}>
                        {queue.name}
                      </a>
                      {queue.description !== '' && <div class="muted clipped">{queue.description}</div>}
                    </td>
                    <td>{stats && <ProgressBar done={stats.completed_items} all={stats.total_items} />}</td>
                    <td class="is-number">{countText((mine?.completed ?? 0) + (mine?.skipped ?? 0))}</td>
                    <td>{queue.created_by}</td>
                    <td>
                      <Time at={queue.created_at} />
                    </td>
                    <td class="is-number">
                      <a
                        class="button"
                        href={paths.review(project, queue.id)}
                        aria-label={`Review ${queue.name}`}
                      >
                        Review
                      </a>
                    </td>
                  </tr>
                )
              })}
            </tbody>
          </table>
        </div>
      )}
      {queues.length === mostQueues && (
        <p class="muted">These are the newest {countText(mostQueues)}; there may be more.</p>
      )}
      {isMaking && <NewQueue project={project} onClose={() => setMaking(false)} />}
    </main>
  )
}

const firstQueue = (project: string) =>
  `curl ${location.origin}/annotation_queues \\
  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  -d '{"project_id": "${inQuotedJson(project)}", "name": "Hard questions", "scorer_refs": []}'`
