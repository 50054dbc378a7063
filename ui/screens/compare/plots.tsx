import type { ScoresAnswer } from '../../server/evaluations.ts'
import { changeOf, type Direction } from '../../value/direction.ts'
import { numberText } from '../../value/scores.ts'
import { countText } from '../../value/units.ts'
import type { Term } from './filter-text.ts'
import { ChartTable, Heatmap } from './heatmap.tsx'
import { type Bins, Histogram, rangeOf, rangeText } from './histogram.tsx'

interface Props {
  scores: ScoresAnswer
  /** The letter of each run. */
  letters: ReadonlyMap<string, string>
  direction: Direction
  /** Adds conditions to the filter; absent where the rows cannot be filtered. */
  onFilter: ((terms: readonly Term[]) => void) | undefined
}

/** The distribution of one score in each run, and a comparison of two runs. */
export function Plots({ scores, letters, direction, onFilter }: Props) {
  const { field, least, most, evaluations, heat, baseline, pairs } = scores
  if (least === null || most === null) return <p class="muted">No trial has a number for this score.</p>
  const axis = { ...(scores.is_binary ? { least: 0, most: 1 } : { least, most }), isBinary: scores.is_binary }
  const highest = Math.max(...evaluations.flatMap(({ counts }) => counts))
  const name = (id: string) => letters.get(id) ?? id
  const choose = (evaluation: string, bins: Bins, first: number, last: number) =>
    onFilter?.(between(field, evaluation, bins, first, last))
  return (
    <div class="pictures">
      {evaluations.map(({ evaluation_call_id: id, counts, value_count }) => {
        const bins = { ...axis, counts }
        return (
          <figure key={id}>
            <figcaption>
              <span class="letter">{name(id)}</span>
              <span class="muted">{countText(value_count)} trials</span>
            </figcaption>
            <Histogram
              label={`Trials of ${name(id)} by their score`}
              {...{ bins, highest }}
              onChoose={(first, last) => choose(id, bins, first, last)}
            />
            <div class="axis muted">
              <span>{scores.is_binary ? 'not passed' : numberText(least)}</span>
              <span>{scores.is_binary ? 'passed' : numberText(most)}</span>
            </div>
          </figure>
        )
      })}
      <ChartTable columns={['Score', ...evaluations.map(({ evaluation_call_id: id }) => name(id))]}>
        {(evaluations[0]?.counts ?? []).map((_, bin) => (
          <tr key={bin}>
            <th scope="row">{rangeText({ ...axis, counts: evaluations[0]?.counts ?? [] }, bin)}</th>
            {evaluations.map(({ evaluation_call_id: id, counts }) => (
              <td key={id}>
                <button
                  type="button"
                  class="quiet"
                  aria-label={`Only the ${counts[bin]} trials of ${name(id)} with ${rangeText({ ...axis, counts }, bin)}`}
                  disabled={counts[bin] === 0 || onFilter === undefined}
                  onClick={() => choose(id, { ...axis, counts }, bin, bin)}
                >
                  {countText(counts[bin] ?? 0)}
                </button>
              </td>
            ))}
          </tr>
        ))}
      </ChartTable>
      {heat !== null && (
        <>
          <Agreement
            pair={pairs.find(({ evaluation_call_id: id }) => id === heat.evaluation_call_id)}
            {...{ direction }}
            base={name(baseline)}
            other={name(heat.evaluation_call_id)}
          />
          {!scores.is_binary && (
            <Heatmap
              {...{ heat, least, most, direction }}
              base={name(baseline)}
              other={name(heat.evaluation_call_id)}
              onChoose={(x, y) => {
                const bins = { ...axis, counts: Array.from({ length: heat.bins }, () => 0) }
                onFilter?.([
                  ...between(field, baseline, bins, x, x),
                  ...between(field, heat.evaluation_call_id, bins, y, y),
                ])
              }}
            />
          )}
        </>
      )}
    </div>
  )
}

function between(field: string, evaluation: string, bins: Bins, first: number, last: number): Term[] {
  const term = (by: Term['by'], value: string): Term => ({ field, by, value, evaluation })
  if (bins.isBinary) return first === last ? [term('=', String(first))] : []
  const { from } = rangeOf(bins, first)
  const { to } = rangeOf(bins, last)
  return [term('>=', String(from)), term(last === bins.counts.length - 1 ? '<=' : '<', String(to))]
}

interface AgreementProps {
  pair: ScoresAnswer['pairs'][number] | undefined
  direction: Direction
  base: string
  other: string
}

function Agreement({ pair, direction, base, other }: AgreementProps) {
  if (!pair?.agreement) return null
  const { both, baseline_only, other_only, neither } = pair.agreement
  return (
    <table class="agreement">
      <caption class="muted">
        Rows that pass in {base} and in {other}
      </caption>
      <thead>
        <tr>
          <td />
          <th scope="col">{other} passed</th>
          <th scope="col">{other} not</th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <th scope="row">{base} passed</th>
          <td>{countText(both)}</td>
          <td class={changeOf(-1, direction)}>▼ {countText(baseline_only)}</td>
        </tr>
        <tr>
          <th scope="row">{base} not</th>
          <td class={changeOf(1, direction)}>▲ {countText(other_only)}</td>
          <td>{countText(neither)}</td>
        </tr>
      </tbody>
    </table>
  )
}
