import { ListTable } from '../../parts/list-table.tsx'
import { QualityHead } from '../../parts/lists-head.tsx'
import { isNamed, NameFilter } from '../../parts/name-filter.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { FailedScreen } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { navigate, search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import { readMonitors } from '../../server/monitors.ts'
import { isForbidden } from '../../server/request.ts'
import { may } from '../../server/rights.ts'
import { isServed, readScorers, type Scorer } from '../../server/scorers.ts'
import { parseRef } from '../../value/ref.ts'
import { countOf } from '../../value/units.ts'
import { checkText } from './check-form.tsx'

/** Judges, checks, and scorers that run elsewhere. */
export function JudgesScreen({ project }: { project: string }) {
  const loaded = useLoading((signal) => readWithCounts(project, signal), [project])
  const wanted = search.value.get('q') ?? ''
  const mayMake = may('write', project)
  const make = () => navigate(paths.newJudge(project))
  useShortcuts('Judges', mayMake ? [{ keys: ['n'], does: 'New judge', run: make }] : [])
  if (isForbidden(loaded.error)) return <FailedScreen name="Judges" error={loaded.error} />
  return (
    <main class="screen sheet quality">
      <QualityHead project={project} title="Judges">
        {loaded.value?.length !== 0 && <NameFilter {...{ wanted }} onChange={(q) => setSearch({ q })} />}
        {mayMake && (
          <a class="button main-button" href={paths.newJudge(project)}>
            New judge
          </a>
        )}
      </QualityHead>
      <ListTable
        label="Judges"
        loaded={{ ...loaded, value: loaded.value?.filter(({ name }) => isNamed(name, wanted)) }}
        keyOf={({ name }) => name}
        columns={{
          Name: ({ name }) => (
            <a class="strong" href={paths.object(project, name)}>
              {name}
            </a>
          ),
          Kind: ({ judge, check }) => (judge ? 'judge' : (check?.replaceAll('_', ' ') ?? 'code elsewhere')),
          Asks: ({ judge, check, wanted: asked, description }) => (
            <span class="quality-text judge-asks">
              {judge?.prompt ?? (description || checkText(check ?? '', asked))}
            </span>
          ),
          Monitors: ({ monitors }) => monitors,
          Calibration: ({ name, judge }) =>
            judge?.questions && (
              <a href={paths.calibration(project, name)} aria-label={`Calibration of ${name}`}>
                {countOf(judge.questions.length, 'question')}
              </a>
            ),
          Created: ({ at }) => <Time at={at} />,
          ...(mayMake && {
            Actions: (scorer: Scorer) =>
              isServed(scorer) && (
                <a
                  href={paths.monitors(project, { new: scorer.name })}
                  aria-label={`New monitor with ${scorer.name}`}
                >
                  New monitor
                </a>
              ),
          }),
        }}
        numbers={['Monitors']}
        empty={loaded.value?.length ? 'No judge has this in its name' : 'No judges yet'}
      >
        <p>
          A judge asks a model about a call; a check needs no model. Both score the answers of runs, and calls
          as they arrive.
        </p>
      </ListTable>
    </main>
  )
}

/** Each with the number of monitors that use it. */
async function readWithCounts(project: string, signal: AbortSignal) {
  const [scorers, monitors] = await Promise.all([readScorers(project, signal), readMonitors(project, signal)])
  const bound = monitors.flatMap(({ scorers }) => scorers.map(({ scorer }) => parseRef(scorer)?.name))
  return scorers.map((scorer) => ({
    ...scorer,
    monitors: bound.filter((name) => name === scorer.name).length,
  }))
}
