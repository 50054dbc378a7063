import { z } from 'zod'
import type { StatusAnswer } from '../evaluation-runs/contract.ts'
import type { ResultsAnswer, Summary } from '../evaluations/results-contract.ts'
import type { ListAnswer, ScoresAnswer } from '../evaluations/views-contract.ts'
import { type Asking, pathOf, ToolError } from './asking.ts'
import { fitting, head, withoutNulls } from './fitting.ts'
import { cut, project, rows, tool } from './tool.ts'

const maxCompared = 5
const maxScores = 12
const maxListed = 20

const id = z.string().min(1).max(128)

export const getEvaluation = tool({
  name: 'get_evaluation',
  title: 'Read or compare evaluations',
  description:
    'Scores and worst rows of an evaluation run. With several ids they are compared with the first, and the rows are those that differ most. Also polls a run. Without ids: lists the latest.',
  input: z.strictObject({
    project,
    ids: z.array(id).max(maxCompared).default([]),
    score: z
      .string()
      .max(1024)
      .optional()
      .describe('Sorts the rows: scores.judge. Default: the first number'),
    order: z.enum(['lowest', 'highest']).default('lowest'),
    rows: z.int().min(0).max(10).default(3),
  }),
  output: z.object({ evaluations: rows, score: z.string().optional(), rows: rows.optional(), cut }),
  async run(asking, { project, ids, score, order, rows: count }) {
    if (ids.length === 0) return listOf(asking, project)
    const statuses = await Promise.all(ids.map((id) => statusOf(asking, project, id)))
    const url = `/v2/${pathOf(project)}/eval_results/query`
    const compared = { evaluation_call_ids: ids }
    const { summary } = await asking.post<z.output<typeof ResultsAnswer>>(url, {
      ...compared,
      include_rows: false,
      include_summary: true,
      include_costs: true,
    })
    const found = new Map(summary?.evaluations.map((row) => [row.evaluation_call_id, row]))
    const field = score ?? firstScore(summary)
    const pairs = field === undefined || ids.length < 2 ? [] : await pairsOf(asking, project, ids, field)
    const evaluations = ids.map((id, index) => ({
      ...statuses[index],
      ...summaryOf(found.get(id)),
      ...pairs.find((pair) => pair.evaluation_call_id === id),
    }))
    const besides = { evaluations, ...(field !== undefined && { score: field }) }
    if (field === undefined || count === 0) return besides
    const sort =
      ids.length > 1
        ? { field, direction: 'desc', mode: 'difference' }
        : { field, direction: order === 'lowest' ? 'asc' : 'desc' }
    const results = await asking.post<z.output<typeof ResultsAnswer>>(url, {
      ...compared,
      limit: count,
      sort_by: [sort],
      include_raw_data_rows: true,
      resolve_row_refs: true,
    })
    const all = results.rows.map((row) => rowOf(row, ids.length))
    const shown = fitting(all, besides)
    return {
      ...besides,
      rows: shown,
      cut: `${shown.length} of ${results.total_rows} rows, outputs shortened; get_call with a trial_id reads one`,
    }
  },
})

async function listOf(asking: Asking, project: string) {
  const body = { project_id: project, limit: maxListed }
  const { evaluations, total } = await asking.post<ListAnswer>('/views/evaluations', body)
  const all = evaluations.map((row) =>
    withoutNulls({
      id: row.evaluation_call_id,
      name: row.display_name && head(row.display_name, 100),
      status: row.status,
      started_at: row.started_at,
      rows: row.row_count,
      trials: row.trial_count,
      failed: row.failed_trial_count,
    }),
  )
  const shown = fitting(all, {})
  return {
    evaluations: shown,
    ...(total > shown.length && { cut: `the latest ${shown.length} of ${total}` }),
  }
}

async function statusOf(asking: Asking, project: string, id: string) {
  const body = { project_id: project, call_id: id }
  const { status } = await asking.post<z.output<typeof StatusAnswer>>('/evaluations/status', body)
  if (status.code === 'not_found') {
    throw new ToolError(`ids: there is no evaluation ${JSON.stringify(id)} in ${JSON.stringify(project)}`)
  }
  return {
    id,
    status: status.code,
    ...(status.code === 'running' && { done: status.completed_rows, of: status.total_rows }),
    ...(status.code === 'failed' && { error: head(status.error, 300) }),
  }
}

const fieldOf = ({ scorer_key, path }: { scorer_key: string; path: string | null }) =>
  `scores.${scorer_key.replaceAll('.', '\\.')}${path === null ? '' : `.${path}`}`

function firstScore(summary: Summary | null): string | undefined {
  const stats = summary?.evaluations.flatMap(({ scorer_stats }) => scorer_stats) ?? []
  const first = stats.find(({ value_type }) => value_type !== 'text')
  return first && fieldOf(first)
}

function summaryOf(row: Summary['evaluations'][number] | undefined) {
  if (row === undefined) return {}
  return withoutNulls({
    name: row.display_name && head(row.display_name, 100),
    model: row.model_ref && head(row.model_ref, 200),
    trials: row.trial_count,
    tokens: row.predict_total_tokens,
    cost: row.predict_total_cost,
    scores: row.scorer_stats.slice(0, maxScores).map((stats) =>
      withoutNulls({
        score: head(fieldOf(stats), 100),
        mean: stats.numeric_mean,
        pass_rate: stats.pass_rate,
        missing: stats.missing_trial_count || null,
        failed: stats.failed_trial_count || null,
      }),
    ),
  })
}

async function pairsOf(asking: Asking, project: string, ids: readonly string[], field: string) {
  const body = {
    project_id: project,
    evaluation_call_ids: ids,
    field,
    baseline: ids[0],
    bins: 1,
    heat_bins: 1,
  }
  const { pairs } = await asking.post<ScoresAnswer>('/views/scores', body)
  return pairs.map(({ evaluation_call_id, mean_difference, interval, wins, ties, losses }) => ({
    evaluation_call_id,
    difference: mean_difference,
    ...(interval && { interval_95: [interval.low, interval.high] }),
    ...{ wins, ties, losses },
  }))
}

function rowOf(row: z.output<typeof ResultsAnswer>['rows'][number], evaluations: number) {
  const length = Math.floor(600 / evaluations)
  const short = (value: unknown) =>
    head(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), length)
  return {
    row: short(row.raw_data_row),
    runs: row.evaluations.map(({ evaluation_call_id, trials: [trial, ...others] }) =>
      withoutNulls({
        id: evaluation_call_id,
        trial_id: trial?.predict_and_score_call_id,
        output: short(trial?.model_output),
        scores: short(trial?.scores),
        further_trials: others.length || null,
      }),
    ),
  }
}
