import { useState } from 'preact/hooks'
import { Dialog } from '../parts/dialog.tsx'
import { FormFooter } from '../parts/form-footer.tsx'
import { ownSubmit, useWork } from '../parts/work.ts'
import type { ReviewSettings } from '../server/queues.ts'
import { draftOfReview, ReviewFields, reviewOf } from './review-fields.tsx'
import { SpecsChoice } from './specs-choice.tsx'

interface QueueGiven {
  name: string
  description: string
  /** References to annotation specs. */
  specs: readonly string[]
  review: ReviewSettings
}

interface Props {
  project: string
  label: string
  verb: string
  given?: QueueGiven
  /** If it fails, the form stays open and shows the error. */
  save(given: QueueGiven): Promise<void>
  onClose(): void
}

/** The name of a queue, guidelines, and the questions for reviewers. */
export function QueueForm({ project, label, verb, given, save, onClose }: Props) {
  const [name, setName] = useState(given?.name ?? '')
  const [description, setDescription] = useState(given?.description ?? '')
  const [specs, setSpecs] = useState(given?.specs ?? [])
  const [review, setReview] = useState(() => draftOfReview(given?.review))
  const { isWorking, failure, work } = useWork()
  const submit = async () => {
    await save({ name: name.trim(), description: description.trim(), specs, review: reviewOf(review) })
    onClose()
  }
  return (
    <Dialog label={label} onClose={onClose}>
      <form class="form" onSubmit={ownSubmit(() => name.trim() !== '' && !isWorking && work(submit))}>
        <label for="queue-name">Name</label>
        <input
          id="queue-name"
          autofocus
          maxLength={1024}
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
        <label for="queue-description">Guidelines for reviewers</label>
        <textarea
          id="queue-description"
          rows={3}
          value={description}
          onInput={({ currentTarget }) => setDescription(currentTarget.value)}
        />
        <SpecsChoice project={project} chosen={specs} onChange={setSpecs} />
        <ReviewFields draft={review} onChange={setReview} />
        <FormFooter {...{ failure, onClose }} canSubmit={name.trim() !== '' && !isWorking}>
          {verb}
        </FormFooter>
      </form>
    </Dialog>
  )
}
