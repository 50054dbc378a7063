import { paths } from '../../places.ts'
import { QueueForm } from '../../review/queue-form.tsx'
import { go } from '../../routes.ts'
import { makeQueue } from '../../server/queues.ts'

export function NewQueue({ project, onClose }: { project: string; onClose(): void }) {
  return (
    <QueueForm
      project={project}
      label="New queue"
      verb="Create queue"
      save={async (given) => go(paths.queue(project, await makeQueue(project, given)))}
      onClose={onClose}
    />
  )
}
