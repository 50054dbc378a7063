import { type Expression, mentionsOf, textsIn } from '../../domain/expressions/expression.ts'
import { refuse } from '../../domain/refusals.ts'
import type { View } from '../../domain/view.ts'
import { asksForFeedback, feedbackCandidates } from '../feedback/candidates.ts'
import { isQueued } from '../queues/items.ts'
import { asksForValues, valueCandidates } from '../search/candidates.ts'
import { compileCondition } from '../sql/conditions.ts'
import type { FieldResolver } from '../sql/readings.ts'
import { sortingOf } from '../sql/sorting.ts'
import { rawSql, type Sql } from '../sql/sql.ts'
import { callsIn, isSortedByLargest, largestHours } from '../sums/largest-hours.ts'
import { isNarrowable, narrowing } from '../sums/narrowing.ts'
import { type SummedView, viewInFacts } from '../sums/selection.ts'
import { hasThreshold, reachingHours } from '../sums/thresholds.ts'
import { type BoundReader, onlyRow, type Reader, type StreamOptions } from '../transaction.ts'
import {
  type CallColumns,
  type CallRow,
  type CallStats,
  type CallsQuery,
  countCalls,
  selectCalls,
} from './calls.ts'
import { comparedPrices } from './cost.ts'
import { callFields, costField, type FieldSources } from './fields.ts'
import { type CallsFilter, filterConditions } from './filter.ts'

export interface CallsView extends View {
  /** All of them must hold. */
  filters: readonly CallsFilter[]
}

/** The calls of the view. The query is validated before this returns. */
export function streamCalls(
  db: BoundReader,
  view: CallsView,
  columns: CallColumns,
  now: number,
): AsyncIterable<CallRow[]> {
  const select = (query: CallsQuery) => selectCalls(db, query, columns, now)
  const { limit } = view
  if (!isSortedByLargest(view) || limit === null) return streamMatching(db, view, select, now)
  // Validated at once.
  callsQueryOf(db, view)
  return (async function* () {
    const largest = await largestQuery(db, view, now)
    let left = limit
    if (largest !== undefined) {
      for await (const rows of db.stream<CallRow>(select(largest))) {
        left -= rows.length
        yield rows
      }
      if (left === 0) return
    }
    const rest = { ...view, limit: left, offset: view.offset + limit - left }
    yield* streamMatching(db, rest, select, now)
  })()
}

/** Rows that are selected by the query of a view, which is validated before this returns. */
export function streamMatching<Row>(
  db: BoundReader,
  view: CallsView,
  select: (query: CallsQuery) => Sql,
  now: number,
  options: Partial<StreamOptions> = {},
): AsyncIterable<Row[]> {
  const query = callsQueryOf(db, view)
  // Its thread is free as soon as it is read: a generator around it would hold it for longer.
  const isKnown = [isNarrowable, hasThreshold, asksForValues, asksForFeedback].some((holds) => holds(view))
  if (!isKnown && costMentions(view) === 0) return db.stream<Row>(select(query), options)
  return (async function* () {
    const narrowed = await narrowedQuery(db, view, now, query)
    yield* db.stream<Row>(select(narrowed), options)
  })()
}

/**
 * The query of the first pages of a sorted view with what sums know of where its largest calls are. What it finds is the
 * page, or, if calls were deleted meanwhile, the start of it.
 */
export async function largestQuery(
  db: BoundReader,
  view: CallsView,
  now: number,
): Promise<CallsQuery | undefined> {
  const found = isSortedByLargest(view) ? await largestHours(db, view, now) : undefined
  if (found === undefined) return undefined
  const { condition, ...first } = callsIn(db.dialect, view.project, found)
  const query = await pricedQuery(db, view)
  return { ...query, ...first, conditions: [...query.conditions, condition] }
}

/** The query of the view with what indexes and sums know of where its calls are. */
export async function narrowedQuery(
  db: BoundReader,
  view: CallsView,
  now: number,
  query = callsQueryOf(db, view),
): Promise<CallsQuery & { narrowed: readonly Sql[]; isFew: boolean }> {
  const within = await narrowingOf(db, view, now)
  const few = within.isFew ? undefined : await feedbackCandidates(db, view)
  const narrowed = few === undefined ? within.narrowed : [few]
  const isFew = within.isFew || few !== undefined
  const known = await viewInFacts(db, view)
  const priced = await pricedQuery(db, known, known === view ? query : callsQueryOf(db, known))
  return { ...priced, narrowed, isFew, conditions: [...narrowed, ...priced.conditions] }
}

