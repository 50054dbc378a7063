import { useEffect, useState } from 'preact/hooks'
import { Empty, Failed, Skeleton } from '../../parts/states.tsx'
import { statusWords } from '../../parts/status.tsx'
import { navigate } from '../../router.ts'
import { paths } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import { may } from '../../server/rights.ts'
import {
  countCalls,
  type RunStatus,
  readRunFacts,
  readRunStatus,
  rescoreRun,
  resumeRun,
  stopRun,
} from '../../server/served-runs.ts'
import { countOf, countText } from '../../value/units.ts'

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
  const [work, setWork] = useState<'stop' | 'resume' | 'rescore'>()
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
  const isRunning = statuses?.some(({ code }) => code === 'running') ?? false
  // What stopped or failed is known once a run has ended.
  const codes = statuses?.map(({ code }) => code).join()
  const {
    value: read,
    error: factsError,
    reload,
  } = useLoading(
    async (signal) => ({ codes, facts: await readFacts(project, runs, signal) }),
    [project, codes],
  )
  const facts = read?.facts
  const isWhole =
    isDone &&
    read?.codes === codes &&
    runs.every((run) => {
      const { isStopped, failed, unjudged } = facts?.get(run) ?? {}
      return !isStopped && !failed && !unjudged
    })
  useEffect(() => {
    if (isAwaited && isWhole) navigate(results, { replaces: true })
  }, [isWhole])
  const labelOf = (index: number) => {
    const known = facts?.get(runs[index] ?? '')
    if (beside.length > 0) return 'Rescored'
    return known === undefined || known.isServed ? `Settings ${'ABCDEFGHIJ'[index]}` : nameOf(known)
  }
  const mayAct = may('infer', project)
  const served = runs.filter((run) => facts?.get(run)?.isServed)
  const going = served.filter((run) => statuses?.[runs.indexOf(run)]?.code === 'running')
  const unfinished = served.filter(
    (run) => !going.includes(run) && (facts?.get(run)?.isStopped || facts?.get(run)?.failed),
  )
  useEffect(() => {
    if (going.length === 0) setWork(undefined)
  }, [going.length])
  const failed = unfinished.reduce((sum, run) => sum + (facts?.get(run)?.failed ?? 0), 0)
  const unjudgedRuns = served.filter((run) => !going.includes(run) && facts?.get(run)?.unjudged)
  const unjudged = unjudgedRuns.reduce((sum, run) => sum + (facts?.get(run)?.unjudged ?? 0), 0)
  const act = async (kind: typeof work, run: () => Promise<void>) => {
    setWork(kind)
    setError(undefined)
    await run().catch((thrown: Error) => {
      setError(thrown)
      setWork(undefined)
    })
  }
  const judge = async () => {
    const made = await Promise.all(
      unjudgedRuns.map((run) => rescoreRun(project, run, facts?.get(run)?.scorers ?? [])),
    )
    navigate(paths.newRun(project, { runs: made.join(), with: unjudgedRuns.join() }))
  }
  const stop = async () => void (await Promise.all(going.map((run) => stopRun(project, run))))
  const resume = async () => {
    await Promise.all(unfinished.map((run) => resumeRun(project, run)))
    setStatuses(undefined)
    setTurn(turn + 1)
    setWork(undefined)
  }
  return (
    <main class="screen sheet quality">
      <header class="sheet-head">
        <h1>{isRunning ? 'Running' : 'Runs'}</h1>
      </header>
      {error && <Failed error={error} retry={() => setTurn(turn + 1)} />}
      {!error && statuses === undefined && <Skeleton rows={2} />}
      {statuses?.every(({ code }) => code === 'not_found') ? (
        <Empty title={runs.length === 1 ? 'Run not found' : 'Runs not found'}>
          <p>Deleted, expired, or of another project.</p>
          <a class="button" href={paths.evals(project)}>
            All runs
          </a>
        </Empty>
      ) : (
        statuses !== undefined && (
          <>
            <ul class="run-progress">
              {statuses.map((status, index) => (
                <li key={runs[index]}>
                  <span role="status">
                    <bdi>{labelOf(index)}</bdi>: {statusText(status, facts?.get(runs[index] ?? ''))}
                  </span>
                  {status.code === 'running' && status.total_rows > 0 && (
                    <progress
                      max={status.total_rows}
                      value={status.completed_rows}
                      aria-label={labelOf(index)}
                    />
                  )}
                </li>
              ))}
            </ul>
            {factsError && <Failed error={factsError} retry={reload} />}
            <div class="dialog-buttons">
              {going.length > 0 && <span class="muted">The server continues without this tab.</span>}
              {mayAct && going.length > 0 && (
                <button type="button" disabled={!!work} onClick={() => void act('stop', stop)}>
                  {work === 'stop' ? 'Stopping…' : 'Stop'}
                </button>
              )}
              {failed > 0 && <span class="muted">The model failed at {countOf(failed, 'row')}.</span>}
              {mayAct && unfinished.length > 0 && (
                <button type="button" disabled={!!work} onClick={() => void act('resume', resume)}>
                  {work === 'resume' ? 'Resuming…' : 'Resume'}
                </button>
              )}
              {unjudged > 0 && <span class="muted">{countOf(unjudged, 'judgement')} failed.</span>}
              {mayAct && unjudged > 0 && (
                <button type="button" disabled={!!work} onClick={() => void act('rescore', judge)}>
                  {work === 'rescore' ? 'Rescoring…' : 'Rescore'}
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
        )
      )}
    </main>
  )
}

const nameOf = ({ name, model }: { name?: string | undefined; model: string }) =>
  name === undefined ? model || 'Run' : model === '' ? name : `${name} (${model})`

/** Of each run, with how many answers it has; of those of the server also how many rows and judgements failed. */
async function readFacts(project: string, runs: readonly string[], signal: AbortSignal) {
  const facts = await readRunFacts(project, runs, signal)
  const whole = [...facts].map(async ([run, known]) => {
    const count = (of: 'prediction' | 'score', isFailed: boolean) =>
      countCalls(project, run, of, isFailed, signal)
    const [answers, failed, unjudged] = await Promise.all([
      known.isRescored ? 0 : count('prediction', false),
      known.isServed && !known.isRescored ? count('prediction', true) : 0,
      known.isServed ? count('score', true) : 0,
    ])
    return [run, { ...known, answers, failed, unjudged }] as const
  })
  return new Map(await Promise.all(whole))
}

function statusText(status: RunStatus, facts?: { isStopped: boolean; answers: number }): string {
  switch (status.code) {
    case 'running':
      // A program need not say how many there will be.
      return status.total_rows === 0
        ? 'no answers yet'
        : `${countText(status.completed_rows)} of ${countOf(status.total_rows, 'answer')}`
    case 'complete':
      return [
        facts?.isStopped ? statusWords.stopped : statusWords.success,
        ...(facts?.answers ? [countOf(facts.answers, 'answer')] : []),
      ].join(', ')
    case 'failed':
      return `failed: ${status.error}`
    case 'not_found':
      return 'not found'
  }
}
