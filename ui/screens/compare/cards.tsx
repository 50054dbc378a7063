import { useState } from 'preact/hooks'
import { Skeleton } from '../../parts/states.tsx'
import type { Compared, EvaluationSummary } from '../../server/evaluations.ts'
import type { Direction } from '../../value/direction.ts'
import { countText } from '../../value/units.ts'
import { ScoreCard } from './card.tsx'
import type { Term } from './filter-text.ts'

/** Scores shown at first; the user may ask for more. */
const cardsAtOnce = 8

interface CardsProps {
  fields: readonly string[]
  field: string | undefined
  compared: Compared
  base: string
  side: string | undefined
  runs: readonly EvaluationSummary[]
  letters: ReadonlyMap<string, string>
  direction(field: string): Direction
  isLoading: boolean
  onChoose(field: string): void
  onFilter: ((terms: readonly Term[]) => void) | undefined
}

/** One card for each score. */
export function Cards({ fields, field, compared, direction, isLoading, ...rest }: CardsProps) {
  const { base, side, runs, letters, ...on } = rest
  const [most, setMost] = useState(cardsAtOnce)
  return (
    <div class="cards" role="region" aria-label="Scores" tabIndex={0}>
      {isLoading && <Skeleton rows={8} />}
      {fields.slice(0, most).map((one) => (
        <ScoreCard
          key={one}
          field={one}
          view={compared}
          {...{ base, side, runs, letters }}
          direction={direction(one)}
          isChosen={one === field}
          onChoose={() => on.onChoose(one)}
          onFilter={on.onFilter}
        />
      ))}
      {fields.length > most && (
        <button type="button" onClick={() => setMost(fields.length)}>
          Show all {countText(fields.length)} scores
        </button>
      )}
      {!isLoading && fields.length === 0 && (
        <p class="muted in-cards">No scorer gave a number or a boolean.</p>
      )}
    </div>
  )
}
