import type { ComponentChildren } from 'preact'
import { Status } from '../../parts/status.tsx'
import { Time } from '../../parts/time.tsx'
import { paths } from '../../places.ts'
import {
  type CallRow,
  costOf,
  type FeedbackRow,
  latencyOf,
  modelsOf,
  nameOf,
  statusOf,
  tokensOf,
} from '../../server/calls.ts'
import { costText, countText, durationText, sizeText } from '../../value/units.ts'
import type { ColumnName } from './columns.ts'
import type { Preview } from './rows.ts'

/** As style/calls.css has it. */
export const rowHeight = 44

interface Props {
  index: number
  top: number
  project: string
  row: CallRow | undefined
  preview: Preview | undefined
  columns: readonly { name: ColumnName }[]
  isActive: boolean
  isPeeked: boolean
  isChosen: boolean
  /** It was deleted while it was shown. */
  isGone: boolean
  onOpen(): void
  onChoose(extends_: boolean): void
}

/** One call in one row; before it has come, its shape. */
export function CallLine(props: Props) {
  const { index, top, project, row, preview, columns, isActive, isPeeked, isChosen, isGone } = props
  const place = (element: HTMLElement | null) =>
    element?.style.setProperty('transform', `translateY(${top}px)`)
  const states = { active: isActive, peeked: isPeeked, chosen: isChosen, gone: isGone }
  const classes = [
    'grid-row',
    ...Object.entries(states).flatMap(([name, is]) => (is ? `is-${name}` : [])),
  ].join(' ')
  if (row === undefined) {
    return (
      <div class={`${classes} is-coming`} role="row" aria-rowindex={index + 2} ref={place}>
        <div role="gridcell" />
      </div>
    )
  }
  const tokens = tokensOf(row)
  const latency = latencyOf(row)
  const cost = costOf(row)
  const cells: Record<ColumnName, ComponentChildren> = {
    model: modelsOf(row).join(', '),
    latency: latency === undefined ? '' : durationText(latency),
    tokens: tokens && `${countText(tokens.input)} → ${countText(tokens.output)}`,
    cost: cost !== undefined && costText(cost),
    feedback: <FeedbackCounts feedback={row.summary.weave?.feedback ?? []} />,
    user: row.svc_user_id,
    size: row.storage_size_bytes !== null && sizeText(row.storage_size_bytes),
    started: <Time at={row.started_at} />,
  }
  return (
    <div
      class={classes}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isChosen}
      aria-current={isActive}
      ref={place}
      onClick={props.onOpen}
    >
      <div role="gridcell" class="cell-choose">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={`Choose ${nameOf(row)}`}
          checked={isChosen}
          onClick={(event) => {
            event.stopPropagation()
            props.onChoose(event.shiftKey)
          }}
        />
      </div>
      <div role="gridcell" class="cell-status">
        <Status status={statusOf(row)} isShort />
      </div>
      <div role="gridcell" class="cell-what">
        <a
          class="call-name"
          tabIndex={-1}
          href={paths.trace(project, row.trace_id, row.id)}
          onClick={(event) => event.stopPropagation()}
        >
          {nameOf(row)}
        </a>
        <span class={`preview ${row.exception === null || isGone ? '' : 'is-failed'}`}>
          {isGone ? (
            'Deleted meanwhile.'
          ) : row.exception === null ? (
            <Previewed preview={preview} size={row.storage_size_bytes} />
          ) : (
            row.exception
          )}
        </span>
      </div>
      {columns.map(({ name }) => (
        <div key={name} role="gridcell" class={`cell-${name}`}>
          {cells[name]}
        </div>
      ))}
    </div>
  )
}

function Previewed({ preview, size }: { preview: Preview | undefined; size: number | null }) {
  if (preview === undefined) return size !== null && size > 64_000 ? sizeText(size) : null
  return (
    <>
      {preview.asked}
      {preview.said !== '' && <span class="preview-said"> → {preview.said}</span>}
    </>
  )
}

function FeedbackCounts({ feedback }: { feedback: readonly FeedbackRow[] }) {
  const counts = new Map<string, number>()
  for (const { payload, feedback_type: type } of feedback) {
    const sign =
      typeof payload?.emoji === 'string' ? payload.emoji : type.startsWith('wandb.note') ? '✎' : '★'
    counts.set(sign, (counts.get(sign) ?? 0) + 1)
  }
  return (
    <>
      {[...counts].map(([sign, count]) => (
        <span key={sign} class="feedback-count">
          {sign}
          {count > 1 && count}
        </span>
      ))}
    </>
  )
}
