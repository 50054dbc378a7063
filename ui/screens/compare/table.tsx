import type { RefObject } from 'preact'
import { ComingRow, movedTo, VirtualList } from '../../parts/virtual-list.tsx'
import type { ResultRow } from '../../server/evaluations.ts'
import { changeOf, type Direction } from '../../value/direction.ts'
import { lineOfValue } from '../../value/messages.ts'
import { scoreName } from '../../value/scores.ts'
import { Difference } from './card.tsx'
import type { Rows } from './rows.ts'
import { scoreOfRow } from './values.ts'

/** As in style/compare.css. */
const rowHeight = 3

interface Props {
  scroller: RefObject<HTMLDivElement | null>
  list: Rows
  field: string | undefined
  direction: Direction
  ids: readonly string[]
  side: string | undefined
  letters: ReadonlyMap<string, string>
  names: ReadonlyMap<string, string>
  active: number
  scrollRequest: number
  open: string | undefined
  onOpen(index: number): void
  onScroll(): void
}

/** The rows of all runs next to each other, in the order of the server. */
export function CompareTable(props: Props) {
  const { scroller, list, field, direction, ids, side, letters, names, active, scrollRequest, open, onOpen } =
    props
  const count = list.count.value
  const columns = (element: HTMLElement | null) => element?.style.setProperty('--runs', String(ids.length))
  return (
    <div
      class="grid compare-grid"
      role="grid"
      aria-label={field === undefined ? 'Rows' : `Rows and their ${scoreName(field)}`}
      aria-rowcount={(count ?? 0) + 1}
      aria-busy={count === undefined}
      tabIndex={0}
      onScroll={props.onScroll}
      ref={(element) => {
        scroller.current = element
        columns(element)
      }}
    >
      <div class="grid-head" role="row" aria-rowindex={1}>
        <div role="columnheader">Input</div>
        {ids.map((id) => (
          <div key={id} role="columnheader" class={id === side ? 'is-side' : ''} title={names.get(id)}>
            <span class="letter">{letters.get(id)}</span> <bdi>{names.get(id)}</bdi>
          </div>
        ))}
      </div>
      <VirtualList
        scroller={scroller}
        count={count ?? 20}
        height={rowHeight}
        active={active}
        scrollRequest={scrollRequest}
        onRange={list.see}
        row={(index, top) => (
          <Line
            key={index}
            {...{ index, top, field, direction, ids, side }}
            row={list.rows.value.get(index)}
            isActive={index === active}
            isOpen={list.rows.value.get(index)?.digest === open && open !== undefined}
            onOpen={() => onOpen(index)}
          />
        )}
      />
    </div>
  )
}

interface LineProps extends Pick<Props, 'field' | 'direction' | 'ids' | 'side'> {
  index: number
  top: number
  row: ResultRow | undefined
  isActive: boolean
  isOpen: boolean
  onOpen(): void
}

function Line(props: LineProps) {
  const { index, top, row, field, direction, ids, side, isActive, isOpen, onOpen } = props
  const classes = `grid-row ${isActive ? 'is-active' : ''} ${isOpen ? 'is-peeked' : ''}`
  if (row === undefined) return <ComingRow {...{ index, top, classes }} />
  const base = field === undefined ? undefined : scoreOfRow(row, ids[0] as string, field)
  return (
    <div
      class={classes}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isActive}
      ref={movedTo(top)}
      onClick={onOpen}
    >
      <div role="gridcell" class="cell-input" title={lineOfValue(row.inputs)}>
        {lineOfValue(row.inputs) || <span class="muted">no input</span>}
      </div>
      {ids.map((id, at) => (
        <RunCell
          key={id}
          {...{ row, id, field, direction }}
          base={at === 0 ? undefined : base?.mean}
          isSide={id === side}
        />
      ))}
    </div>
  )
}

interface CellProps extends Pick<Props, 'field' | 'direction'> {
  row: ResultRow
  id: string
  /** The value of the baseline; undefined for the baseline itself. */
  base: number | undefined
  isSide: boolean
}

function RunCell({ row, id, field, direction, base, isSide }: CellProps) {
  const trials = row.trials.get(id)
  const score = field === undefined ? undefined : scoreOfRow(row, id, field)
  const step = base === undefined || score?.mean === undefined ? undefined : score.mean - base
  const kind = step === undefined ? '' : changeOf(step, direction)
  return (
    <div role="gridcell" class={`cell-run ${kind} ${isSide ? 'is-side' : ''}`}>
      {trials === undefined ? (
        <span class="muted">no trial</span>
      ) : (
        <>
          <span class="cell-score">
            {score !== undefined && score.text !== '' ? (
              <strong title={String(score.mean ?? score.text)}>{score.text.slice(0, 40)}</strong>
            ) : (
              <span class="muted">no value</span>
            )}
            {score !== undefined && score.trials > 1 && (
              <span class="muted" title={`The mean of ${score.known} of ${score.trials} trials`}>
                {' '}
                {score.known === score.trials ? `×${score.trials}` : `${score.known} of ${score.trials}`}
              </span>
            )}
            {step !== undefined && <Difference {...{ step, direction }} />}
          </span>
          <span class="cell-said muted" title={lineOfValue(trials[0]?.output)}>
            {lineOfValue(trials[0]?.output)}
          </span>
        </>
      )}
    </div>
  )
}
