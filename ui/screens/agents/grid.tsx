import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Cost } from '../../parts/cost.tsx'
import { useListPosition, useScrollRestoration } from '../../parts/list-position.ts'
import { listKeys, useShortcuts } from '../../parts/shortcuts.ts'
import { SortHead } from '../../parts/sort-head.tsx'
import { Time } from '../../parts/time.tsx'
import { movedTo, VirtualList } from '../../parts/virtual-list.tsx'
import { navigate, search } from '../../router.ts'
import type { Sort } from '../../server/calls.ts'
import { shareText } from '../../value/scores.ts'
import { countText, durationText, tokensText } from '../../value/units.ts'
import { feedbackCell } from './feedback.tsx'
import type { Agent, AgentFeedback } from './reading.ts'

/** As in style/agents.css. */
const rowHeight = 2.75

type Figures = Omit<Agent, 'agent_name'>

interface Column<Row = Figures> {
  name: string
  label: string
  /** Absent where the server does not sort by it. */
  sort?: string
  /** What it is, if its label does not say so. */
  means?: string
  cell(row: Row): ComponentChildren
}

const took = (ms: number | null | undefined) => ms != null && durationText(ms)

const columns: readonly Column[] = [
  {
    ...{ name: 'invocations', label: 'Invocations', sort: 'invocation_count' },
    cell: ({ invocation_count: count }) => (
      <>
        {countText(count)}
        <span class="unit"> {count === 1 ? 'invocation' : 'invocations'}</span>
      </>
    ),
  },
  {
    ...{ name: 'calls', label: 'Calls', sort: 'span_count' },
    cell: ({ span_count }) => countText(span_count),
  },
  {
    ...{ name: 'failed', label: 'Failed', sort: 'error_count' },
    cell: ({ error_count: failed, span_count: calls }) =>
      failed > 0 && (
        <>
          <span class="agent-failures">
            {countText(failed)}
            <span class="unit"> failed</span>
          </span>{' '}
          <span class="muted agent-share">{shareText(failed / calls)}</span>
        </>
      ),
  },
  {
    ...{ name: 'median', label: 'Latency', sort: 'p50_duration_ms' },
    cell: ({ p50_duration_ms }) => took(p50_duration_ms),
  },
  {
    ...{ name: 'slow', label: '95 % within', sort: 'p95_duration_ms' },
    cell: ({ p95_duration_ms }) => took(p95_duration_ms),
  },
  {
    ...{ name: 'tokens', label: 'Tokens', sort: 'total_input_tokens' },
    cell: ({ total_input_tokens: input, total_output_tokens: output }) =>
      input + output > 0 && tokensText({ input, output }),
  },
  {
    ...{ name: 'cost', label: 'Cost', sort: 'total_cost_usd' },
    cell: ({ total_cost_usd, total_input_tokens: input, total_output_tokens: output }) => (
      <Cost cost={total_cost_usd} tokens={input + output} tabIndex={-1} />
    ),
  },
  {
    ...{ name: 'last', label: 'Last used', sort: 'last_seen' },
    cell: ({ last_seen }) => <Time at={last_seen} />,
  },
]

const lastUsedFirst: Sort = { field: 'last_seen', direction: 'desc' }

/** The order in the address; `named` is the field of the names of the rows. */
export function useSort(named: string): Sort {
  const [, field = '', direction] = /^(.+)\.(asc|desc)$/.exec(search.value.get('sort') ?? '') ?? []
  const isKnown = field === named || columns.some(({ sort }) => sort === field)
  return isKnown ? { field, direction: direction as 'asc' } : lastUsedFirst
}

interface Props<Row> {
  /** Of the list, and of what a row is. */
  label: string
  noun: string
  sort: Sort
  /** The field of the names. */
  named: string
  rows: readonly Row[]
  nameOf(row: Row): string
  pathOf(row: Row): string
  /** Absent where it is not known. */
  feedbackOf?: ((row: Row) => AgentFeedback | undefined) | undefined
}

/** Agents, or versions of one, with their figures below each other. */
export function AgentGrid<Row extends Figures>(props: Props<Row>) {
  const { label, noun, sort, named, rows, nameOf, pathOf, feedbackOf } = props
  const scroller = useRef<HTMLDivElement>(null)
  const [active, setActive] = useState(-1)
  const [scrollRequest, setScrollRequest] = useState(0)
  const position = useListPosition(JSON.stringify([label, sort]))
  useLayoutEffect(() => setActive(position.left?.active ?? -1), [label, sort.field, sort.direction])
  const restorePlace = useScrollRestoration(position, { scroller, isLoaded: rows, active })
  const move = (by: number) => {
    setActive(Math.min(rows.length - 1, Math.max(0, active + by)))
    setScrollRequest(scrollRequest + 1)
  }
  const current = rows[active]
  useShortcuts(label, [
    ...listKeys(noun, move),
    { keys: ['Enter', 'o'], does: `Open ${noun}`, run: () => current && navigate(pathOf(current)) },
  ])
  const feedback: Column<Row>[] = feedbackOf
    ? [
        {
          ...{ name: 'feedback', label: 'Feedback' },
          means: 'About calls that name it, and the mean of ratings from 0 to 1',
          cell: (row) => feedbackCell(feedbackOf(row)),
        },
      ]
    : []
  const shown: readonly Column<Row>[] = columns.toSpliced(-1, 0, ...(feedback as Column[]))
  const heads = [{ name: 'name', label: noun.replace(/^./, (first) => first.toUpperCase()), sort: named }]
  return (
    <div
      class={`grid agents-grid ${feedbackOf ? 'has-feedback' : ''}`}
      role="grid"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      tabIndex={0}
      ref={scroller}
      onScroll={() => restorePlace()}
    >
      <div class="grid-head" role="row" aria-rowindex={1}>
        {[...heads, ...shown].map((column) => (
          <SortHead
            key={column.name}
            {...{ label: column.label, field: column.sort, sort }}
            title={'means' in column ? column.means : undefined}
            class={column.name === 'name' ? 'agent-name' : `is-number agent-${column.name}`}
          />
        ))}
      </div>
      <VirtualList
        {...{ scroller, count: rows.length, height: rowHeight, active, scrollRequest }}
        row={(index, top) => {
          const row = rows[index]
          return (
            row && (
              <div
                key={nameOf(row)}
                class={`grid-row ${index === active ? 'is-active' : ''}`}
                role="row"
                aria-rowindex={index + 2}
                aria-selected={index === active}
                ref={movedTo(top)}
                onClick={() => setActive(index)}
              >
                <div role="gridcell" class="agent-name">
                  <a
                    class="strong"
                    dir="auto"
                    tabIndex={-1}
                    href={pathOf(row)}
                    title={nameOf(row)}
                    onClick={() => restorePlace(index)}
                  >
                    {nameOf(row)}
                  </a>
                </div>
                {shown.map(({ name, cell }) => (
                  <div key={name} role="gridcell" class={`is-number agent-${name}`}>
                    {cell(row)}
                  </div>
                ))}
              </div>
            )
          )
        }}
      />
    </div>
  )
}
