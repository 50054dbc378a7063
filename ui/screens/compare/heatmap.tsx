import type { ComponentChildren } from 'preact'
import type { ScoresAnswer } from '../../server/evaluations.ts'
import { changeOf, type Direction } from '../../value/direction.ts'
import { numberText } from '../../value/scores.ts'
import { countText } from '../../value/units.ts'

const size = 240

interface Props {
  heat: NonNullable<ScoresAnswer['heat']>
  least: number
  most: number
  direction: Direction
  base: string
  other: string
  onChoose(x: number, y: number): void
}

/** Rows counted by their means in two runs. Cells above the diagonal are higher in the other run. */
export function Heatmap({ heat: { bins, cells }, least, most, direction, base, other, onChoose }: Props) {
  const cell = size / bins
  const highest = Math.max(1, ...cells.map(([, , rows]) => rows))
  const at = (bin: number) => numberText(least + ((most - least) / bins) * bin)
  const label = (x: number, y: number, rows: number) =>
    `${base} ${at(x)} to ${at(x + 1)}, ${other} ${at(y)} to ${at(y + 1)}: ${countText(rows)} rows`
  return (
    <figure class="heat">
      <svg
        viewBox={`0 0 ${size} ${size}`}
        role="img"
        onPointerUp={(event) => {
          const { left, top, width } = event.currentTarget.getBoundingClientRect()
          const bin = (at: number) => Math.min(bins - 1, Math.max(0, Math.floor((at / width) * bins)))
          const [x, y] = [bin(event.clientX - left), bins - 1 - bin(event.clientY - top)]
          if (cells.some(([one, other]) => one === x && other === y)) onChoose(x, y)
        }}
        aria-label={`Rows by their scores in ${base} and in ${other}; the table below has the numbers`}
      >
        <rect class="heat-ground" width={size} height={size} />
        <line class="heat-same" x1="0" y1={size} x2={size} y2="0" />
        {cells.map(([x, y, rows]) => (
          <rect
            key={`${x} ${y}`}
            class={changeOf(y - x, direction)}
            x={x * cell}
            y={size - (y + 1) * cell}
            width={cell}
            height={cell}
            // Even a single row has to be visible.
            fill-opacity={0.25 + 0.75 * Math.sqrt(rows / highest)}
          >
            <title>{label(x, y, rows)}</title>
          </rect>
        ))}
      </svg>
      <figcaption class="muted">
        <span>
          → {base}, ↑ {other}; {numberText(least)} to {numberText(most)}
        </span>
      </figcaption>
      <ChartTable columns={[base, other, 'Rows', 'Filter']}>
        {cells
          .toSorted(([, , a], [, , b]) => b - a)
          .slice(0, mostListed)
          .map(([x, y, rows]) => (
            <tr key={`${x} ${y}`}>
              <td>
                {at(x)} to {at(x + 1)}
              </td>
              <td>
                {at(y)} to {at(y + 1)}
              </td>
              <td>{countText(rows)}</td>
              <td>
                <button
                  type="button"
                  class="quiet"
                  aria-label={`Only these: ${label(x, y, rows)}`}
                  onClick={() => onChoose(x, y)}
                >
                  only these
                </button>
              </td>
            </tr>
          ))}
      </ChartTable>
      {cells.length > mostListed && (
        <p class="muted">
          The table has the {mostListed} largest of {countText(cells.length)} cells.
        </p>
      )}
    </figure>
  )
}

/** The figures of a chart, for keys and screen readers. */
export function ChartTable({
  columns,
  children,
}: {
  columns: readonly string[]
  children: ComponentChildren
}) {
  return (
    <details>
      <summary>Show as table</summary>
      <div class="chart-table">
        <table>
          <thead>
            <tr>
              {columns.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>{children}</tbody>
        </table>
      </div>
    </details>
  )
}

const mostListed = 200
