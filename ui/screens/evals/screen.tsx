import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { serverUrl } from '../../base.ts'
import { Cost } from '../../parts/cost.tsx'
import { useListPosition, useScrollRestoration } from '../../parts/list-position.ts'
import { QualityHead } from '../../parts/lists-head.tsx'
import { NameFilter } from '../../parts/name-filter.tsx'
import { SavedViews } from '../../parts/saved-views.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { Empty, Failed, FailedScreen, Problem, Skeleton } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import { Time } from '../../parts/time.tsx'
import { navigate, search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import type { EvaluationRow, EvaluationSummary, RunCost } from '../../server/evaluations.ts'
import { isForbidden } from '../../server/request.ts'
import { may } from '../../server/rights.ts'
import { refName } from '../../value/ref.ts'
import { fieldOf, meanText, scoreName, shownMean } from '../../value/scores.ts'
import { inQuotedJson, projectInAddress } from '../../value/shell.ts'
import { countText, durationText } from '../../value/units.ts'
import { askedOrder, FigureHead, figures, inOrder, nameOf, ScoreChooser } from './order.tsx'
import { runFilter } from './run-filter.ts'
import { commonScores, createRuns } from './runs.ts'

/** As many as a comparison accepts. */
const mostChosen = 100

/** The evaluations of a project; several can be selected for a comparison. */
export function EvalsScreen({ project }: { project: string }) {
  const kept = useListPosition(project)
  const runs = useMemo(() => createRuns(project, kept.left?.rows), [project])
  useEffect(() => () => runs.close(), [runs])
  const chosen = (search.value.get('sel') ?? '').split(',').filter(Boolean)
  const [active, setActive] = useState(kept.left?.active ?? 0)
  const [body, scroller] = [useRef<HTMLTableSectionElement>(null), useRef<HTMLDivElement>(null)]
  const rows = runs.rows.value
  const common = commonScores(runs.summaries.value.values())
  const { scores, sort, wanted } = askedOrder(common)
  const known = rows?.map((row) => ({
    row,
    summary: runs.summaries.value.get(row.evaluation_call_id),
    cost: runs.costs.value.get(row.evaluation_call_id),
  }))
  const filter = runFilter(wanted, common)
  // Until summaries are there, the scores are not known.
  const problem = runs.summaries.value.size > 0 ? filter.problem : undefined
  const shown = inOrder(known ?? [], sort).filter(filter.fits)
  /** What is asked for is known of all runs only once they are loaded. */
  const isOfLoaded =
    (sort.field !== 'Started' || wanted !== '') && rows !== undefined && rows.length < runs.total.value
  const isLoaded = rows !== undefined && !runs.isShort()
  const keepPlace = useScrollRestoration(kept, { scroller, isLoaded, active, rows: rows?.length ?? 0 })
  const toggle = (id: string | undefined) => {
    if (id === undefined) return
    const next = chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]
    if (next.length <= mostChosen) setSearch({ sel: next.join(',') })
  }
  const move = (by: number) => {
    const next = Math.max(0, Math.min(shown.length - 1, active + by))
    setActive(next)
    body.current?.children[next]?.scrollIntoView({ block: 'nearest' })
  }
  const compare = () => {
    if (chosen.length > 0) navigate(paths.compare(project, { ids: inTime(chosen, rows ?? []).join(',') }))
  }
  const mayRun = may('infer', project)
  useShortcuts('Evaluations', [
    { keys: ['j', 'ArrowDown'], does: 'Next evaluation', run: () => move(1) },
    { keys: ['k', 'ArrowUp'], does: 'Previous evaluation', run: () => move(-1) },
    {
      keys: ['x', ' '],
      does: 'Select or deselect',
      run: () => toggle(shown[active]?.row.evaluation_call_id),
    },
    { keys: ['c', 'Enter'], does: 'Compare selected runs', run: compare },
    {
      keys: ['o'],
      does: 'Open trace',
      run: () => {
        const row = shown[active]?.row
        if (row) navigate(paths.trace(project, row.trace_id, row.evaluation_call_id))
      },
    },
    ...(mayRun ? [{ keys: ['n'], does: 'New run', run: () => navigate(paths.newRun(project)) }] : []),
    { keys: ['Escape'], does: 'Clear selection', run: () => setSearch({ sel: undefined }) },
  ])
  const error = runs.error.value
  if (isForbidden(error)) return <FailedScreen name="Runs" error={error} />
  return (
    <main class="screen evals">
      <QualityHead project={project} title="Runs">
        <span class="muted">
          {rows !== undefined &&
            rows.length > 0 &&
            `${countText(shown.length)} of ${isOfLoaded ? `the newest ${countText(rows.length)} of ` : ''}${countText(runs.total.value)}`}
          {scores.length < common.length && `, ${scores.length} of ${countText(common.length)} scores`}
        </span>
        {isOfLoaded && (
          <button type="button" title="Older runs are not loaded yet" onClick={() => void runs.all()}>
            Load all {countText(runs.total.value)}
          </button>
        )}
        {rows !== undefined && rows.length > 0 && (
          <>
            <NameFilter
              label="Filter by name or score"
              example={`Name, or ${scoreName(common[0] ?? 'cost')}>0.5`}
              isWrong={problem !== undefined}
              wanted={wanted}
              onChange={(named) => setSearch({ named })}
            />
            <ScoreChooser {...{ common, scores }} />
            <SavedViews project={project} screen="evals" />
          </>
        )}
        {chosen.length > 0 && (
          <button type="button" class="quiet" onClick={() => setSearch({ sel: undefined })}>
            Clear selection
          </button>
        )}
        <button type="button" disabled={chosen.length === 0} onClick={compare}>
          {chosen.length < 2 ? 'Compare' : `Compare ${chosen.length}`}
        </button>
        {mayRun && (
          <a class="button main-button" href={paths.newRun(project)}>
            New run
          </a>
        )}
      </QualityHead>
      <Problem text={problem} />
      {error && <Failed error={error} retry={() => void runs.retry()} />}
      {!error && rows === undefined && <Skeleton rows={10} />}
      {rows?.length === 0 && <NoEvaluations project={project} />}
      {rows !== undefined && rows.length > 0 && (
        <div
          class="table-scroll"
          tabIndex={0}
          role="region"
          aria-label="Evaluations"
          ref={scroller}
          onScroll={() => keepPlace()}
        >
          <table class="dense list-table">
            <thead>
              <tr>
                <th scope="col">
                  <span class="hidden-text">Selected</span>
                </th>
                <th scope="col">Run</th>
                <th scope="col">State</th>
                {[...scores, ...Object.keys(figures)].map((field) => (
                  <FigureHead key={field} {...{ field, sort }} />
                ))}
              </tr>
            </thead>
            <tbody ref={body}>
              {shown.map(({ row, summary, cost }, index) => (
                <RunLine
                  key={row.evaluation_call_id}
                  {...{ project, row, scores, summary, cost }}
                  together={together(row, rows)}
                  isActive={index === active}
                  isChosen={chosen.includes(row.evaluation_call_id)}
                  onToggle={() => {
                    setActive(index)
                    toggle(row.evaluation_call_id)
                  }}
                />
              ))}
            </tbody>
          </table>
          {rows.length < runs.total.value && (
            <button type="button" class="more" onClick={() => void runs.more()}>
              Show more
            </button>
          )}
        </div>
      )}
    </main>
  )
}

