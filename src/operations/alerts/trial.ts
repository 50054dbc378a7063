import { isBeyond, isReached } from '../../domain/alerts.ts'
import { windowAt } from '../../domain/budgets.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { decidedIn, decisionOp } from '../../domain/decided.ts'
import type { Expression } from '../../domain/expressions/expression.ts'
import { parseExpression } from '../../domain/expressions/parse.ts'
import { isPicked } from '../../domain/queues/rules.ts'
import { formatTime, now } from '../../domain/time.ts'
import { isPassed } from '../../storage/alerts/budgets.ts'
import { aboutDecision } from '../../storage/alerts/decisions.ts'
import { type Condition, conditionOf } from '../../storage/alerts/rules.ts'
import type { CallsFilter } from '../../storage/calls/filter.ts'
import { streamCalls } from '../../storage/calls/queries.ts'
import type { BoundDatabase, Database } from '../../storage/database.ts'
import { feedbackInView } from '../../storage/feedback/queries.ts'
import { readBudgets } from '../../storage/limits/budgets.ts'
import { waitingBefore } from '../../storage/queues/waiting.ts'
import { boundTo } from '../../storage/transaction.ts'
import type { TryRuleBody } from './contract.ts'
import { conditionText, cooldownOf } from './rules.ts'
import { figuresOf } from './windows.ts'

const dayMicroseconds = 24 * 3_600 * 1_000_000
/** Calls and feedback that are looked at. */
const maxRows = 10_000
const maxExamples = 20

interface Match {
  subject: string
  /** Microseconds. */
  at: number
  value: number | null
}

/** What a rule would have sent in the last day, by the conditions with which it fires. */
export async function tryRule(db: BoundDatabase, caller: Caller, body: TryRuleBody) {
  const { project_id, on } = body
  requireAccess(caller, project_id)
  const condition = conditionOf(await conditionText(db, project_id, on, body))
  const time = now()
  const found = await matchesBy[on](db, project_id, condition, time, db.signal)
  // Newest first as they are read, oldest first as they would have been sent.
  const matches = found.matches.sort((a, b) => a.at - b.at)
  const pause = cooldownOf(body) * 1_000_000
  let messages = 0
  let last: number | undefined
  for (const { at } of matches) {
    if (last !== undefined && pause > 0 && at < last + pause) continue
    messages++
    last = at
  }
  const examples = matches.slice(-maxExamples).reverse()
  return {
    matches: matches.length,
    messages,
    is_complete: found.isComplete,
    examples: examples.map(({ subject, at, value }) => ({ subject, at: formatTime(at), value })),
  }
}

type Found = Promise<{ matches: Match[]; isComplete: boolean }>
type Matching = (
  db: Database,
  project: string,
  condition: Condition,
  time: number,
  signal: AbortSignal,
) => Found

const since = (field: string, time: number, query: Expression | undefined): Expression => {
  const recent = parseExpression({
    $expr: { $gte: [{ $getField: field }, { $literal: formatTime(time - dayMicroseconds) }] },
  })
  return query === undefined ? recent : { op: 'and', operands: [recent, query] }
}

const hasEnded = parseExpression({ $expr: { $convert: { input: { $getField: 'ended_at' }, to: 'exists' } } })

/** What has ended of the last day, newest first. */
const endedView = (project: string, filter: CallsFilter, query: Expression | undefined, time: number) => ({
  project,
  filters: [filter],
  query: { op: 'and' as const, operands: [since('started_at', time, query), hasEnded] },
  sort: [{ field: 'started_at', direction: 'desc' as const }],
  limit: maxRows,
  offset: 0,
})

