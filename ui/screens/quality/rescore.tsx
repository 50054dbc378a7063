import { FormFooter } from '../../parts/form-footer.tsx'
import { useKeptForm } from '../../parts/kept-form.ts'
import { Failed, FailedScreen, Skeleton } from '../../parts/states.tsx'
import { ownSubmit, useWork } from '../../parts/work.ts'
import { navigate, search } from '../../router.ts'
import { paths } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import { isForbidden } from '../../server/request.ts'
import { isServed, readScorers } from '../../server/scorers.ts'
import { readRunFacts, rescoreRun } from '../../server/served-runs.ts'
import { objectRefOf } from '../../value/ref.ts'
import { ScorerChoice } from './scorer-choice.tsx'

interface Props {
  project: string
  /** The run whose answers are scored again. */
  source: string
  onStarted(): void
}

/** Other judges and checks for the answers of a run. */
export function Rescore({ project, source, onStarted }: Props) {
  const { value, error, reload } = useLoading(
    async (signal) => {
      const [scorers, runs] = await Promise.all([
        readScorers(project, signal),
        readRunFacts(project, [source], signal),
      ])
      return { scorers: scorers.filter(isServed), name: runs.get(source)?.name }
    },
    [project, source],
  )
  const form = useKeptForm(`rescore ${source}`, (kept: { chosen?: readonly string[] }) => ({
    chosen: [...new Set([...(kept.chosen ?? []), ...search.value.getAll('judge')])] as readonly string[],
  }))
  const { chosen } = form.value
  const { isWorking, failure, work } = useWork()
  const isReady = chosen.length > 0 && !isWorking
  const results = paths.compare(project, { ids: source })
  const start = async () => {
    const scorers = chosen.map((name) => objectRefOf(project, name, 'latest'))
    const run = await rescoreRun(project, source, scorers)
    form.drop()
    onStarted()
    navigate(paths.newRun(project, { runs: run, with: source }), { replaces: true })
  }
  if (isForbidden(error)) return <FailedScreen name="Rescore" error={error} />
  return (
    <main class="screen sheet quality">
      <header class="sheet-head">
        <h1 dir="auto">{value?.name === undefined ? 'Rescore' : `Rescore ${value.name}`}</h1>
      </header>
      {error && <Failed error={error} retry={reload} />}
      {!error && value === undefined && <Skeleton rows={4} />}
      {value !== undefined && (
        <form class="form quality-form" onSubmit={ownSubmit(() => isReady && work(start))}>
          <p class="muted">
            A new run with the answers of this one and the scores chosen here. The model is not asked again.
          </p>
          <ScorerChoice
            {...{ project, chosen }}
            scorers={value.scorers}
            back={{ for: 'run', rescore: source }}
            onChange={(next) => form.change({ chosen: next })}
          />
          <FormFooter
            {...{ failure }}
            onClose={() => {
              form.drop()
              navigate(results)
            }}
            canSubmit={isReady}
            missing={chosen.length === 0 ? 'Tick a judge or a check.' : undefined}
          >
            Rescore
          </FormFooter>
        </form>
      )}
    </main>
  )
}
