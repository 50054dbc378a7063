import { useState } from 'preact/hooks'
import { ExportButton } from '../../export/button.tsx'
import { live } from '../../export/contents.ts'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { pageSize } from '../../parts/paged-list.ts'
import { type Shortcut, useShortcuts } from '../../parts/shortcuts.ts'
import { FailedScreen, LoadingScreen } from '../../parts/states.tsx'
import { missingQueue } from '../../review/missing-queue.ts'
import { ProgressBar } from '../../review/progress-bar.tsx'
import { navigate, search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import { deleteQueue, readQueue, readStats } from '../../server/queues.ts'
import { existedUntilDeleted } from '../../server/request.ts'
import { may, mayReview } from '../../server/rights.ts'
import { Markdown } from '../../value/markdown.tsx'
import { ChangeQueue } from './change-queue.tsx'
import { Items, stateIn } from './items.tsx'
import { Reviewers } from './reviewers.tsx'
import { Rules } from './rules.tsx'

const tabs = { items: 'Items', rules: 'Rules', reviewers: 'Reviewers' } as const
type Tab = keyof typeof tabs

async function readAll(project: string, queue: string, signal: AbortSignal) {
  const [found, stats] = await Promise.all([
    readQueue(project, queue, signal),
    readStats(project, [queue], signal),
  ])
  return { found, stats: stats.get(queue) }
}

/** One queue: its items, its rules and its reviewers. */
export function QueueScreen({ project, queue }: { project: string; queue: string }) {
  const { value, error, reload } = useLoading((signal) => readAll(project, queue, signal), [project, queue])
  const [front, setFront] = useState<'change' | 'delete'>()
  const asked = search.value.get('tab')
  const tab: Tab = asked === 'rules' || asked === 'reviewers' ? asked : 'items'
  const review = paths.review(project, queue)
  const isReviewer = value !== undefined && mayReview(project, value.found)
  const mayWrite = may('write', project)
  const bindings: Shortcut[] = [
    ...(isReviewer ? [{ keys: ['r'], does: 'Review', run: () => navigate(review) }] : []),
    ...(mayWrite ? [{ keys: ['e'], does: 'Edit name and questions', run: () => setFront('change') }] : []),
    { keys: ['Escape'], does: 'All queues', run: () => navigate(paths.queues(project)) },
  ]
  useShortcuts('Queue', [], bindings)
  if (error) {
    return <FailedScreen name="Queue" {...{ error, retry: reload }} missing={missingQueue(project)} />
  }
  if (value?.stats === undefined) return <LoadingScreen />
  const { found, stats } = value
  return (
    <main class="screen queue">
      <header class="queue-head">
        <div class="queue-name">
          <h1 dir="auto">{found.name}</h1>
          {found.description !== '' && (
            <div class="muted guidelines" tabIndex={0}>
              <Markdown text={found.description} />
            </div>
          )}
        </div>
        <ProgressBar done={stats.completed_items} all={stats.total_items} />
        <div class="queue-tools" data-file={null}>
          {mayWrite &&
            (['change', 'delete'] as const).map((dialog) => (
              <button key={dialog} type="button" onClick={() => setFront(dialog)}>
                {dialog === 'change' ? 'Edit' : 'Delete'}
              </button>
            ))}
          <ExportButton
            what="queue"
            load={async () =>
              (await import('../../export/all.ts')).exportOfQueue(
                { project, queue, state: stateIn(search.value) },
                pageSize,
              )
            }
          />
          {isReviewer && (
            <a class="button main-button" href={review}>
              Review
            </a>
          )}
        </div>
      </header>
      <div class="tabs" role="tablist" aria-label="Queue sections">
        {(Object.keys(tabs) as Tab[]).map((one) => (
          <button
            key={one}
            type="button"
            role="tab"
            id={`queue-${one}`}
            aria-selected={one === tab}
            aria-controls="queue-panel"
            onClick={() =>
              setSearch({ tab: one === 'items' ? undefined : one, ...live({ state: undefined }) })
            }
          >
            {tabs[one]}
          </button>
        ))}
      </div>
      <div class="queue-panel" role="tabpanel" id="queue-panel" aria-labelledby={`queue-${tab}`}>
        {tab === 'items' && <Items {...{ project, queue, stats, isReviewer }} />}
        {tab === 'rules' && <Rules {...{ project, queue, mayWrite }} />}
        {tab === 'reviewers' && <Reviewers stats={stats} />}
      </div>
      {front === 'change' && (
        <ChangeQueue
          {...{ project, queue: found }}
          onClose={() => setFront(undefined)}
          onChanged={() => {
            setFront(undefined)
            reload()
          }}
        />
      )}
      {front === 'delete' && (
        <ConfirmDialog
          title="Delete this queue?"
          text={`“${found.name}” and its rules will be deleted for everybody. The calls and their reviews are kept.`}
          yes="Delete queue"
          onYes={async () => {
            if (await existedUntilDeleted(deleteQueue(project, queue)))
              navigate(paths.queues(project), { replaces: true })
            // The screen reads it again, says that it is gone, and links on.
            else reload()
          }}
          onClose={() => setFront(undefined)}
        />
      )}
    </main>
  )
}
