import { useEffect, useMemo, useRef } from 'preact/hooks'
import { ExportButton } from '../../export/button.tsx'
import { live } from '../../export/contents.ts'
import { useListPosition, useScrollRestoration } from '../../parts/list-position.ts'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { Empty, Failed, FailedScreen, Skeleton } from '../../parts/states.tsx'
import { setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import { type EvaluationSummary, readSummary } from '../../server/evaluations.ts'
import { useLoading } from '../../server/loading.ts'
import { isForbidden, isTransient } from '../../server/request.ts'
import { may } from '../../server/rights.ts'
import { readDirections } from '../../server/scorers.ts'
import { readRunStatus } from '../../server/served-runs.ts'
import { directionOf } from '../../value/direction.ts'
import { refName } from '../../value/ref.ts'
import { fieldOf } from '../../value/scores.ts'
import { countText } from '../../value/units.ts'
import { Cards } from './cards.tsx'
import { FilterLine } from './filter-line.tsx'
import { filterText, type Term } from './filter-text.ts'
import { NewPairs } from './new-pairs.tsx'
import { useRowNavigation } from './row-navigation.ts'
import { RowView } from './row-view.tsx'
import { createRows, pageSize } from './rows.ts'
import { RunBar } from './run-bar.tsx'
import { CompareTable } from './table.tsx'
import { comparedIn, defaultOrder, letterOf, orderOf, viewOf } from './view.ts'

/** Runs of an evaluation next to each other. */
export function CompareScreen({ project }: { project: string }) {
  const view = viewOf(project)
  if (view.ids.length === 0) {
    return (
      <main class="screen">
        <Empty title="No runs selected">
          <p>Select one run to see its rows, or several to see where they differ.</p>
          <a class="button" href={paths.evals(project)}>
            Select runs
          </a>
        </Empty>
      </main>
    )
  }
  return <Comparison view={view} />
}

function Comparison({ view }: { view: ReturnType<typeof viewOf> }) {
  const { project, ids, base, side, row: open, trial } = view
  const compared = comparedIn(view)
  const key = JSON.stringify(compared)
  const { value, error, reload } = useLoading((signal) => readSummary(compared, signal), [key])
  const stated = useLoading((signal) => readDirections(project, signal), [project])
  const direction = (one: string) => directionOf(one, stated.value ?? new Map())
  const runs = value?.summary.evaluations ?? []
  const fields = fieldsOf(runs)
  const field = view.field ?? fields[0]
  const sortOrder = view.sortOrder ?? defaultOrder(view)
  const order = orderOf(sortOrder === 'diff' && ids.length < 2 ? 'low' : sortOrder, field)
  const orderKey = JSON.stringify(order)
  // Without the scores the order of the rows is not known.
  const isKnown = view.field !== undefined || value !== undefined
  const list = useMemo(() => (isKnown ? createRows(compared, order) : undefined), [key, orderKey, isKnown])
  useEffect(() => () => list?.close(), [list])

  const letters = new Map(ids.map((id, index) => [id, letterOf(index)]))
  // Until they are read, no name is better than a piece of an id.
  const nameIn = (id: string) => {
    const run = runs.find(({ evaluation_call_id }) => evaluation_call_id === id)
    return value === undefined ? `Run ${letters.get(id)}` : nameOf(run, id)
  }
  const names = new Map(ids.map((id) => [id, nameIn(id)]))
  const kept = useListPosition(`${key} ${orderKey}`)
  const { active, scrollRequest, move, openAt, close } = useRowNavigation(list, open, kept.left?.active)
  const scroller = useRef<HTMLDivElement>(null)
  const keepPlace = useScrollRestoration(kept, {
    ...{ scroller, active },
    isLoaded: list?.count.value !== undefined && list,
  })
  const step = (by: number) => {
    const others = ids.slice(1)
    const next = others[(others.indexOf(side ?? '') + by + others.length) % others.length]
    setSearch({ side: next })
  }
  const openRow = open === undefined ? undefined : list?.rows.value.get(active)
  const trials = Math.max(1, ...ids.map((id) => openRow?.trials.get(id)?.length ?? 0))
  const toTrial = (by: number) =>
    setSearch({ trial: String(Math.min(trials, Math.max(1, Math.min(trial + 1, trials) + by))) })
  useShortcuts('Comparison', [
    { keys: ['j', 'ArrowDown'], does: 'Next row', run: () => move(1) },
    { keys: ['k', 'ArrowUp'], does: 'Previous row', run: () => move(-1) },
    { keys: ['g g', 'Home'], does: 'First row', run: () => move(-Infinity) },
    { keys: ['G', 'End'], does: 'Last row', run: () => move(Infinity) },
    { keys: ['Enter', 'o'], does: 'Open the row', run: () => openAt(Math.max(0, active)) },
    { keys: [']'], does: 'Compare the next run with the baseline', run: () => step(1) },
    { keys: ['['], does: 'Compare the previous run with the baseline', run: () => step(-1) },
    { keys: ['}'], does: 'Next trial', run: () => toTrial(1) },
    { keys: ['{'], does: 'Previous trial', run: () => toTrial(-1) },
    { keys: ['Escape'], does: 'Close the row', run: close },
  ])
  const addTerms = (terms: readonly Term[]) =>
    terms.length > 0 &&
    setSearch({ q: filterText([...view.terms, ...terms]), row: undefined }, { replaces: false })

  const failure = error ?? stated.error ?? list?.error.value
  if (isForbidden(failure)) return <FailedScreen name="Comparison" error={failure} />
  const tryAgain = () => {
    if (error) reload()
    else if (stated.error) stated.reload()
    else if (isTransient(failure)) list?.reload()
    else setSearch({ sort: undefined })
  }
  const count = list?.count.value
  const warnings = [...new Set([...(value?.warnings ?? []), ...(list?.warnings.value ?? [])])]
  const isLost = open !== undefined && list?.places.value.get(open) === null
  return (
    <main class={`screen compare ${open !== undefined ? 'has-row' : ''}`}>
      <div class="screen-head">
        <h1>Comparison</h1>
        {ids.length === 1 && may('infer', project) && <RescoreLink {...{ project }} run={ids[0] as string} />}
        {side !== undefined && may('write', project) && <NewPairs {...{ compared, side, letters }} />}
        <ExportButton
          what="comparison"
          load={async () =>
            (await import('../../export/all.ts')).exportOfComparison({
              ...{ compared, order, pageSize, fields, field, base, names },
            })
          }
          hasKey
        />
        <RunBar
          {...{ view, letters, names }}
          counts={
            new Map(
              runs.map(({ evaluation_call_id, trial_count }) => [
                evaluation_call_id,
                `${countText(trial_count)} trials`,
              ]),
            )
          }
        />
      </div>
      <FilterLine {...{ view, sortOrder, field, fields, count }} />
      {warnings.length > 0 && (
        <ul class="warnings" aria-label="Warnings">
          {warnings.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
      {failure ? (
        <div class="in-place">
          <Failed error={failure} retry={tryAgain} />
        </div>
      ) : (
        <div class="compare-body">
          <Cards
            {...{ fields, field, compared, base, side, runs, letters, direction }}
            isLoading={value === undefined}
            onChoose={(one) => setSearch({ sort: `${sortOrder}:${one}` })}
            onFilter={live(addTerms)}
          />
          {count === 0 ? (
            <div class="in-place">
              {view.filter === '' ? (
                <NoRows {...{ project, ids }} />
              ) : (
                <Empty title="No rows match this filter">
                  <button type="button" onClick={() => setSearch({ q: undefined })}>
                    Clear filter
                  </button>
                </Empty>
              )}
            </div>
          ) : list === undefined ? (
            <div class="in-place">
              <Skeleton rows={12} />
            </div>
          ) : (
            <CompareTable
              {...{ scroller, list, field, ids, side, letters, names, active, scrollRequest, open }}
              direction={field === undefined ? 'none' : direction(field)}
              onOpen={openAt}
              onScroll={() => keepPlace()}
            />
          )}
          {openRow !== undefined && (
            <RowView
              {...{ project, ids, side, letters, names, trial, direction }}
              row={openRow}
              traces={
                new Map(runs.flatMap((run) => (run.trace_id ? [[run.evaluation_call_id, run.trace_id]] : [])))
              }
              place={active}
              count={count ?? 0}
              onClose={close}
              onMove={move}
            />
          )}
          {open !== undefined && openRow === undefined && (
            <aside class="row-view" aria-label="Row details">
              {isLost ? (
                <Empty title="This row is not in the current list">
                  <button type="button" onClick={close}>
                    Close
                  </button>
                </Empty>
              ) : (
                <Skeleton rows={8} />
              )}
            </aside>
          )}
        </div>
      )}
    </main>
  )
}

/** Only the answers of a run that has ended can be scored again. */
function RescoreLink({ project, run }: { project: string; run: string }) {
  const { value } = useLoading((signal) => readRunStatus(project, run, signal), [project, run])
  const isRunning = value?.code === 'running'
  return (
    <a class="button" href={paths.newRun(project, { [isRunning ? 'runs' : 'rescore']: run })}>
      {isRunning ? 'Still running' : 'Rescore'}
    </a>
  )
}

/** Nothing has been answered yet, or there are no such runs. */
function NoRows({ project, ids }: { project: string; ids: readonly string[] }) {
  const { value, error, reload } = useLoading(
    (signal) => Promise.all(ids.map((id) => readRunStatus(project, id, signal))),
    [project, ids.join()],
  )
  if (error) return <Failed error={error} retry={reload} />
  if (value === undefined) return <Skeleton rows={2} />
  if (value.every(({ code }) => code === 'not_found')) {
    return (
      <Empty title={ids.length === 1 ? 'Run not found' : 'Runs not found'}>
        <p>{ids.join(', ')}: deleted, expired, or of another project.</p>
        <a class="button" href={paths.evals(project)}>
          All runs
        </a>
      </Empty>
    )
  }
  return (
    <Empty title="No rows">
      <p>No trial has begun, or all were deleted.</p>
      <a class="button" href={paths.newRun(project, { runs: ids.join() })}>
        State of the runs
      </a>
    </Empty>
  )
}

/** Every score that has numbers in some run, in the order of the scorers. */
function fieldsOf(runs: readonly EvaluationSummary[]): string[] {
  const stats = runs.flatMap(({ scorer_stats }) => scorer_stats)
  return [...new Set(stats.filter(({ value_type }) => value_type !== 'text').map(fieldOf))]
}

function nameOf(run: EvaluationSummary | undefined, id: string): string {
  return run?.display_name ?? (refName(run?.model_ref ?? null) || id.slice(0, 13))
}
