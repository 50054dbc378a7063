import type { EvaluationCall } from '../../src/domain/evaluations/evaluation-call.ts'
import { exampleKinds } from '../../src/domain/evaluations/example.ts'
import { leafKinds, leavesOf } from '../../src/domain/evaluations/leaves.ts'
import { modelOutput, type Trial, trialOf } from '../../src/domain/evaluations/trial.ts'
import { isTrialOp } from '../../src/domain/evaluations/trial-ops.ts'
import { evaluate } from '../../src/domain/expressions/evaluate.ts'
import { jsonField } from '../../src/domain/expressions/json-field.ts'
import { isPresent, textOfJson, valueAt } from '../../src/domain/expressions/json-value.ts'
import { compareNumbers, type Exact, exact, parseNumber } from '../../src/domain/expressions/numbers.ts'
import { parseExpression } from '../../src/domain/expressions/parse.ts'
import { splitPath } from '../../src/domain/expressions/path.ts'
import { formatTime } from '../../src/domain/time.ts'

/** A call in its final state, with the name that a root shows. */
export interface FinalCall extends EvaluationCall {
  trace_id: string | null
  display_name: string | null
}

export interface ResultsRequest {
  evaluation_call_ids: string[]
  filters?: { query: unknown; evaluation_call_id?: string }[]
  sort_by?: {
    field: string
    direction?: 'asc' | 'desc'
    evaluation_call_id?: string
    mode?: 'value' | 'difference'
  }[]
  limit?: number
  offset?: number
  require_intersection?: boolean
  summary_require_intersection?: boolean
  include_predict_and_score_children?: boolean
  include_raw_data_rows?: boolean
  include_summary?: boolean
}

interface FoundTrial extends Trial {
  call: FinalCall
}

/**
 * A plain reference implementation of evaluation results, from a list of calls in memory. The calls are in no order; row
 * references are not resolved.
 */