/** If calls are chosen or sorted by what they cost, with the prices of the project. */
async function pricedQuery(db: Reader, view: CallsView, query = callsQueryOf(db, view)): Promise<CallsQuery> {
  const mentions = costMentions(view)
  const prices = mentions > 0 ? await comparedPrices(db, view.project, mentions) : undefined
  return prices === undefined ? query : callsQueryOf(db, view, { prices })
}

/** How often calls are chosen or sorted by what they cost. */
export const costMentions = ({
  query,
  sort,
}: Pick<View, 'sort'> & { query?: Expression | undefined }): number =>
  sort.filter(({ field }) => field === costField).length +
  (query === undefined ? 0 : mentionsOf(query, costField))

/** What is known of the calls that conditions hold for; `isFew` if they are among some that are named. */
export async function narrowingOf(
  db: BoundReader,
  view: SummedView,
  now: number,
): Promise<{ narrowed: Sql[]; isFew: boolean }> {
  const candidates = await valueCandidates(db, view)
  if (candidates !== undefined) return { narrowed: [candidates], isFew: true }
  const reaching = await reachingHours(db, view, now)
  const known = await narrowing(db, view, now)
  return {
    narrowed: [...(reaching ? [reaching.condition] : []), ...known],
    isFew: reaching?.isFew ?? false,
  }
}

/** The number of calls in the view and their total bytes. */
export async function statsOfCalls(db: BoundReader, view: CallsView, now: number): Promise<CallStats> {
  const query = await narrowedQuery(db, view, now)
  return onlyRow<CallStats>(db, countCalls(db, query, now))
}

/** Oldest first by default; the id breaks ties, so that pages neither overlap nor skip. */
export function callsQueryOf(
  { dialect }: Pick<Reader, 'dialect'>,
  { project, filters, query, sort, limit, offset }: CallsView,
  sources: FieldSources = {},
): CallsQuery {
  const conditions = filters.flatMap((filter) => filterConditions(filter, dialect))
  if (query) {
    const fields = withQueues(callFields(dialect, 'query', sources))
    conditions.push(compileCondition(askingForQueues(query), fields, dialect))
  }
  const sorting = sortingOf(sort, (path) => callFields(dialect, path, sources), dialect)
  const last = sort.at(-1)
  const direction =
    last === undefined || (last.field === 'started_at' && last.direction === 'asc') ? 'ASC' : 'DESC'
  const start = last === undefined ? [rawSql('started_at ASC')] : sorting.order
  const order = [...start, rawSql(`id ${direction}`)]
  const isSorted = sort.length > 1 || (last !== undefined && last.field !== 'started_at')
  return { projectId: project, conditions, ...sorting, order, limit, offset, isSorted }
}

/**
 * A call can be in several queues, so this field has no single value: `$eq` asks whether the call is in the named
 * queue.
 */
const queueField = 'annotation_queue_items.queue_id'

const question = (queueId: string) => `${queueField} ${queueId}`

/** Rewrites each `$eq` between this field and a text as a question about that queue. */
function askingForQueues(expression: Expression): Expression {
  switch (expression.op) {
    case 'and':
    case 'or':
      return { ...expression, operands: expression.operands.map(askingForQueues) }
    case 'not':
      return { ...expression, operand: askingForQueues(expression.operand) }
    case 'compare': {
      const { field, values: [queueId] = [] } = textsIn(expression) ?? {}
      if (field !== queueField || queueId === undefined) return expression
      return { op: 'convert', to: 'exists', input: { op: 'field', field: question(queueId) } }
    }
    default:
      return expression
  }
}

/** Resolves these questions, and passes every other field to `resolve`. */
function withQueues(resolve: FieldResolver): FieldResolver {
  return (field) => {
    if (field === queueField) {
      throw refuse('invalid_expression', {
        field: 'query',
        why: `${queueField} is no value to compare or convert otherwise`,
        accepted: `{"$eq": [{"$getField": "${queueField}"}, {"$literal": "<queue id>"}]}`,
      })
    }
    const prefix = question('')
    return field.startsWith(prefix)
      ? { kind: 'text', sql: isQueued(field.slice(prefix.length)) }
      : resolve(field)
  }
}
