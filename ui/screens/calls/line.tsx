import type { ComponentChildren } from 'preact'
import { feedbackWordOf } from '../../../packages/filter/index.ts'
import type { LightCall } from '../../../src/operations/views/contract.ts'
import { live } from '../../export/contents.ts'
import { Cost } from '../../parts/cost.tsx'
import { Status } from '../../parts/status.tsx'
import { Time } from '../../parts/time.tsx'
import { ComingRow, movedTo } from '../../parts/virtual-list.tsx'
import { paths } from '../../routes.ts'
import { nameOf, type TraceSum } from '../../server/calls.ts'
import { previewText } from '../../value/preview-text.ts'
import { refName } from '../../value/ref.ts'
import { costText, durationText, sizeText, tokensText } from '../../value/units.ts'
import type { Column, ColumnName } from './columns.ts'

/** As in style/calls.css. */
export const rowHeight = 2.75

interface Props {
  index: number
  top: number
  project: string
  row: LightCall | undefined
  /** What its trace used, where its own call has no tokens. */
  ofTrace: TraceSum | undefined
  columns: readonly Column[]
  isActive: boolean
  isPeeked: boolean
  isChosen: boolean
  /** It was deleted while it was shown. */
  isGone: boolean
  onOpen(): void
  /** Called before its link is followed. */
  onLeave(): void
  onChoose(extends_: boolean): void
}

/** The models that a call used. */
export const modelsOf = ({ model }: Pick<LightCall, 'model'>): string[] => model?.split(/, ?/) ?? []

const wholeTrace = 'Of the whole trace: the call itself used none.'

/** An exported list contains the calls, but no traces. */
export const pathOfCall = (project: string, { id, trace_id }: Pick<LightCall, 'id' | 'trace_id'>): string =>
  live(paths.trace(project, trace_id, id)) ?? paths.call(project, id)

/** A call as one row; a placeholder until it is loaded. */
export function CallLine(props: Props) {
  const { index, top, project, row, ofTrace, columns, isActive, isPeeked, isChosen, isGone } = props
  const states = { active: isActive, peeked: isPeeked, chosen: isChosen, gone: isGone }
  const classes = [
    'grid-row',
    ...Object.entries(states).flatMap(([name, is]) => (is ? `is-${name}` : [])),
  ].join(' ')
  if (row === undefined) return <ComingRow {...{ index, top, classes }} />
  const asked = columns.flatMap(({ path }) => path ?? [])
  const { input_tokens: input, output_tokens: output } = row
  const sum = ofTrace && ofTrace.input + ofTrace.output > 0 ? ofTrace : undefined
  const cells: Record<ColumnName, ComponentChildren> = {
    model: row.model && <span title={row.model}>{refName(row.model)}</span>,
    latency: row.latency_ms !== null && durationText(row.latency_ms),
    tokens: sum ? (
      <span title={wholeTrace}>Σ {tokensText(sum)}</span>
    ) : (
      (input !== null || output !== null) && tokensText({ input: input ?? 0, output: output ?? 0 })
    ),
    cost:
      sum && sum.cost !== null ? (
        <span title={wholeTrace}>Σ {costText(sum.cost)}</span>
      ) : sum ? (
        <Cost cost={null} tokens={sum.input + sum.output} tabIndex={-1} />
      ) : (
        <Cost cost={row.cost} tokens={(input ?? 0) + (output ?? 0)} models={modelsOf(row)} tabIndex={-1} />
      ),
    feedback: <FeedbackCounts feedback={row.feedback} />,
    user: <bdi>{row.svc_user_id}</bdi>,
    size: sizeText(row.storage_size_bytes),
    started: <Time at={row.started_at} />,
  }
  return (
    <div
      class={classes}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isChosen}
      aria-current={isActive}
      ref={movedTo(top)}
      onClick={({ target }) => {
        // A click on a link follows the link.
        if (!(target as Element).closest('a')) props.onOpen()
      }}
    >
      <div role="gridcell" class="cell-choose">
        <input
          type="checkbox"
          data-file={null}
          tabIndex={-1}
          aria-label={`Select ${nameOf(row)}`}
          checked={isChosen}
          onClick={(event) => {
            event.stopPropagation()
            props.onChoose(event.shiftKey)
          }}
        />
      </div>
      <div role="gridcell" class="cell-status">
        <Status status={row.status} isShort />
      </div>
      <div role="gridcell" class="cell-what">
        <a
          class="call-name"
          dir="auto"
          tabIndex={-1}
          href={pathOfCall(project, row)}
          title={nameOf(row)}
          onClick={props.onLeave}
        >
          {nameOf(row)}
        </a>
        <span
          dir="auto"
          title={row.exception ?? [row.input_preview, row.output_preview].filter(Boolean).join(' → ')}
          class={`preview ${row.exception === null || isGone ? '' : 'is-failed'}`}
        >
          {isGone ? 'Deleted.' : row.exception === null ? <Previewed call={row} /> : row.exception}
        </span>
      </div>
      {columns.map(({ name, path }) => (
        <div key={name} role="gridcell" class={path === undefined ? `cell-${name}` : 'cell-value'}>
          {path === undefined ? (
            cells[name as ColumnName]
          ) : (
            <Value json={row.values?.[asked.indexOf(path)]} />
          )}
        </div>
      ))}
    </div>
  )
}

/** Texts without quotation marks, numbers with the digits of the call. It may be cut off. */
function Value({ json }: { json: string | null | undefined }) {
  if (json == null) return null
  if (!json.startsWith('"')) return <span class="code-value">{json}</span>
  return <>{textOf(json)}</>
}

function textOf(json: string): string {
  for (const end of ['', '"', '\\"']) {
    try {
      const text: unknown = JSON.parse(end === '\\"' ? `${json.replace(/\\[^\\]*$/, '')}"` : `${json}${end}`)
      return String(text)
    } catch {
      // Cut off, perhaps within an escape sequence.
    }
  }
  return json
}

function Previewed({ call: { input_preview: asked, output_preview: said } }: { call: LightCall }) {
  return (
    <>
      {previewText(asked ?? '')}
      {said !== null && said !== '' && <span class="preview-said"> → {previewText(said)}</span>}
    </>
  )
}

/** A mark for each reaction, for notes, and for all that scorers and forms say. */
export function FeedbackCounts({ feedback }: Pick<LightCall, 'feedback'>) {
  const marks = Map.groupBy(
    feedback,
    ({ feedback_type: type, emoji }) => emoji ?? (type.startsWith('wandb.note') ? '✎' : '☑'),
  )
  return [...marks].map(([mark, entries]) => {
    const count = entries.reduce((sum, entry) => sum + entry.count, 0)
    const words = entries.map(({ feedback_type: type }) => feedbackWordOf(type))
    return (
      <span key={mark} class="feedback-count" title={[...new Set(words)].join(', ')}>
        {mark}
        {count > 1 && count}
      </span>
    )
  })
}
