import { itemsOf, membersOf, objectText } from '../../../packages/json/index.ts'
import { valueAt } from '../../domain/expressions/json-value.ts'
import { splitPath } from '../../domain/expressions/path.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { wrong } from '../../domain/refusals.ts'
import { boundTo } from '../../storage/transaction.ts'
import { queryResults } from '../evaluations/results.ts'
import type { EvaluationSummary } from '../evaluations/results-contract.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'
import type { FailingScore } from './contract.ts'

/** Characters of JSON: of one value of a row, of a row, and of all rows. */
const maxValue = 2_000
const maxRow = 8_000
const maxAllRows = 64_000

/** A failing row as the model is shown it, as JSON. */
interface FailingRow {
  row_digest: string
  cut: boolean
  json: string
}

interface FailingRows {
  /** Also those that are not shown. */
  total: number
  rows: FailingRow[]
}

interface Wanted {
  run: string
  scores: readonly FailingScore[] | null | undefined
  /** Scorers by their names, as far as they have one of `higher`, `lower` and `none`. */
  directions: ReadonlyMap<string, string>
  limit: number
}

/** What makes a row fail: a truth value, or a number on the wrong side. */
interface Criterion {
  field: string
  fails: { is: boolean } | { below: number } | { above: number }
}

/** The rows of a run that fail, the worst ones first, within bounds. */
export async function failingRows(
  { db }: OperationParts,
  { caller, project }: Scope,
  { run, scores, directions, limit }: Wanted,
  signal: AbortSignal,
): Promise<FailingRows> {
  const query = (body: object) =>
    queryResults(boundTo(db, signal), caller, project, { evaluation_call_ids: [run], ...body })
  const { others } = await query({ include_rows: false, include_summary: true })
  const stats = others.summary?.evaluations[0]?.scorer_stats ?? []
  const criteria = criteriaOf(stats, directions, scores)
  if (criteria.length === 0) return { total: 0, rows: [] }
  const found = await query({
    filters: [{ query: new JsonText(writeJson({ $expr: { $or: criteria.map(conditionOf) } })) }],
    sort_by: criteria.map(({ field, fails }) => ({
      field,
      direction: 'above' in fails || ('is' in fails && fails.is) ? 'desc' : 'asc',
    })),
    ...{ include_raw_data_rows: true, resolve_row_refs: true, limit },
  })
  const rows: FailingRow[] = []
  let size = 0
  for await (const text of found.rows) {
    const row = shownRow(text, criteria)
    if (size + row.json.length > maxAllRows) break
    size += row.json.length
    rows.push(row)
  }
  return { total: found.others.total_rows, rows }
}

type Stats = EvaluationSummary['scorer_stats'][number]

const fieldOf = ({ scorer_key, path }: Stats) =>
  `scores.${scorer_key.replaceAll('.', '\\.')}${path === null ? '' : `.${path}`}`

function criteriaOf(
  stats: readonly Stats[],
  directions: Wanted['directions'],
  scores: Wanted['scores'],
): Criterion[] {
  const known = stats.filter(({ value_type }) => value_type !== 'text')
  if (scores == null) {
    const binary = known.filter(({ value_type }) => value_type === 'binary')
    return (binary.length > 0 ? binary : known).flatMap((stats) => usualCriterion(stats, directions) ?? [])
  }
  return scores.map(({ field, below, above }, index) => {
    const at = `scores.${index}`
    if (below != null && above != null)
      throw wrong(`${at}.above`, 'a value together with below', 'one of them')
    const own = known.find((stats) => fieldOf(stats) === field)
    const names = known.map(fieldOf).join(', ').slice(0, 1000)
    if (own === undefined)
      throw wrong(
        `${at}.field`,
        JSON.stringify(field.slice(0, 200)),
        `a score of the run: ${names || 'it has none'}`,
      )
    if (below != null) return { field, fails: { below } }
    if (above != null) return { field, fails: { above } }
    const usual = usualCriterion(own, directions)
    if (usual === undefined)
      throw wrong(at, 'no bound', 'below or above: its scorer says that neither direction is better')
    return usual
  })
}

/** Undefined if no value of the score is worse than another. */
function usualCriterion(own: Stats, directions: Wanted['directions']): Criterion | undefined {
  const direction = directions.get(own.scorer_key) ?? 'higher'
  const field = fieldOf(own)
  if (direction === 'none') return undefined
  if (own.value_type === 'binary') return { field, fails: { is: direction === 'lower' } }
  if (own.numeric_mean === null) return undefined
  return { field, fails: direction === 'lower' ? { above: own.numeric_mean } : { below: own.numeric_mean } }
}

function conditionOf({ field, fails }: Criterion): object {
  const value = { $getField: field }
  if ('is' in fails) return { $eq: [value, { $literal: fails.is }] }
  return 'below' in fails
    ? { $lt: [value, { $literal: fails.below }] }
    : { $gt: [value, { $literal: fails.above }] }
}

function doesFail(scores: string, { field, fails }: Criterion): boolean {
  const value = valueAt(scores, splitPath(field).slice(1))
  if (value === undefined) return false
  if ('is' in fails) return value === String(fails.is)
  const number = /^-?\d/.test(value) ? Number(value) : Number.NaN
  return 'below' in fails ? number < fails.below : number > fails.above
}

/** Of several trials of the row, the first that fails. */
function shownRow(text: string, criteria: readonly Criterion[]): FailingRow {
  const row_digest = JSON.parse(valueAt(text, ['row_digest']) as string) as string
  const trials = itemsOf(valueAt(text, ['evaluations', '0', 'trials']) ?? '[]').map((trial) =>
    membersOf(trial),
  )
  const isFailing = (trial: ReadonlyMap<string, string>) =>
    criteria.some((criterion) => doesFail(trial.get('scores') ?? '{}', criterion))
  const trial = trials.find(isFailing) ?? trials[0] ?? new Map<string, string>()
  const raw = valueAt(text, ['raw_data_row']) ?? 'null'
  const columns = raw.startsWith('{') ? [...membersOf(raw)] : [['row', raw] as const]
  const inputs = objectText(new Map(columns.map(([name, value]) => [name, cutValue(value, maxValue)])))
  const output = cutValue(trial.get('model_output') ?? 'null', maxValue)
  const scores = cutValue(trial.get('scores') ?? '{}', maxValue)
  const whole = objectText([
    ['inputs', inputs],
    ['output', output],
    ['scores', scores],
  ])
  const json = cutValue(whole, maxRow)
  const isCut = columns.some(([, value]) => value.length > maxValue) || whole.length > maxRow
  const isAnswerCut = ['model_output', 'scores'].some((name) => (trial.get(name)?.length ?? 0) > maxValue)
  return { row_digest, cut: isCut || isAnswerCut, json }
}

/** A longer value becomes a text with its beginning, which says that it was cut. */
function cutValue(json: string, most: number): string {
  if (json.length <= most) return json
  const text = json.startsWith('"') ? (JSON.parse(json) as string) : json
  return JSON.stringify(`${text.slice(0, most).toWellFormed()}… (cut here; it has ${text.length} characters)`)
}
