import { useEffect, useState } from 'preact/hooks'
import { Failed, Skeleton } from '../../parts/states.tsx'
import { navigate } from '../../router.ts'
import { paths } from '../../routes.ts'
import { type RunStatus, readRunStatus, stopRun } from '../../server/served-runs.ts'
import { countText } from '../../value/units.ts'

const pauseMs = 1_000

interface Props {
  project: string
  runs: readonly string[]
  /** What they are compared with: runs whose answers they score again. */
  beside: readonly string[]
  /** Their comparison follows once all are done. */
  isAwaited: boolean
}

/** How far runs are that the server carries out, until they have ended. */
export function RunProgress({ project, runs, beside, isAwaited }: Props) {
  const [statuses, setStatuses] = useState<readonly RunStatus[]>()
  const [error, setError] = useState<Error>()
  const [turn, setTurn] = useState(0)
  const [isStopping, setStopping] = useState(false)
  useEffect(() => {
    const closing = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async () => {
      try {
        const found = await Promise.all(runs.map((run) => readRunStatus(project, run, closing.signal)))
        setStatuses(found)
        setError(undefined)
        if (found.some(({ code }) => code === 'running')) timer = setTimeout(() => void read(), pauseMs)
      } catch (thrown) {
        if (!closing.signal.aborted) setError(thrown as Error)
      }
    }
    void read()
    return () => {
      closing.abort()
      clearTimeout(timer)
    }
  }, [project, turn])
  const results = paths.compare(project, { ids: [...beside, ...runs].join(',') })
  const isDone = statuses?.every(({ code }) => code === 'complete') ?? false
  useEffect(() => {
    if (isAwaited && isDone && !isStopping) navigate(results, { replaces: true })
  }, [isDone])
  const labelOf = (index: number) => (beside.length > 0 ? 'Rescored' : `Settings ${'ABCDEFGHIJ'[index]}`)
  const isRunning = statuses?.some(({ code }) => code === 'running') ?? false
  const stop = async () => {
    setStopping(true)
    try {
      await Promise.all(runs.map((run) => stopRun(project, run)))
    } catch (thrown) {
      setError(thrown as Error)
      setStopping(false)
    }
  }
  return (
    <main class="screen sheet quality">
      <header class="sheet-head">
        <h1>{isRunning ? 'Running' : 'Runs'}</h1>
      </header>
      {error && <Failed error={error} retry={() => setTurn(turn + 1)} />}
      {!error && statuses === undefined && <Skeleton rows={2} />}
      {statuses !== undefined && (
        <>
          <ul class="run-progress">
            {statuses.map((status, index) => (
              <li key={runs[index]}>
                <span role="status">
                  {labelOf(index)}: {statusText(status)}
                </span>
                {status.code === 'running' && (
                  <progress
                    max={status.total_rows}
                    value={status.completed_rows}
                    aria-label={labelOf(index)}
                  />
                )}
              </li>
            ))}
          </ul>
          <div class="dialog-buttons">
            {isRunning && <span class="muted">The server continues without this tab.</span>}
            {isRunning && (
              <button type="button" disabled={isStopping} onClick={() => void stop()}>
                {isStopping ? 'Stopping…' : 'Stop'}
              </button>
            )}
            <a class="button" href={paths.evals(project)}>
              All runs
            </a>
            <a class="button main-button" href={results}>
              {beside.length + runs.length > 1 ? 'Compare' : 'Results'}
            </a>
          </div>
        </>
      )}
    </main>
  )
}

function statusText(status: RunStatus): string {
  switch (status.code) {
    case 'running':
      return `${countText(status.completed_rows)} of ${countText(status.total_rows)} answers`
    case 'complete':
      return 'done'
    case 'failed':
      return `failed: ${status.error}`
    case 'not_found':
      return 'not found'
  }
}
