import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { serverUrl } from '../../base.ts'
import { listKeys, useShortcuts } from '../../parts/shortcuts.ts'
import { Empty, Failed, FailedScreen, Skeleton } from '../../parts/states.tsx'
import { VirtualList } from '../../parts/virtual-list.tsx'
import { navigate, search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import { isForbidden } from '../../server/request.ts'
import { may } from '../../server/rights.ts'
import { inQuotedJson } from '../../value/shell.ts'
import { countText } from '../../value/units.ts'
import { QueueLine, queueHeight } from './line.tsx'
import { NewQueue } from './new-queue.tsx'
import { createQueueRows } from './rows.ts'

/** The queues of a project and their progress. */
export function QueuesScreen({ project }: { project: string }) {
  const list = useMemo(() => createQueueRows(project), [project])
  useEffect(() => () => list.close(), [list])
  const scroller = useRef<HTMLDivElement>(null)
  const [active, setActive] = useState(-1)
  const [scrollRequest, setScrollRequest] = useState(0)
  const make = () => setSearch({ new: '-' })
  const queues = list.queues.value ?? []
  const isAll = list.isAll.value
  const error = list.error.value
  const current = queues[active]
  const move = (by: number) => {
    setActive(Math.min(queues.length - 1, Math.max(0, active + by)))
    setScrollRequest(scrollRequest + 1)
  }
  const seen = useMemo(
    () => (_: number, last: number) => {
      if (last >= (list.queues.value?.length ?? 0) - 1) void list.more()
    },
    [list],
  )
  const mayMake = may('write', project)
  const review = () => current && navigate(paths.review(project, current.id))
  useShortcuts('Queues', [
    ...listKeys('queue', move, 'Last loaded queue'),
    {
      keys: ['Enter', 'o'],
      does: 'Open queue',
      run: () => current && navigate(paths.queue(project, current.id)),
    },
    ...(may('review', project) ? [{ keys: ['r'], does: 'Review queue', run: review }] : []),
    ...(mayMake ? [{ keys: ['n'], does: 'New queue', run: make }] : []),
  ])
  if (isForbidden(error)) return <FailedScreen name="Queues" error={error} />
  return (
    <main class="screen">
      <header class="queue-head">
        <h1>Queues</h1>
        {queues.length > 0 && (
          <span class="muted">
            {isAll ? countText(queues.length) : `The newest ${countText(queues.length)}; scroll for more`}
          </span>
        )}
        <div class="queue-tools">
          {mayMake && (
            <button type="button" class="main-button" onClick={make}>
              New queue
            </button>
          )}
        </div>
      </header>
      {error && <Failed error={error} retry={() => void list.more()} />}
      {!error && list.queues.value === undefined && <Skeleton rows={6} />}
      {isAll && queues.length === 0 && (
        <div class="in-place">
          <Empty title="No queues yet" command={firstQueue(project)}>
            <p>
              A queue holds calls that people review together; no call goes to two reviewers at the same time.
              Create one here or with the command, then press <kbd>a</kbd> in the list of calls to add some.
            </p>
          </Empty>
        </div>
      )}
      {queues.length > 0 && (
        <div
          class="grid queues-grid"
          role="grid"
          aria-label="Queues"
          aria-rowcount={isAll ? queues.length + 1 : -1}
          tabIndex={0}
          ref={scroller}
        >
          <div class="grid-head" role="row" aria-rowindex={1}>
            {['Queue', 'Reviewed', 'Review', 'By you', 'Created by', 'Created'].map((label) => (
              <div key={label} role="columnheader" class={label === 'By you' ? 'is-number' : ''}>
                {label === 'Review' ? <span class="hidden-text">Review</span> : label}
              </div>
            ))}
          </div>
          <VirtualList
            scroller={scroller}
            count={queues.length}
            height={queueHeight}
            active={active}
            scrollRequest={scrollRequest}
            onRange={seen}
            row={(index, top) => {
              const queue = queues[index]
              return (
                queue && (
                  <QueueLine
                    key={queue.id}
                    {...{ index, top, project, queue, stats: list.stats.value.get(queue.id) }}
                    isActive={index === active}
                    onChoose={() => setActive(index)}
                  />
                )
              )
            }}
          />
        </div>
      )}
      {mayMake && search.value.get('new') !== null && (
        <NewQueue project={project} onClose={() => setSearch({ new: undefined })} />
      )}
    </main>
  )
}

const firstQueue = (project: string) =>
  `curl ${serverUrl()}/annotation_queues \\
  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  -d '{"project_id": "${inQuotedJson(project)}", "name": "Hard questions", "scorer_refs": []}'`