export function resultsOf(calls: readonly FinalCall[], request: ResultsRequest) {
  const ids = [...new Set(request.evaluation_call_ids)]
  const inTime = calls.toSorted((a, b) => a.started_at - b.started_at || (a.id < b.id ? -1 : 1))
  const trials: FoundTrial[] = inTime
    .filter(({ op_name, parent_id }) => isTrialOp(op_name) && ids.includes(parent_id ?? ''))
    .map((call) => ({
      ...trialOf(
        call,
        inTime.filter(({ parent_id }) => parent_id === call.id),
      ),
      call,
    }))
  const rows = [...Map.groupBy(trials, ({ example }) => example.digest)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .filter(([, own]) =>
      (request.filters ?? []).every(({ query, evaluation_call_id: only }) =>
        own.some((trial) => (only === undefined || trial.evaluation_id === only) && holds(query, trial)),
      ),
    )
  const inView = (intersect: boolean) =>
    rows.filter(
      ([, own]) => !intersect || new Set(own.map((trial) => trial.evaluation_id)).size === ids.length,
    )
  const intersect = request.require_intersection ?? false
  const view = inView(intersect)
  const sorted = sortedRows(view, request.sort_by ?? [], ids)
  const offset = request.offset ?? 0
  const page = sorted.slice(offset, offset + (request.limit ?? Number.POSITIVE_INFINITY))
  const summaryView = inView(request.summary_require_intersection ?? intersect)
  return {
    rows: page.map(([digest, own]) => ({
      row_digest: digest,
      evaluations: [...Map.groupBy(own, (trial) => trial.evaluation_id)].map(([id, list]) => ({
        evaluation_call_id: id,
        trials: list.map((trial) => recordOf(trial, request.include_predict_and_score_children ?? true)),
      })),
      raw_data_row: request.include_raw_data_rows ? rawRow(own) : null,
    })),
    total_rows: view.length,
    summary: request.include_summary
      ? { row_count: summaryView.length, evaluations: summariesOf(summaryView, calls) }
      : null,
  }
}

type Row = [digest: string, trials: FoundTrial[]]

function rawRow(trials: readonly FoundTrial[]): unknown {
  const first = trials.find(({ example }) => example.kind !== exampleKinds.none)
  const json = first?.call.inputs ? valueAt(first.call.inputs, ['example']) : undefined
  return json === undefined ? null : JSON.parse(json)
}

function recordOf(trial: FoundTrial, withChildren: boolean) {
  const output = modelOutput(trial.call.output, trial.output_key)
  return {
    predict_and_score_call_id: trial.id,
    model_latency_seconds: withChildren ? trial.latency : trial.own_latency,
    model_output: output === null ? null : JSON.parse(output),
    predict_call_id: withChildren ? trial.predict_call_id : null,
    scorer_call_ids: withChildren ? trial.scorer_call_ids : {},
    scores: JSON.parse(withChildren ? trial.scores : trial.own_scores),
    total_tokens: withChildren ? trial.tokens : trial.own_tokens,
  }
}

/** A field of a trial as JSON text. */
function fieldOf(trial: FoundTrial, field: string): string | undefined {
  const [document, ...path] = splitPath(field)
  const { inputs, output } = trial.call
  switch (document) {
    case 'scores':
      return valueAt(trial.scores, path)
    case 'inputs':
      if (trial.example.kind !== exampleKinds.inline) return undefined
      return valueAt(valueAt(inputs as string, ['example']) as string, path)
    case 'outputs': {
      const shown = modelOutput(output, trial.output_key)
      return shown === null ? undefined : valueAt(shown, path)
    }
    default:
      return output === null ? undefined : valueAt(output, path)
  }
}

function holds(query: unknown, trial: FoundTrial): boolean {
  return (
    evaluate(parseExpression(query), (field) =>
      field === 'row_digest'
        ? { kind: 'text', value: trial.example.digest }
        : { ...jsonField(fieldOf(trial, field) ?? null, []), countsTruth: field.startsWith('scores.') },
    ) === true
  )
}

function scoreOf(trial: FoundTrial, field: string): Exact | null {
  const text = textOfJson(fieldOf(trial, field))
  if (text === 'true' || text === 'false') return BigInt(text === 'true')
  return parseNumber(text)
}

/** With every digit if all values are equal. */
function meanOf(trials: readonly FoundTrial[], field: string): Exact | null {
  const numbers = trials.flatMap((trial) => scoreOf(trial, field) ?? [])
  const [first] = numbers
  if (first === undefined || numbers.every((number) => number === first)) return first ?? null
  return exact(numbers.reduce<number>((a, b) => a + Number(b), 0) / numbers.length)
}

function differenceOf(means: readonly Exact[]): Exact {
  const [least, ...others] = means.toSorted(compareNumbers) as [Exact, ...Exact[]]
  const most = others.at(-1) ?? least
  return typeof least === typeof most && typeof least === 'bigint'
    ? (most as bigint) - least
    : exact(Number(most) - Number(least))
}

function sortedRows(
  rows: readonly Row[],
  sortBy: NonNullable<ResultsRequest['sort_by']>,
  ids: string[],
): Row[] {
  const keys = new Map(
    rows.map(([digest, trials]) => [digest, sortBy.map((sort) => keyOf(trials, sort, ids))]),
  )
  return rows.toSorted(([a], [b]) => {
    for (const [i, { direction }] of sortBy.entries()) {
      const order = compareKeys((keys.get(a) as Key[])[i], (keys.get(b) as Key[])[i], direction === 'desc')
      if (order !== 0) return order
    }
    return a < b ? -1 : 1
  })
}

type Key = Exact | string | null | undefined

function keyOf(
  trials: readonly FoundTrial[],
  { field, evaluation_call_id: only, mode }: NonNullable<ResultsRequest['sort_by']>[number],
  ids: readonly string[],
): Key {
  const of = (id: string) => trials.filter(({ evaluation_id }) => evaluation_id === id)
  if (mode === 'difference' && ids.length > 1) {
    const means = ids.flatMap((id) => meanOf(of(id), field) ?? [])
    return means.length === ids.length ? differenceOf(means) : null
  }
  const scope = only === undefined ? trials : of(only)
  if (field.startsWith('scores.')) return meanOf(scope, field)
  const about = field.startsWith('inputs.') ? sayingRow(scope) : scope
  const texts = about.map((trial) => textOfJson(fieldOf(trial, field))).filter((text) => text !== '')
  const numbers = texts.flatMap((text) => parseNumber(text) ?? []).map(Number)
  if (numbers.length > 0) return Math.min(...numbers)
  return texts.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))[0] ?? null
}

