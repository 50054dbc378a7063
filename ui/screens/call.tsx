import { useEffect } from 'preact/hooks'
import { FailedScreen, LoadingScreen } from '../parts/states.tsx'
import { navigate } from '../router.ts'
import { paths } from '../routes.ts'
import { findCall } from '../server/calls.ts'
import { useLoading } from '../server/loading.ts'

/** A link to a call opens its trace. */
export function CallScreen({ project, call }: { project: string; call: string }) {
  const { value, error, reload } = useLoading((signal) => findCall(project, call, signal), [project, call])
  useEffect(() => {
    if (value) navigate(paths.trace(project, value.trace_id, value.id), { replaces: true })
  }, [value])
  if (error) {
    const missing = {
      title: 'Call not found',
      href: paths.calls(project),
      to: 'All calls of the project',
    }
    return <FailedScreen name="Call" {...{ error, retry: reload, missing }} />
  }
  return <LoadingScreen />
}
