import { useLayoutEffect, useRef } from 'preact/hooks'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { keyLabel } from '../../parts/shortcuts-dialog.tsx'
import { Problem } from '../../parts/states.tsx'
import { FieldInput } from '../../review/field-input.tsx'
import { Markdown } from '../../value/markdown.tsx'
import type { LeasedItem } from './leased-item.ts'
import { OthersAnswers } from './others-answers.tsx'
import type { Questions } from './questions.ts'
import type { Review } from './review.ts'

interface Props {
  review: Review
  held: LeasedItem
  questions: Questions
  guidelines: string
  /** This reviewer has completed or skipped the item. */
  isFinished: boolean
  /** This user decides where reviewers disagree. */
  decides: boolean
}

const digits = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '0']

/** The questions, and the buttons that complete or skip the item. */
export function Form({ review, held, questions, guidelines, isFinished, decides }: Props) {
  const form = useRef<HTMLFormElement>(null)
  useLayoutEffect(() => {
    // In a text field, keys would type instead of choosing.
    form.current?.querySelector<HTMLElement>('.question:first-child .chip[tabindex="0"]')?.focus()
  }, [])
  const choose = (key: string) => {
    const fields = [...(form.current?.querySelectorAll('.chips') ?? [])]
    const at = document.activeElement?.closest('.chips') ?? fields[0]
    const chip = at?.querySelector<HTMLButtonElement>(`[data-key="${key}"]`)
    chip?.focus()
    chip?.click()
  }
  useShortcuts('Answer', [{ keys: digits, does: 'Choose an option by number', run: choose }])
  const problems = review.problems.value
  const refused = review.refused.value
  const isWorking = review.isWorking.value
  return (
    <form
      class="review-form"
      aria-label="Your answers"
      ref={form}
      // Enter in a field does not complete the item.
      onSubmit={(event) => event.preventDefault()}
    >
      <div class="questions">
        {guidelines !== '' && (
          <details class="guidelines-note">
            <summary>Guidelines</summary>
            <Markdown text={guidelines} />
          </details>
        )}
        {held.questions.map((question) => {
          const { key, title, description, field } = question
          const problem = problems.get(key)
          return (
            <div key={key} class="question">
              <div class="question-title" id={`q-${key}-label`}>
                {title}
              </div>
              {description !== '' && <p class="muted">{description}</p>}
              {decides && <OthersAnswers question={question} answers={held.others} />}
              <FieldInput
                id={`q-${key}`}
                field={field}
                draft={held.drafts.value.get(key)}
                isDisabled={isFinished}
                onChange={(draft) => review.answer(key, draft)}
              />
              <Problem text={problem} />
            </div>
          )
        })}
        {questions.missing.length > 0 && held.other === undefined && (
          <p class="muted">
            Not asked, because these annotation specs do not exist in this project:{' '}
            {questions.missing.join(', ')}
          </p>
        )}
      </div>
      {refused && (
        <div class="problem" role="alert">
          Item {refused.save.held.item.position_in_queue} is not saved: {refused.error.message}{' '}
          {refused.save.held.item.id !== held.item.id && (
            <button type="button" onClick={() => void review.backToRefused()}>
              Go back to it
            </button>
          )}
        </div>
      )}
      {review.notice.value !== undefined && (
        <div class="problem" role="alert">
          {review.notice.value}
        </div>
      )}
      <div class="review-acts">
        {isFinished ? (
          <>
            <span class="muted">You {held.item.own_annotation_state} this item.</span>
            <button type="button" disabled={isWorking} onClick={() => void review.reopen(held)}>
              Reopen
            </button>
            <button type="button" class="main-button" onClick={() => void review.lookFurther()}>
              Next item
            </button>
          </>
        ) : (
          <>
            <button
              type="button"
              disabled={review.undoable.value === undefined || isWorking}
              onClick={() => void review.undo()}
            >
              Undo <kbd>u</kbd>
            </button>
            <button type="button" disabled={isWorking} onClick={() => void review.finish('skipped')}>
              Skip <kbd>s</kbd>
            </button>
            <button
              type="button"
              class="main-button"
              disabled={isWorking}
              onClick={() => void review.finish('completed')}
            >
              Complete <kbd>{keyLabel('Ctrl+Enter')}</kbd>
            </button>
          </>
        )}
      </div>
    </form>
  )
}