/** The same row may be spelled in several ways: one trial represents all of them. */
function sayingRow(trials: readonly FoundTrial[]): readonly FoundTrial[] {
  const holding = trials.filter(({ example }) => example.kind === exampleKinds.inline)
  return holding.toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(0, 1)
}

/** Numbers before text, and missing values last, in both directions. */
function compareKeys(a: Key, b: Key, descending: boolean): number {
  const rank = (key: Key) => (key == null ? 2 : typeof key === 'string' ? 1 : 0)
  if (rank(a) !== rank(b)) return rank(a) - rank(b)
  if (a === b || a == null || b == null) return 0
  return (a < b ? -1 : 1) * (descending ? -1 : 1)
}

function summariesOf(rows: readonly Row[], calls: readonly FinalCall[]) {
  const byEvaluation = Map.groupBy(
    rows.flatMap(([, trials]) => trials),
    ({ evaluation_id }) => evaluation_id,
  )
  return [...byEvaluation].map(([id, trials]) => {
    const root = calls.find((call) => call.id === id)
    const ref = (name: string) => {
      const json = root?.inputs ? valueAt(root.inputs, [name]) : undefined
      return isPresent(json) ? JSON.parse(json) : null
    }
    return {
      evaluation_call_id: id,
      display_name: root?.display_name || null,
      evaluation_ref: ref('self') ?? ref('this'),
      model_ref: ref('model'),
      scorer_stats: statsOf(trials),
      started_at: root ? formatTime(root.started_at) : null,
      trace_id: root?.trace_id ?? null,
      trial_count: trials.length,
    }
  })
}

function statsOf(trials: readonly FoundTrial[]) {
  const leaves = trials.flatMap(({ scores }) => leavesOf(scores))
  const groups = [...Map.groupBy(leaves, ({ scorer, path }) => JSON.stringify([scorer, path])).values()]
  const first = (group: typeof leaves) => Math.min(...group.map(({ position }) => position))
  // A score itself comes before its members.
  const ownPath = ({ path }: Pick<(typeof leaves)[number], 'path'>) => (path === null ? '' : `.${path}`)
  const name = (group: typeof leaves) => group.slice(0, 1).map((leaf) => [leaf.scorer, ownPath(leaf)])
  return groups
    .toSorted((a, b) => first(a) - first(b) || (String(name(a)) < String(name(b)) ? -1 : 1))
    .map((group) => {
      const known = group.filter(({ kind }) => kind === leafKinds.binary)
      const numbers = group.filter(({ kind }) => kind === leafKinds.continuous)
      const passed = known.filter(({ number }) => number === 1).length
      const sum = numbers.reduce((total, { number }) => total + (number ?? 0), 0)
      return {
        scorer_key: group[0]?.scorer ?? '',
        path: group[0]?.path ?? null,
        value_type: known.length > 0 ? 'binary' : numbers.length > 0 ? 'continuous' : 'text',
        trial_count: group.length,
        numeric_count: numbers.length,
        numeric_mean: numbers.length > 0 ? sum / numbers.length : null,
        pass_known_count: known.length,
        pass_true_count: passed,
        pass_rate: known.length > 0 ? passed / known.length : null,
        pass_signal_coverage: known.length / group.length,
        missing_trial_count: trials.length - group.length,
        failed_trial_count: trials.filter(({ failed }) => failed).length,
      }
    })
}
