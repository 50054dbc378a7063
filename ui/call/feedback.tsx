import { useState } from 'preact/hooks'
import { Icon } from '../parts/icon.tsx'
import { type Shortcut, useShortcuts } from '../parts/shortcuts.ts'
import { Failed, Skeleton } from '../parts/states.tsx'
import { Time } from '../parts/time.tsx'
import { addFeedback, feedbackOf, type NewFeedback, removeFeedback } from '../server/feedback.ts'
import { useLoading } from '../server/loading.ts'
import { currentUser } from '../server/session.ts'
import { FeedbackAuthor, FeedbackContent } from './feedback-content.tsx'

interface Props {
  project: string
  /** The reference to what it is about, and the word for it. */
  about: string
  what: string
  onChanged: (() => void) | undefined
}

/** Feedback on a call or a conversation from people and scorers, with a form to add some. */
export function Feedback({ project, about, what, onChanged }: Props) {
  const { value, error, reload } = useLoading(
    (signal) => feedbackOf(project, about, signal),
    [project, about],
  )
  const label = `A note on this ${what}`
  const [failure, setFailure] = useState<Error>()
  const [note, setNote] = useState('')
  const change = async (work: Promise<void>) => {
    try {
      await work
      setFailure(undefined)
      reload()
      onChanged?.()
      return true
    } catch (given) {
      setFailure(given as Error)
      return false
    }
  }
  const add = (given: NewFeedback) => change(addFeedback(project, about, given))
  const keepNote = async () => {
    if (note.trim() !== '' && (await add({ kind: 'note', note: note.trim() }))) setNote('')
  }
  const bindings: Shortcut[] = [
    { keys: ['Ctrl+Enter'], does: 'Add note', whileTyping: true, run: () => void keepNote() },
  ]
  useShortcuts('Feedback', [], bindings)
  if (error) return <Failed error={error} retry={reload} />
  if (value === undefined) return <Skeleton rows={3} />
  return (
    <div class="feedback">
      <div class="feedback-add" data-file={null}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            void keepNote()
          }}
        >
          <label class="hidden-text" for="note">
            {label}
          </label>
          <textarea
            id="note"
            rows={2}
            maxLength={1024}
            placeholder={label}
            value={note}
            onInput={({ currentTarget }) => setNote(currentTarget.value)}
          />
          <button type="submit" disabled={note.trim() === ''}>
            Add note
          </button>
        </form>
      </div>
      {failure && (
        <p class="problem" role="alert">
          {failure.message}
        </p>
      )}
      {value.length === 0 ? (
        <p class="muted">No feedback on this {what} yet.</p>
      ) : (
        <ul class="feedback-list">
          {value.map((one) => (
            <li key={one.id}>
              <FeedbackContent entry={one} />
              <span class="muted">
                <FeedbackAuthor entry={one} /> <Time at={one.at} />
              </span>
              {one.by === currentUser.value?.user && (
                <button
                  type="button"
                  class="icon-button"
                  aria-label="Remove this feedback"
                  onClick={() => void change(removeFeedback(project, one.id))}
                >
                  <Icon name="trash" />
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
