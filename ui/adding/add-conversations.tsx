import { useLoading } from '../server/loading.ts'
import { countText } from '../value/units.ts'
import { rowsOfConversations } from './conversation-rows.ts'
import { DatasetDialog } from './dataset-dialog.tsx'

interface Props {
  project: string
  threads: readonly string[]
  onClose(): void
}

/** Adds each conversation as one row to an existing or a new dataset. */
export function AddConversations({ project, threads, onClose }: Props) {
  const { value, error, reload } = useLoading(
    (signal) => rowsOfConversations(project, threads, signal),
    [project, JSON.stringify(threads)],
  )
  const what = threads.length === 1 ? 'this conversation' : `${countText(threads.length)} conversations`
  return (
    <DatasetDialog
      {...{ project, error, reload, onClose }}
      label={`Add ${what} to a dataset`}
      count={value?.rows.length}
      rows={() => value?.rows ?? []}
      isReady
    >
      <p class="muted">
        One row for each conversation: <code>messages</code>, as OpenAI’s requests have them, and{' '}
        <code>thread_id</code>.
      </p>
      {value?.leftOut.map(({ thread, why }) => (
        <p key={thread} class="problem">
          Left out: {thread} has {why}.
        </p>
      ))}
    </DatasetDialog>
  )
}
