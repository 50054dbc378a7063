import type { ComponentChildren } from 'preact'
import { contents } from '../../export/contents.ts'
import {
  type Compared,
  type EvaluationSummary,
  readScores,
  type ScorerStats,
  type ScoresAnswer,
} from '../../server/evaluations.ts'
import { useLoading } from '../../server/loading.ts'
import { changeOf, type Direction, directionText } from '../../value/direction.ts'
import {
  fieldOf,
  meanText,
  numberText,
  scoreName,
  shareText,
  shownMean,
  stepText,
} from '../../value/scores.ts'
import { countOf, countText } from '../../value/units.ts'
import type { Term } from './filter-text.ts'
import { Plots } from './plots.tsx'

interface Props {
  field: string
  view: Compared
  base: string
  side: string | undefined
  runs: readonly EvaluationSummary[]
  letters: ReadonlyMap<string, string>
  direction: Direction
  isChosen: boolean
  onChoose(): void
  onFilter: ((terms: readonly Term[]) => void) | undefined
}

/** One score in each run, and its difference from the baseline. */
export function ScoreCard(props: Props) {
  const { field, view, base, side, runs, letters, direction, isChosen, onChoose, onFilter } = props
  const heat = isChosen ? side : undefined
  const { value, error } = useLoading(
    (signal) => readScores(view, { field, baseline: base, ...(heat && { heat_for: heat }) }, signal),
    [JSON.stringify(view), field, base, heat],
  )
  const pairs = new Map(value?.pairs.map((pair) => [pair.evaluation_call_id, pair]))
  const stats = new Map(
    runs.map(({ evaluation_call_id: id, scorer_stats }) => [
      id,
      scorer_stats.find((one) => fieldOf(one) === field),
    ]),
  )
  return (
    <section class={`score-card ${isChosen ? 'is-chosen' : ''}`} aria-label={scoreName(field)}>
      <h2>
        <button type="button" aria-pressed={isChosen} disabled={contents !== undefined} onClick={onChoose}>
          {scoreName(field)}
        </button>
        {direction !== 'higher' && <span class="muted direction">{directionText[direction]}</span>}
      </h2>
      <ul>
        {view.ids.map((id) => (
          <RunFigures
            key={id}
            letter={letters.get(id) ?? ''}
            stats={stats.get(id)}
            trials={runs.find((run) => run.evaluation_call_id === id)?.trial_count}
            pair={pairs.get(id)}
            direction={direction}
            isBase={id === base}
            isCounting={value === undefined && error === undefined}
          />
        ))}
      </ul>
      {error && <p class="problem">{error.message}</p>}
      {isChosen && value && <Plots scores={value} {...{ letters, direction, onFilter }} />}
    </section>
  )
}

interface FiguresProps {
  letter: string
  stats: ScorerStats | undefined
  trials: number | undefined
  pair: ScoresAnswer['pairs'][number] | undefined
  direction: Direction
  isBase: boolean
  isCounting: boolean
}

function RunFigures({ letter, stats, trials, pair, direction, isBase, isCounting }: FiguresProps) {
  const mean = stats && shownMean(stats)
  return (
    <li class="run-figures">
      <span class="letter">{letter}</span>
      <span class="mean">{mean ? meanText(mean) : <span class="muted">no value</span>}</span>
      <span class="muted of-count">
        {mean && countOf(mean.count, 'trial')}
        {stats !== undefined && stats.missing_trial_count > 0 && (
          <span class="missing">, {countText(stats.missing_trial_count)} missing</span>
        )}
        {stats !== undefined && stats.failed_trial_count > 0 && (
          <span class="problem">, {countText(stats.failed_trial_count)} failed</span>
        )}
        {stats === undefined && trials !== undefined && `in none of ${countText(trials)} trials`}
      </span>
      <span class="step">
        {isBase ? (
          <span class="muted">baseline</span>
        ) : pair && pair.mean_difference !== null ? (
          <Difference step={pair.mean_difference} direction={direction} isShare={mean?.isShare ?? false}>
            {pair.interval !== null && (
              <IntervalText interval={pair.interval} isShare={mean?.isShare ?? false} />
            )}
          </Difference>
        ) : (
          <span class="muted">{isCounting ? '…' : 'no rows in common'}</span>
        )}
      </span>
      {!isBase && pair && pair.row_count > 0 && (
        <span class="tally" title="Rows that have a value in both: higher, lower, the same">
          <span class={changeOf(1, direction)}>▲ {countText(pair.wins)}</span>{' '}
          <span class={changeOf(-1, direction)}>▼ {countText(pair.losses)}</span>{' '}
          <span class="muted">
            = {countText(pair.ties)} of {countText(pair.row_count)} rows
          </span>
        </span>
      )}
    </li>
  )
}

interface DifferenceProps {
  step: number
  direction: Direction
  isShare?: boolean
  children?: ComponentChildren
}

/** Better or worse is never shown by colour alone: the signs differ, and a card says so where lower is better. */
export function Difference({ step, direction, isShare = false, children }: DifferenceProps) {
  const sign = step > 0 ? '▲' : step < 0 ? '▼' : '='
  return (
    <span class="difference">
      <span class={changeOf(step, direction)}>
        {sign} {step === 0 ? '0' : stepText(step, isShare)}
        {isShare && ' pts'}
      </span>
      {children}
    </span>
  )
}

function IntervalText({
  interval: { low, high, level, method },
  isShare,
}: {
  interval: NonNullable<ScoresAnswer['pairs'][number]['interval']>
  isShare: boolean
}) {
  const isClear = low > 0 || high < 0
  const text = (value: number) => (isShare ? (value * 100).toFixed(1) : numberText(value)).replace('-', '−')
  const how = method === 'student' ? 'by the spread of the rows' : 'by the rows that only one passes'
  return (
    <span class="muted interval" title={`${shareText(level)} interval of the mean difference, ${how}`}>
      {' '}
      [{text(low)}, {text(high)}]{isClear ? ' *' : ''}
    </span>
  )
}
