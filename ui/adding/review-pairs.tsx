import { Dialog } from '../parts/dialog.tsx'
import { Failed, Skeleton } from '../parts/states.tsx'
import { useLoading } from '../server/loading.ts'
import type { CallPair } from '../server/queues.ts'
import { AddToQueue } from './add-to-queue.tsx'

export interface FoundPairs {
  pairs: readonly CallPair[]
  /** Which were looked at, if there may be more. */
  of?: string
}

interface Props {
  project: string
  /** The pairs, which are read when this opens. */
  read(signal: AbortSignal): Promise<FoundPairs>
  /** Why there may be none. */
  empty: string
  onClose(): void
}

/** Puts two answers to each of many questions into a queue whose reviewers say which are better. */
export function ReviewPairs({ project, read, empty, onClose }: Props) {
  const { value, error, reload } = useLoading(read, [])
  if (value?.pairs.length) {
    return <AddToQueue {...{ project, onClose }} calls={value.pairs} of={value.of} noun="pair" />
  }
  return (
    <Dialog label="Review as pairs" onClose={onClose}>
      {error && <Failed error={error} retry={reload} />}
      {value ? (
        <p role="status">
          {empty} {value.of}
        </p>
      ) : (
        !error && <Skeleton rows={3} autofocus />
      )}
    </Dialog>
  )
}
