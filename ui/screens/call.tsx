import { useEffect } from 'preact/hooks'
import { Empty, Failed, Skeleton } from '../parts/states.tsx'
import { paths } from '../places.ts'
import { go } from '../routes.ts'
import { Refused } from '../server/ask.ts'
import { readCall } from '../server/calls.ts'
import { useLoading } from '../server/loading.ts'
import { nodeAt, stringOf } from '../value/json-index.ts'

/** A link to a call leads into its trace. */
export function CallScreen({ project, call }: { project: string; call: string }) {
  const { value, error, again } = useLoading((signal) => readCall(project, call, signal), [project, call])
  useEffect(() => {
    const trace = stringOf(nodeAt(value, 'trace_id'))
    const id = stringOf(nodeAt(value, 'id'))
    if (trace !== undefined && id !== undefined) go(paths.trace(project, trace, id), { replaces: true })
  }, [value])
  if (error instanceof Refused && error.status === 404) {
    return (
      <main class="screen">
        <Empty title="There is no such call">
          <p>It was deleted, has expired, or was never written to {project}.</p>
          <a class="button" href={paths.calls(project)}>
            All calls of the project
          </a>
        </Empty>
      </main>
    )
  }
  return <main class="screen">{error ? <Failed error={error} again={again} /> : <Skeleton rows={14} />}</main>
}
