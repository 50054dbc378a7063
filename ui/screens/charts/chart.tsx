import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { live } from '../../export/contents.ts'
import { timeText } from '../../value/units.ts'
import type { ChartSeries, Panel, Series } from './series.ts'

const [width, height] = [600, 120]
const floor = height - 1

interface Props {
  panel: Panel
  drawn: ChartSeries
  times: readonly Date[]
  /** Where the last bucket ends. */
  end: Date
  /** Link to the calls of one bucket. */
  linkOf(bucket: number): string
  onChoose(first: number, last: number): void
  /** What the numbers leave out. */
  note?: ComponentChildren
}

/** One quantity over time, with a line for each group. Drawing over it selects a time; the table has the numbers, and links. */
export function Chart({ panel, drawn: { series, left }, times, end, linkOf, onChoose, note }: Props) {
  const [held, setHeld] = useState<{ from: number; to: number }>()
  const [pointed, setPointed] = useState<number>()
  const highest = Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)))
  const bar = width / times.length
  const bucketAt = (event: PointerEvent & { currentTarget: Element }) => {
    const { left: from, width: shown } = event.currentTarget.getBoundingClientRect()
    return Math.min(
      times.length - 1,
      Math.max(0, Math.floor(((event.clientX - from) / shown) * times.length)),
    )
  }
  const now = new Date()
  const [first = end, second = end] = times
  const toThe = second.getTime() - first.getTime() < 60_000 ? 'second' : 'minute'
  // From a week on, the time of day says nothing and breaks the line.
  const days = (end.getTime() - first.getTime()) / 86_400_000
  const ofAxis = days > 6 ? 'day' : toThe
  // The first time has its date, and within a day so have the others.
  const isDay = days < 1.1
  const timeOf = (bucket: number) => timeText(times[bucket] ?? end, now, toThe)
  const total = (one: Series) => one.values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
  const all = series.reduce((sum, one) => sum + total(one), 0)
  if (highest === 0)
    return (
      <figure class="chart is-empty" data-panel={panel.name}>
        <figcaption>
          <h2>{panel.title}</h2>
          <span class="muted">none in this time range</span>
        </figcaption>
        {note && <p class="muted">{note}</p>}
      </figure>
    )
  const chosen = held && { first: Math.min(held.from, held.to), last: Math.max(held.from, held.to) }
  return (
    <figure class="chart" data-panel={panel.name}>
      <figcaption>
        <h2>{panel.title}</h2>
        <span class="muted">{panel.isSum && panel.text(all)}</span>
      </figcaption>
      <div class="plot">
        <span class="plot-top muted">{panel.text(highest)}</span>
        {/* Of a few calls there may be no half. */}
        {(highest % 2 !== 1 || highest > 20) && panel.text(highest / 2) !== panel.text(highest) && (
          <span class="plot-half muted">{panel.text(highest / 2)}</span>
        )}
        {pointed !== undefined && (
          <span
            class="plot-tip"
            ref={(tip) => tip?.style.setProperty('--at', String((pointed + 0.5) / times.length))}
          >
            {timeOf(pointed)}: {textAt(panel, series, pointed)}
          </span>
        )}
        <svg
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${panel.title} from ${timeOf(0)} to ${timeText(end, now, toThe)}; the table below has the numbers`}
          onPointerDown={live((event) => {
            event.currentTarget.setPointerCapture(event.pointerId)
            setHeld({ from: bucketAt(event), to: bucketAt(event) })
          })}
          onPointerMove={(event) => {
            setPointed(bucketAt(event))
            if (held) setHeld({ ...held, to: bucketAt(event) })
          }}
          onPointerLeave={() => setPointed(undefined)}
          onPointerCancel={() => setHeld(undefined)}
          onPointerUp={() => {
            if (chosen) onChoose(chosen.first, chosen.last)
            setHeld(undefined)
          }}
        >
          {[0.25, 0.5, 0.75].map((part) => (
            <line key={part} class="rule" x1="0" x2={width} y1={height * part} y2={height * part} />
          ))}
          {chosen && (
            <rect
              class="chosen"
              x={chosen.first * bar}
              width={(chosen.last - chosen.first + 1) * bar}
              y="0"
              height={height}
            />
          )}
          {pointed !== undefined && (
            <rect class="pointed" x={pointed * bar} width={bar} y="0" height={height} />
          )}
          {series.map(({ label, values }, index) => (
            <path
              key={label}
              class={`line line-${index + 1}`}
              d={pathOf(values, highest, bar)}
              vector-effect="non-scaling-stroke"
            />
          ))}
        </svg>
      </div>
      <div class="chart-ends muted">
        {[0, 0.25, 0.5, 0.75, 1].map((place) => {
          const at = times[Math.round(place * times.length)] ?? end
          return <span key={place}>{timeText(at, place > 0 && isDay ? at : now, ofAxis)}</span>
        })}
      </div>
      {series.length > 1 && (
        <ul class="legend">
          {series.map((one, index) => (
            <li key={one.label}>
              <svg viewBox="0 0 20 4" aria-hidden="true">
                <path class={`line line-${index + 1}`} d="M0 2H20" vector-effect="non-scaling-stroke" />
              </svg>
              <span dir="auto">{one.label}</span>
              {panel.isSum && <span class="muted">{panel.text(total(one))}</span>}
            </li>
          ))}
        </ul>
      )}
      {left > 0 && <p class="muted">{left} smaller groups are not shown.</p>}
      {note && <p class="muted">{note}</p>}
      <details>
        <summary>Show as table</summary>
        <Numbers {...{ panel, series, times, timeOf, linkOf }} />
      </details>
    </figure>
  )
}

function textAt(panel: Panel, series: readonly Series[], bucket: number): string {
  const said = series.flatMap(({ label, values }) => {
    const value = values[bucket]
    if (value === undefined) return []
    return series.length === 1 ? panel.text(value) : value === 0 ? [] : `${label} ${panel.text(value)}`
  })
  return said.join(', ') || 'none'
}

/** A step line, with one step for each bucket; buckets without a value leave a gap. */
function pathOf(values: Series['values'], highest: number, bar: number): string {
  let path = ''
  let isOpen = false
  for (const [index, value] of values.entries()) {
    if (value === undefined) {
      isOpen = false
      continue
    }
    const y = (floor - (value / highest) * (floor - 4)).toFixed(1)
    path += `${isOpen ? 'L' : 'M'}${(index * bar).toFixed(1)} ${y}H${((index + 1) * bar).toFixed(1)}`
    isOpen = true
  }
  return path
}

interface NumbersProps extends Pick<Props, 'panel' | 'times' | 'linkOf'> {
  series: readonly Series[]
  timeOf(bucket: number): string
}

function Numbers({ panel, series, times, timeOf, linkOf }: NumbersProps) {
  const filled = times.flatMap((_, bucket) => (series.some(({ values }) => values[bucket]) ? [bucket] : []))
  return (
    <div class="chart-table" tabIndex={0} role="region" aria-label={`${panel.title} as a table`}>
      <table>
        <thead>
          <tr>
            <th scope="col">From</th>
            {series.map(({ label }) => (
              <th key={label} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {filled.map((bucket) => (
            <tr key={bucket}>
              <th scope="row">
                <a data-file={() => timeOf(bucket)} href={linkOf(bucket)}>
                  {timeOf(bucket)}
                </a>
              </th>
              {series.map(({ label, values }) => {
                const value = values[bucket]
                return <td key={label}>{value === undefined ? '–' : panel.text(value)}</td>
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
