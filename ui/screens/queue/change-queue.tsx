import { QueueForm } from '../../review/queue-form.tsx'
import { changeQueue, type Queue } from '../../server/queues.ts'

interface Props {
  project: string
  queue: Queue
  onClose(): void
  onChanged(): void
}

export function ChangeQueue({ project, queue, onClose, onChanged }: Props) {
  const { name, description, scorer_refs: specs } = queue
  return (
    <QueueForm
      project={project}
      label="Edit queue"
      verb="Save"
      given={{ name, description, specs, review: queue }}
      save={async (given) => {
        await changeQueue(project, queue.id, given)
        onChanged()
      }}
      onClose={onClose}
    />
  )
}
