import { useLayoutEffect, useState } from 'preact/hooks'
import { Dialog } from '../parts/dialog.tsx'
import { Problem, Skeleton } from '../parts/states.tsx'
import { useWork } from '../parts/work.ts'
import { paths } from '../routes.ts'
import { useLoading } from '../server/loading.ts'
import {
  type Added,
  addToQueue,
  type CallPair,
  makeQueue,
  mostQueues,
  type Queue,
  readQueues,
} from '../server/queues.ts'
import { countText } from '../value/units.ts'
import { AddedDialog } from './done-adding.tsx'

interface Props {
  project: string
  /** Ids of the calls, or pairs of them. */
  calls: readonly (string | CallPair)[]
  /** What the user adds; of a conversation the queue gets its last turn. */
  noun?: 'call' | 'conversation' | 'pair'
  /** What they were chosen from, if that is only a part. */
  of?: string | undefined
  onClose(): void
}

/** Adds calls or pairs to an existing or a new queue and shows the result. */
export function AddToQueue({ project, calls, noun = 'call', of, onClose }: Props) {
  const [text, setText] = useState('')
  const name = text.trim()
  const { queues, isSought, error } = useQueuesOf(project, name)
  const [at, setAt] = useState(0)
  const { isWorking, failure, work } = useWork()
  const [done, setDone] = useState<{ name: string; id: string; added: Added }>()
  const found = (queues ?? []).filter((queue) => queue.name.toLowerCase().includes(name.toLowerCase()))
  const isNew = isSought && name !== '' && !found.some((queue) => queue.name === name)
  const choices: (Queue | undefined)[] = [...found.slice(0, 8), ...(isNew ? [undefined] : [])]
  const chosen = Math.min(at, choices.length - 1)
  const title = `Add ${calls.length === 1 ? `this ${noun}` : `${countText(calls.length)} ${noun}s`} to a queue`

  const add = (queue: Queue | undefined) =>
    work(async () => {
      const id = queue?.id ?? (await makeQueue(project, { name }))
      setDone({ name: queue?.name ?? name, id, added: await addToQueue(project, id, calls) })
    })
  // Until the server has looked for the name, Enter waits for the answer.
  const [isAwaited, setAwaited] = useState(false)
  const enter = () => {
    setAwaited(chosen === -1 && !isSought)
    if (chosen !== -1 && !isWorking) void add(choices[chosen])
  }
  useLayoutEffect(() => {
    if (isAwaited && isSought) enter()
  }, [isAwaited, isSought])

  if (done) {
    return (
      <AddedDialog
        label={title}
        text={addedText(done.added)}
        to={{ name: done.name, href: paths.queue(project, done.id) }}
        onClose={onClose}
      />
    )
  }
  return (
    <Dialog label={title} onClose={onClose}>
      <div class="add-to">
        {of && <p class="muted">{of}</p>}
        <input
          role="combobox"
          autofocus
          aria-expanded="true"
          aria-controls="queue-choices"
          aria-label="Queue name"
          aria-activedescendant={chosen === -1 ? undefined : `queue-choice-${chosen}`}
          placeholder="Find or create a queue"
          maxLength={1024}
          value={text}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value)
            setAt(0)
            setAwaited(false)
          }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') setAt(Math.min(choices.length - 1, chosen + 1))
            else if (event.key === 'ArrowUp') setAt(Math.max(0, chosen - 1))
            else if (event.key === 'Enter') enter()
            else return
            event.preventDefault()
          }}
        />
        {queues === undefined && !error && <Skeleton rows={3} />}
        {queues !== undefined && choices.length === 0 && (
          <p class="muted">No queues yet. Type a name to create one.</p>
        )}
        <div role="listbox" id="queue-choices" aria-label="Queues">
          {choices.map((queue, index) => (
            <div
              key={queue?.id ?? 'new'}
              id={`queue-choice-${index}`}
              role="option"
              aria-selected={index === chosen}
              onClick={() => !isWorking && void add(queue)}
            >
              <span>{queue?.name ?? `Create “${name}”`}</span>
              <span class="muted">{queue ? queue.created_by : 'new queue'}</span>
            </div>
          ))}
        </div>
        {found.length > 8 && (
          <p class="muted">
            The first 8 of {countText(found.length)}; type more of the name to narrow them down.
          </p>
        )}
        <Problem text={(failure ?? error)?.message} />
      </div>
    </Dialog>
  )
}

/** The newest queues; if there are more, also those whose names contain `name`. */
function useQueuesOf(project: string, name: string) {
  const newest = useLoading((signal) => readQueues(project, signal), [project])
  const isPart = newest.value?.length === mostQueues
  const asked = isPart ? name : ''
  const named = useLoading(
    async (signal) => ({
      asked,
      queues: asked === '' ? [] : await readQueues(project, signal, { name: asked }),
    }),
    [project, asked],
  )
  const error = newest.error ?? named.error
  if (asked === '') return { queues: newest.value, isSought: newest.value !== undefined, error }
  // Until the server answers, offer the queues that are loaded and no new one.
  const isSought = named.value?.asked === asked
  return { queues: isSought ? named.value?.queues : newest.value, isSought, error }
}

function addedText({ added, before, unknown }: Added): string {
  const parts = [`${countText(added)} added`]
  if (before > 0) parts.push(`${countText(before)} already there`)
  if (unknown > 0) parts.push(`${countText(unknown)} not found: deleted or expired`)
  return `${parts.join(', ')}.`
}
