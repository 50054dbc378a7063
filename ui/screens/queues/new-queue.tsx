import { QueueForm } from '../../review/queue-form.tsx'
import { navigate } from '../../router.ts'
import { paths } from '../../routes.ts'
import { makeQueue } from '../../server/queues.ts'

export function NewQueue({ project, onClose }: { project: string; onClose(): void }) {
  return (
    <QueueForm
      project={project}
      label="New queue"
      verb="Create queue"
      save={async (given) => navigate(paths.queue(project, await makeQueue(project, given)))}
      onClose={onClose}
    />
  )
}
