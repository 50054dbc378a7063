import { useRef, useState } from 'preact/hooks'
import { AddToQueue } from '../../parts/add-to-queue.tsx'
import { Copied } from '../../parts/copied.tsx'
import { useKeys } from '../../parts/keys.ts'
import { Question } from '../../parts/question.tsx'
import { type CallsView, deleteCalls, exportCalls } from '../../server/calls.ts'
import { countText } from '../../value/units.ts'

interface Props {
  view: CallsView
  ids: readonly string[]
  onClear(): void
  onDeleted(): void
}

/** What can be done with the calls that are chosen. */
export function Selection({ view, ids, onClear, onDeleted }: Props) {
  const [front, setFront] = useState<'queue' | 'delete'>()
  const what = ids.length === 1 ? '1 call' : `${countText(ids.length)} calls`
  useKeys('Chosen calls', [
    { keys: ['a'], does: 'Add them to a queue', run: () => setFront('queue') },
    { keys: ['Delete'], does: 'Delete them', run: () => setFront('delete') },
    { keys: ['Escape'], does: 'Choose none', run: onClear },
  ])
  return (
    <div class="selection" role="toolbar" aria-label="Chosen calls">
      <strong>{what}</strong>
      <button type="button" onClick={() => setFront('queue')}>
        Add to queue
      </button>
      <Export view={view} ids={ids} />
      <Copied text={ids.join('\n')} label="Copy their ids">
        Copy ids
      </Copied>
      <button type="button" onClick={() => setFront('delete')}>
        Delete
      </button>
      <button type="button" class="quiet" onClick={onClear}>
        Choose none
      </button>
      {front === 'queue' && (
        <AddToQueue project={view.project} calls={ids} onClose={() => setFront(undefined)} />
      )}
      {front === 'delete' && (
        <Question
          title={`Delete ${what}?`}
          text="They go with all calls below them, and cannot be brought back."
          yes={`Delete ${what}`}
          onYes={async () => {
            await deleteCalls(view.project, ids)
            onDeleted()
          }}
          onClose={() => setFront(undefined)}
        />
      )}
    </div>
  )
}

/** Whole calls as a file: those that are chosen, or all of the view. */
export function Export({ view, ids }: { view: CallsView; ids?: readonly string[] }) {
  const running = useRef<AbortController>(undefined)
  const [state, setState] = useState<{ count: number } | { failure: string }>()
  const isRunning = state !== undefined && 'count' in state
  const run = async () => {
    if (isRunning) return running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    setState({ count: 0 })
    try {
      const told = (count: number) => setState({ count })
      const blob = await exportCalls(view, ids ? { ids } : {}, told, controller.signal)
      saveAs(blob, `${view.project.replace('/', '-')}-calls.jsonl`)
      setState(undefined)
    } catch (given) {
      setState(controller.signal.aborted ? undefined : { failure: (given as Error).message })
    }
  }
  return (
    <>
      <button type="button" onClick={() => void run()}>
        {isRunning ? `Stop at ${countText(state.count)}` : 'Export JSONL'}
      </button>
      {state !== undefined && 'failure' in state && (
        <span class="problem" role="alert">
          {state.failure}
        </span>
      )}
    </>
  )
}

function saveAs(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  // The browser has taken it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