/** By start time, so that the oldest run is the baseline unless the user chooses another. */
function inTime(ids: readonly string[], rows: readonly EvaluationRow[]): string[] {
  const place = new Map(rows.map(({ evaluation_call_id }, index) => [evaluation_call_id, index]))
  return ids.toSorted((a, b) => (place.get(b) ?? 0) - (place.get(a) ?? 0))
}

/** The runs of the same evaluation, the oldest first. */
const together = ({ evaluation_ref: evaluation }: EvaluationRow, rows: readonly EvaluationRow[]): string[] =>
  rows
    .flatMap((row) => (row.evaluation_ref === evaluation ? row.evaluation_call_id : []))
    .slice(0, mostChosen)
    .toReversed()

interface LineProps {
  project: string
  row: EvaluationRow
  /** The runs of its evaluation. */
  together: readonly string[]
  scores: readonly string[]
  summary: EvaluationSummary | undefined
  cost: RunCost | undefined
  isActive: boolean
  isChosen: boolean
  onToggle(): void
}

function RunLine(props: LineProps) {
  const { project, row, together, scores, summary, cost, isActive, isChosen, onToggle } = props
  const [evaluation, model] = [
    refName(row.evaluation_ref),
    row.display_name !== null && refName(row.model_ref),
  ]
  const name = nameOf(row)
  const state = paths.newRun(project, { runs: row.evaluation_call_id })
  const isWhy = row.trial_count === 0 && (row.status === 'running' || row.status === 'error')
  const rowLink = isWhy ? state : paths.compare(project, { ids: row.evaluation_call_id })
  const stats = new Map((summary?.scorer_stats ?? []).map((one) => [fieldOf(one), one]))
  return (
    <tr
      class={`${isActive ? 'is-active' : ''} ${isChosen ? 'is-chosen' : ''}`}
      onClick={({ target }) => {
        // A click on a link follows the link.
        if (!(target as Element).closest('a')) onToggle()
      }}
    >
      <td>
        <input
          type="checkbox"
          aria-label={`Select ${name}`}
          checked={isChosen}
          tabIndex={isActive ? 0 : -1}
          onClick={(event) => event.stopPropagation()}
          onChange={onToggle}
        />
      </td>
      <td class="run-name">
        <a dir="auto" href={rowLink}>
          {name}
        </a>
        <span class="muted">
          {together.length > 1 && evaluation !== '' ? (
            <a
              dir="auto"
              href={paths.compare(project, { ids: together.join(',') })}
              title={`Compare its ${countText(together.length)} runs`}
            >
              {evaluation}
            </a>
          ) : (
            <bdi>{evaluation}</bdi>
          )}
          {evaluation !== '' && model && ' · '}
          <bdi>{model}</bdi>
        </span>
      </td>
      <td data-label="State" title={row.error ?? undefined}>
        <a href={state}>
          <Status status={row.status} />
        </a>
      </td>
      {scores.map((field) => {
        const own = stats.get(field)
        const mean = own && shownMean(own)
        return (
          <td key={field} class="number" data-label={scoreName(field)}>
            {mean ? (
              <>
                {meanText(mean)}
                {row.status !== 'running' && own.missing_trial_count > 0 && (
                  <span
                    class="missing"
                    title={`${countText(own.missing_trial_count)} trials without this score`}
                  >
                    {' '}
                    {countText(own.missing_trial_count)} missing
                  </span>
                )}
              </>
            ) : (
              <span class="muted">{summary === undefined && row.trial_count > 0 ? '…' : '–'}</span>
            )}
          </td>
        )
      })}
      <td data-label="Trials" class="number">
        {countText(row.trial_count)}
        {row.trial_count !== row.row_count && <span class="muted"> of {countText(row.row_count)} rows</span>}
      </td>
      <td data-label="Failed" class="number">
        {row.failed_trial_count > 0 ? (
          <span class="problem">{countText(row.failed_trial_count)}</span>
        ) : (
          <span class="muted">0</span>
        )}
      </td>
      <td data-label="Latency" class="number">
        {row.mean_latency_seconds === null ? '–' : durationText(row.mean_latency_seconds * 1000)}
      </td>
      <td data-label="Tokens" class="number">
        {row.total_tokens === null ? '–' : countText(row.total_tokens)}
      </td>
      <td data-label="Cost" class="number">
        {cost &&
          (cost.models.length > 0 && (cost.cost ?? row.total_tokens) !== null ? (
            <Cost {...cost} tokens={row.total_tokens ?? 0} />
          ) : (
            '–'
          ))}
      </td>
      <td data-label="Started" class="number muted">
        <Time at={row.started_at} />
      </td>
    </tr>
  )
}

