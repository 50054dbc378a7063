import { Icon } from '../../parts/icon.tsx'
import { Status } from '../../parts/status.tsx'
import { latencyOf, nameOf, statusOf } from '../../server/calls.ts'
import { durationText } from '../../value/units.ts'
import type { Branch, Span } from './tree.ts'

/** As style/trace.css has it. */
export const lineHeight = 30

/** Deeper calls stand as far in as these, so that there is room for their names. */
const deepest = 24

interface Props {
  index: number
  top: number
  branch: Branch
  span: Span
  isChosen: boolean
  isClosed: boolean
  onChoose(): void
  onToggle(): void
}

/** One call of the tree, and when it ran as a bar. */
export function TraceLine({ index, top, branch, span, isChosen, isClosed, onChoose, onToggle }: Props) {
  const { row, depth, children } = branch
  const latency = latencyOf(row)
  const whole = Math.max(1, span.end - span.start)
  const start = Date.parse(row.started_at)
  const end = row.ended_at === null ? span.end : Date.parse(row.ended_at)
  const status = statusOf(row)
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
        element?.style.setProperty('--from', `${((start - span.start) / whole) * 100}%`)
        element?.style.setProperty('--length', `${((end - start) / whole) * 100}%`)
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
        <Status status={status} isShort />
        <span class="tree-name">{nameOf(row)}</span>
        {isClosed && <span class="muted">{children.length} within</span>}
      </span>
      <span class="tree-time">
        <span class="tree-bar" data-status={status} />
        <span class="tree-took">{latency === undefined ? 'running' : durationText(latency)}</span>
      </span>
    </div>
  )
}
