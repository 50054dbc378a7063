import { useEffect, useMemo, useState } from 'preact/hooks'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { Empty, Failed, FailedScreen, LoadingScreen, Skeleton } from '../../parts/states.tsx'
import { missingQueue } from '../../review/missing-queue.ts'
import { guardLeaving, navigate, search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import { type Queue, readQueue } from '../../server/queues.ts'
import { currentUser } from '../../server/session.ts'
import { Bar } from './bar.tsx'
import { Form } from './form.tsx'
import { ItemView } from './item-view.tsx'
import { PairView } from './pair-view.tsx'
import { type Questions, readQuestions } from './questions.ts'
import { createReview } from './review.ts'

async function readAll(project: string, queue: string, signal: AbortSignal) {
  const found = await readQueue(project, queue, signal)
  return { found, questions: await readQuestions(project, found.scorer_refs, signal) }
}

/** Reviews a queue by keys: one item is shown, the next is already loaded. */
export function ReviewScreen({ project, queue }: { project: string; queue: string }) {
  const { value, error, reload } = useLoading((signal) => readAll(project, queue, signal), [project, queue])
  if (error) {
    return <FailedScreen name="Review" {...{ error, retry: reload }} missing={missingQueue(project)} />
  }
  if (value === undefined) return <LoadingScreen />
  return <Reviewing project={project} queue={value.found} questions={value.questions} />
}

interface Props {
  project: string
  queue: Queue
  questions: Questions
}

function Reviewing({ project, queue, questions }: Props) {
  const review = useMemo(
    () =>
      createReview({
        project,
        queue: queue.id,
        user: currentUser.value?.user ?? '',
        questions: questions.list,
        annotators: annotatorsIn(search.value.get('annotators')),
        onItem: (item) => setSearch({ item }),
      }),
    [],
  )
  const [isWhole, setWhole] = useState(false)
  const asked = search.value.get('item')
  useEffect(() => {
    void (asked === null ? review.lookFurther() : review.open(asked))
    const unguard = guardLeaving(review.loss)
    return () => {
      unguard()
      review.close()
    }
  }, [review])
  const phase = review.phase.value
  const held = phase.kind === 'item' || phase.kind === 'finished' ? phase.held : undefined
  const isThere = phase.kind === 'item'
  useShortcuts('Review', [
    {
      keys: ['Ctrl+Enter'],
      does: 'Complete and go to the next item',
      whileTyping: true,
      run: () => {
        // Leaving the field commits what is being typed.
        if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
        void review.finish('completed')
      },
    },
    { keys: ['s'], does: 'Skip', run: () => void review.finish('skipped') },
    { keys: ['u'], does: 'Undo the last item', run: () => void review.undo() },
    { keys: ['c'], does: 'Show the whole call or only what is asked about', run: () => setWhole(!isWhole) },
    {
      keys: ['t'],
      does: 'Open trace in a new tab',
      run: () => {
        // Who answered is not told before the pair is judged.
        if (held === undefined || (held.other !== undefined && isThere)) return
        const { call_trace_id: trace, call_id: call } = held.item
        window.open(paths.trace(project, trace, call), '_blank', 'noopener')
      },
    },
    { keys: ['Escape'], does: 'Back to the queue', run: () => navigate(paths.queue(project, queue.id)) },
  ])
  return (
    <main class="screen review">
      <h1 class="hidden-text">Review of {queue.name}</h1>
      <Bar review={review} project={project} queue={queue} />
      {phase.kind === 'failed' && (
        <Failed
          error={phase.error}
          retry={() => void review.lookFurther()}
          missing={{ title: 'Item not found', href: paths.queue(project, queue.id), to: 'Open queue' }}
        />
      )}
      {phase.kind === 'looking' && <Skeleton rows={12} />}
      {phase.kind === 'none' && <Done project={project} queue={queue} review={review} />}
      {held && (
        <div class="review-body">
          {held.other === undefined ? (
            <ItemView key={held.item.id} {...{ project, held, isWhole }} onWhole={setWhole} />
          ) : (
            <PairView key={held.item.id} {...{ project, held, other: held.other }} isHidden={isThere} />
          )}
          <Form
            key={`form ${held.item.id} ${isThere}`}
            {...{ review, held, questions, isFinished: !isThere }}
            guidelines={queue.description}
            decides={queue.adjudicators.includes(currentUser.value?.user ?? '')}
          />
        </div>
      )}
    </main>
  )
}

const annotatorsIn = (text: string | null): number | undefined => {
  const given = Number(text)
  return Number.isInteger(given) && given >= 1 && given <= 100 ? given : undefined
}

function Done({
  project,
  queue,
  review,
}: Pick<Props, 'project' | 'queue'> & { review: ReturnType<typeof createReview> }) {
  const others = review.othersOn.value
  const isEmpty = review.stats.value?.total_items === 0
  useEffect(() => {
    // An item that another reviewer releases is available again.
    if (others === 0) return
    const timer = setInterval(() => void review.lookFurther(), 15_000)
    return () => clearInterval(timer)
  }, [others])
  const title = isEmpty
    ? 'This queue is empty'
    : others > 0
      ? 'Others are still reviewing'
      : 'Nothing left to review'
  return (
    <Empty title={title}>
      <p>
        {isEmpty
          ? 'Press a in the list of calls to add some.'
          : others > 0
            ? `${others === 1 ? 'One item is' : `${others} items are`} with other reviewers. Items that they release appear here.`
            : 'You have completed or skipped every open item.'}
      </p>
      <div class="in-line">
        <button type="button" onClick={() => void review.lookFurther()}>
          Check again
        </button>
        <a class="button" href={paths.queue(project, queue.id)}>
          Open queue
        </a>
      </div>
    </Empty>
  )
}
