import { useState } from 'preact/hooks'
import { NoteForm } from '../adding/note-form.tsx'
import { Icon } from '../parts/icon.tsx'
import { Failed, Skeleton } from '../parts/states.tsx'
import { Time } from '../parts/time.tsx'
import { addFeedback, feedbackOf, removeFeedback } from '../server/feedback.ts'
import { useLoading } from '../server/loading.ts'
import { may } from '../server/rights.ts'
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
  const [failure, setFailure] = useState<Error>()
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
  if (error) return <Failed error={error} retry={reload} />
  if (value === undefined) return <Skeleton rows={3} />
  return (
    <div class="feedback">
      {may('review', project) && (
        <NoteForm
          about={`${project} ${about}`}
          label={`A note on this ${what}`}
          onKeep={(note) => change(addFeedback(project, about, { kind: 'note', note }))}
        />
      )}
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
