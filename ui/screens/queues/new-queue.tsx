import { useState } from 'preact/hooks'
import { Dialog } from '../../parts/dialog.tsx'
import { paths } from '../../places.ts'
import { SpecsChoice } from '../../review/specs-choice.tsx'
import { go } from '../../routes.ts'
import { makeQueue } from '../../server/queues.ts'

/** A name, and what reviewers are asked. */
export function NewQueue({ project, onClose }: { project: string; onClose(): void }) {
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const [specs, setSpecs] = useState<readonly string[]>([])
  const [failure, setFailure] = useState<Error>()
  const [isWorking, setWorking] = useState(false)
  const make = async () => {
    setWorking(true)
    try {
      const queue = await makeQueue(project, { name: name.trim(), description: description.trim(), specs })
      onClose()
      go(paths.queue(project, queue))
    } catch (given) {
      setFailure(given as Error)
      setWorking(false)
    }
  }
  return (
    <Dialog label="New queue" onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          if (name.trim() !== '' && !isWorking) void make()
        }}
      >
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
        {failure && (
          <p class="problem" role="alert">
            {failure.message}
          </p>
        )}
        <div class="dialog-buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="main-button" disabled={name.trim() === '' || isWorking}>
            Make the queue
          </button>
        </div>
      </form>
    </Dialog>
  )
}