const matchesBy: Record<TryRuleBody['on'], Matching> = {
  async call(db, project, { filter, query }, time, signal) {
    const matches: Match[] = []
    const columns = { large: new Set<never>(), totalStorageSize: false }
    const view = endedView(project, filter, query, time)
    for await (const rows of streamCalls(boundTo(db, signal), view, columns, time)) {
      for (const { id, ended_at } of rows)
        matches.push({ subject: `call ${id}`, at: Number(ended_at), value: null })
    }
    return { matches, isComplete: matches.length < maxRows }
  },
  async score(db, project, { query, score }, time, signal) {
    const matches: Match[] = []
    let read = 0
    const view = {
      project,
      query: since('created_at', time, query),
      sort: [{ field: 'created_at', direction: 'desc' as const }],
      limit: maxRows,
      offset: 0,
    }
    const fields = ['id', 'created_at', 'feedback_type', 'payload'] as const
    for await (const rows of feedbackInView(db, view, fields).rows(signal)) {
      for (const row of rows) {
        read++
        const { id, created_at, feedback_type, payload } = Object.fromEntries(row)
        const picked =
          score === undefined ||
          isPicked({ kind: 'scores', ...score }, String(feedback_type), String(payload))
        if (picked) matches.push({ subject: `feedback ${id}`, at: Number(created_at), value: null })
      }
    }
    return { matches, isComplete: read < maxRows }
  },
  async decision(db, project, { decision }, time, signal) {
    const matches: Match[] = []
    let read = 0
    const columns = { large: new Set(['output'] as const), totalStorageSize: false }
    const view = endedView(project, { op_names: [decisionOp] }, undefined, time)
    for await (const rows of streamCalls(boundTo(db, signal), view, columns, time)) {
      for (const { id, ended_at, exception, output } of rows) {
        read++
        const answers = exception === null && output !== null ? decidedIn(String(output)) : []
        const picked = decision && aboutDecision(decision, { answers })
        if (picked) matches.push({ subject: `call ${id}`, at: Number(ended_at), value: picked.probability })
      }
    }
    return { matches, isComplete: read < maxRows }
  },
  /** Walks from what waits now back to what waited a day ago. */
  async queue(db, project, { queue }, time, signal) {
    if (queue === undefined) return { matches: [], isComplete: true }
    const { queue_id, waiting: bound } = queue
    const since = time - dayMicroseconds
    const { changes, isComplete } = await waitingBefore(boundTo(db, signal), {
      project,
      queue_id,
      since,
      limit: maxRows,
    })
    const matches = changes
      .filter((change) => isReached(bound, change))
      .map(({ queue_id, at, after }) => ({ subject: `queue ${queue_id}`, at, value: after }))
    return { matches, isComplete }
  },
  /** When a sum passed the share is not kept, so these are the budgets that have passed it now. */
  async budget(db, project, { budget }, time) {
    const day = windowAt('day', time).startsAt
    const month = windowAt('month', time).startsAt
    const own = (await readBudgets(db, { day, month, now: time })).filter(
      ({ scope, subject }) => scope === 'project' && subject === project,
    )
    const passed = own.filter((each) => budget !== undefined && isPassed(each, budget.share))
    const matches = passed.map(({ id, spent, amount }) => {
      return { subject: `budget ${id}`, at: time, value: spent / amount }
    })
    return { matches, isComplete: true }
  },
  /** Windows side by side; the rule itself looks at more of them, which overlap. */
  async window(db, project, condition, time, signal) {
    const { window } = condition
    if (window === undefined) return { matches: [], isComplete: true }
    const length = window.seconds * 1_000_000
    const count = Math.max(1, Math.floor(dayMicroseconds / length))
    const start = time - count * length
    const edges = Array.from({ length: count }, (_, index) => start + index * length)
    const figures = await figuresOf(
      boundTo(db, signal),
      project,
      condition,
      { start, end: time, edges },
      time,
    )
    const matches = figures.flatMap(({ bucket, value }): Match[] => {
      const at = start + (bucket + 1) * length
      return value !== null && isBeyond(window, value) ? [{ subject: 'window', at, value }] : []
    })
    return { matches, isComplete: true }
  },
}
