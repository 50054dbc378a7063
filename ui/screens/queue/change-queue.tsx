import { useState } from 'preact/hooks'
import { Dialog } from '../../parts/dialog.tsx'
import { SpecsChoice } from '../../review/specs-choice.tsx'
import { changeQueue, type Queue } from '../../server/queues.ts'

interface Props {
  project: string
  queue: Queue
  onClose(): void
  onChanged(): void
}

export function ChangeQueue({ project, queue, onClose, onChanged }: Props) {
  const [name, setName] = useState(queue.name)
  const [description, setDescription] = useState(queue.description)
  const [specs, setSpecs] = useState<readonly string[]>(queue.scorer_refs)
  const [failure, setFailure] = useState<Error>()
  const save = async () => {
    try {
      await changeQueue(project, queue.id, { name: name.trim(), description: description.trim(), specs })
      onChanged()
    } catch (given) {
      setFailure(given as Error)
    }
  }
  return (
    <Dialog label="Change the queue" onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          if (name.trim() !== '') void save()
        }}
      >
        <label for="queue-name">Name</label>
        <input
          id="queue-name"
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
        {failure && (
          <p class="problem" role="alert">
            {failure.message}
          </p>
        )}
        <div class="dialog-buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="main-button" disabled={name.trim() === ''}>
            Save
          </button>
        </div>
      </form>
    </Dialog>
  )
}