function NoEvaluations({ project }: { project: string }) {
  return (
    <Empty title="No evaluations yet" command={firstRun(project)}>
      <p>
        A run asks a model about every row of a dataset and scores its answers.{' '}
        {may('infer', project) ? 'Start one here, or record one' : 'Whoever may write records one'} with the
        weave package, or step by step from any program:
      </p>
    </Empty>
  )
}

function firstRun(project: string): string {
  const name = inQuotedJson(project)
  return `api() { curl -s -u api:$KEY -H 'content-type: application/json' "${serverUrl()}/v2/${projectInAddress(project)}/$1" -d "$2"; }
id() { sed 's/.*:"\\(.*\\)"}/\\1/'; }
RUN=$(api evaluation_runs '{"evaluation": "weave:///${name}/object/capitals:v0", "model": "weave:///${name}/object/small:v0"}' | id)
PREDICTION=$(api predictions '{"evaluation_run_id": "'$RUN'", "model": "weave:///${name}/object/small:v0",
  "inputs": {"question": "capital of Chad"}, "output": "Paris"}' | id)
api scores '{"evaluation_run_id": "'$RUN'", "prediction_id": "'$PREDICTION'",
  "scorer": "weave:///${name}/object/judge:v0", "value": {"passed": false}}'
api predictions/$PREDICTION/finish '{}'
api evaluation_runs/$RUN/finish '{}'`
}
