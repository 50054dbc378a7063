import { Select } from '../parts/select.tsx'
import type { ReviewSettings } from '../server/queues.ts'

/** The settings as they are typed. */
interface Draft {
  annotators: string
  reviewers: string
  isBlind: boolean
  adjudication: ReviewSettings['adjudication']
  adjudicators: string
  tolerance: string
}

export const draftOfReview = (review: ReviewSettings | undefined): Draft => ({
  annotators: String(review?.annotators ?? 1),
  reviewers: review?.reviewers.join(', ') ?? '',
  isBlind: review?.blind ?? false,
  adjudication: review?.adjudication ?? 'none',
  adjudicators: review?.adjudicators.join(', ') ?? '',
  tolerance: Object.entries(review?.tolerance ?? {})
    .map(([name, by]) => `${name} ${by}`)
    .join(', '),
})

/** What the server will not take, it refuses by name. */
export const reviewOf = (draft: Draft): ReviewSettings => ({
  annotators: Number(draft.annotators),
  reviewers: namesIn(draft.reviewers),
  blind: draft.isBlind,
  adjudication: draft.adjudication,
  adjudicators: draft.adjudication === 'none' ? [] : namesIn(draft.adjudicators),
  tolerance: Object.fromEntries(
    namesIn(draft.tolerance).map((text) => {
      const end = text.lastIndexOf(' ')
      return [text.slice(0, Math.max(0, end)), Number(text.slice(end + 1))]
    }),
  ),
})

const namesIn = (text: string): string[] =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')

const adjudications = { none: 'never', on_disagreement: 'where reviewers disagree', always: 'every call' }

/** How many people review each call, who they are, and who decides where they disagree. */
export function ReviewFields({ draft, onChange }: { draft: Draft; onChange(draft: Draft): void }) {
  const change = (fields: Partial<Draft>) => onChange({ ...draft, ...fields })
  return (
    <>
      <label for="queue-annotators">Reviews per call</label>
      <input
        id="queue-annotators"
        type="number"
        min={1}
        max={100}
        value={draft.annotators}
        onInput={({ currentTarget }) => change({ annotators: currentTarget.value })}
      />
      <label for="queue-reviewers">Reviewers</label>
      <input
        id="queue-reviewers"
        placeholder="anyone"
        value={draft.reviewers}
        onInput={({ currentTarget }) => change({ reviewers: currentTarget.value })}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={draft.isBlind}
          onChange={({ currentTarget }) => change({ isBlind: currentTarget.checked })}
        />
        Reviewers see answers of others only when they are done with a call
      </label>
      <label for="queue-adjudication">Someone decides</label>
      <Select
        id="queue-adjudication"
        choices={adjudications}
        value={draft.adjudication}
        onChange={(adjudication) => change({ adjudication })}
      />
      {draft.adjudication !== 'none' && (
        <>
          <label for="queue-adjudicators">Who decides</label>
          <input
            id="queue-adjudicators"
            value={draft.adjudicators}
            onInput={({ currentTarget }) => change({ adjudicators: currentTarget.value })}
          />
        </>
      )}
      <label for="queue-tolerance">Numbers may differ by</label>
      <input
        id="queue-tolerance"
        placeholder="tone 1, length 10"
        value={draft.tolerance}
        onInput={({ currentTarget }) => change({ tolerance: currentTarget.value })}
      />
    </>
  )
}
