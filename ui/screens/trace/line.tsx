import { Icon } from '../../parts/icon.tsx'
import { Status } from '../../parts/status.tsx'
import { nameOf } from '../../server/calls.ts'
import { costText, countText, durationText, tokensText } from '../../value/units.ts'
import type { TimeScale } from './time-scale.ts'
import type { Branch, Span } from './tree.ts'

/** As in style/trace.css. */
export const lineHeight = 1.875

/** Deeper calls are not indented further, so that there is room for their names. */
const deepest = 24

interface Props {
  index: number
  top: number
  branch: Branch
  scale: TimeScale
  /** When the trace waited for this call itself; undefined if it never waited for it or for a call below it. */
  critical: readonly Span[] | undefined
  isChosen: boolean
  isClosed: boolean
  onChoose(): void
  onToggle(): void
}

/** One call of the tree, with a bar for the time it ran. */
export function TraceLine(props: Props) {
  const { index, top, branch, scale, critical, isChosen, isClosed, onChoose, onToggle } = props
  const { row, depth, children } = branch
  return (
    <div
      id={`call-${index}`}
      class={`tree-line ${isChosen ? 'is-active' : ''}`}
      role="treeitem"
      aria-level={depth + 1}
      aria-selected={isChosen}
      aria-expanded={children.length > 0 ? !isClosed : undefined}
      ref={(element) => {
        element?.style.setProperty('transform', `translateY(${top}px)`)
        element?.style.setProperty('--depth', String(Math.min(depth, deepest)))
      }}
      onClick={onChoose}
    >
      <span class="tree-what">
        {children.length > 0 ? (
          <span
            class={`tree-toggle ${isClosed ? '' : 'is-open'}`}
            aria-hidden="true"
            onClick={(event) => {
              event.stopPropagation()
              onToggle()
            }}
          >
            <Icon name="chevron" />
          </span>
        ) : (
          <span class="tree-toggle" />
        )}
        <Status status={branch.isFailedBelow ? 'descendant_error' : row.status} isShort />
        {row.kind !== null && <span class="tree-kind">{row.kind}</span>}
        <span class="tree-named">
          <span dir="auto" class="tree-name" title={nameOf(row)}>
            {nameOf(row)}
          </span>
          {(branch.tokens || branch.cost !== undefined) && (
            <span class="tree-used">
              {branch.tokens && tokensText(branch.tokens)}
              {branch.cost !== undefined && ` ${costText(branch.cost)}`}
            </span>
          )}
        </span>
        {row.feedback > 0 && (
          <span class="tree-said" title={`${row.feedback} feedback`}>
            ✎<span class="hidden-text">has feedback</span>
          </span>
        )}
        {isClosed && <span class="muted">{countText(branch.within)} within</span>}
      </span>
      <span class="tree-time">
        <span class={critical ? 'tree-bars is-critical' : 'tree-bars'}>
          {scale.gaps.map((gap) => (
            <Stretch key={gap.start} kind="tree-gap" {...{ scale, ...gap }} />
          ))}
          <Stretch kind="tree-bar" status={row.status} {...{ scale }} start={branch.start} end={branch.end} />
          {critical?.map((one) => (
            <Stretch key={one.start} kind="tree-critical" {...{ scale, ...one }} />
          ))}
        </span>
        <span class="tree-took">{row.end === null ? 'running' : durationText(row.end - row.start)}</span>
      </span>
    </div>
  )
}

interface StretchProps extends Span {
  kind: string
  scale: TimeScale
  status?: string
}

function Stretch({ kind, scale, status, start, end }: StretchProps) {
  const from = scale.at(start)
  return (
    <span
      class={kind}
      data-status={status}
      ref={(element) => {
        element?.style.setProperty('--from', `${from * 100}%`)
        element?.style.setProperty('--length', `${(scale.at(end) - from) * 100}%`)
      }}
    />
  )
}

const ticks = [0, 0.25, 0.5, 0.75]

/** The ruler above the bars: time since the start. */
export function TimeRuler({ scale, start }: { scale: TimeScale; start: number }) {
  return (
    <div class="tree-ruler" aria-hidden="true">
      <span>Call</span>
      <span class="tree-time">
        <span class="tree-bars">
          {ticks.map((share) => (
            <span
              key={share}
              class="tree-tick"
              ref={(element) => element?.style.setProperty('--from', `${share * 100}%`)}
            >
              {share === 0 ? '0' : durationText(scale.timeAt(share) - start)}
            </span>
          ))}
        </span>
        <span class="tree-took">Latency</span>
      </span>
    </div>
  )
}
