import { useState } from 'preact/hooks'
import { numberText } from '../../value/scores.ts'
import { countText } from '../../value/units.ts'

export interface Bins {
  least: number
  most: number
  isBinary: boolean
  counts: readonly number[]
}

const [width, height] = [320, 56]

/** Where a bin begins and ends. */
export function rangeOf({ least, most, counts }: Bins, bin: number): { from: number; to: number } {
  const step = (most - least) / counts.length
  return { from: least + step * bin, to: bin === counts.length - 1 ? most : least + step * (bin + 1) }
}

export function rangeText(bins: Bins, bin: number): string {
  if (bins.isBinary) return bin === 1 ? 'passed' : 'not passed'
  const { from, to } = rangeOf(bins, bin)
  return `${numberText(from)} to ${numberText(to)}`
}

interface Props {
  label: string
  bins: Bins
  /** The highest bar of all histograms that are shown together. */
  highest: number
  onChoose(first: number, last: number): void
}

/** Trials counted by their score. Drawing over the bars selects these trials; the table does the same by keys. */
export function Histogram({ label, bins, highest, onChoose }: Props) {
  const [drawn, setDrawn] = useState<{ from: number; to: number }>()
  const { counts } = bins
  const bar = width / counts.length
  const binAt = (event: PointerEvent & { currentTarget: Element }) => {
    const { left, width: shown } = event.currentTarget.getBoundingClientRect()
    const bin = Math.floor(((event.clientX - left) / shown) * counts.length)
    return Math.min(counts.length - 1, Math.max(0, bin))
  }
  const isDrawn = (bin: number) =>
    drawn !== undefined && bin >= Math.min(drawn.from, drawn.to) && bin <= Math.max(drawn.from, drawn.to)
  return (
    <svg
      class="histogram"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}: ${counts.map((count, bin) => `${rangeText(bins, bin)}: ${count}`).join('; ')}`}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId)
        setDrawn({ from: binAt(event), to: binAt(event) })
      }}
      onPointerMove={(event) => drawn && setDrawn({ ...drawn, to: binAt(event) })}
      onPointerCancel={() => setDrawn(undefined)}
      onPointerUp={() => {
        if (drawn) onChoose(Math.min(drawn.from, drawn.to), Math.max(drawn.from, drawn.to))
        setDrawn(undefined)
      }}
    >
      {counts.map((count, bin) => {
        const tall = highest === 0 ? 0 : (count / highest) * (height - 4)
        return (
          <g key={bin} class={isDrawn(bin) ? 'is-drawn' : ''}>
            <title>{`${rangeText(bins, bin)}: ${countText(count)} trials`}</title>
            <rect class="slot" x={bin * bar} y={0} width={bar} height={height} />
            <rect
              class="bar"
              x={bin * bar + 0.75}
              y={height - Math.max(tall, count > 0 ? 1.5 : 0)}
              width={Math.max(1, bar - 1.5)}
              height={Math.max(tall, count > 0 ? 1.5 : 0)}
            />
          </g>
        )
      })}
    </svg>
  )
}
