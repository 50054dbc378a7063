import type { EvaluationSummary } from '../../src/operations/evaluations/results-contract.ts'
import type { ListAnswer, RankAnswer, ScoresAnswer } from '../../src/operations/evaluations/views-contract.ts'
import { type JsonNode, jsonNode, membersOf, nodeAt, stringOf } from '../value/json-index.ts'
import { type CallRow, costOf, modelsOf } from './calls.ts'
import { request, requestJson, requestLines } from './request.ts'

export type EvaluationRow = ListAnswer['evaluations'][number]
export type { EvaluationSummary, ListAnswer, RankAnswer, ScoresAnswer }
export type ScorerStats = EvaluationSummary['scorer_stats'][number]

export const readEvaluations = (
  project: string,
  page: { offset: number; limit: number },
  signal: AbortSignal,
): Promise<ListAnswer> =>
  requestJson('/views/evaluations', { body: { project_id: project, ...page }, signal })

/** What a run cost, where a price is known. */
export interface RunCost {
  cost: number | undefined
  models: readonly string[]
}

/** The cost of the calls of these evaluations. */
export async function readCosts(
  project: string,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, RunCost>> {
  const found = new Map<string, RunCost>()
  const body = {
    project_id: project,
    filter: { call_ids: ids },
    columns: ['id', 'summary'],
    include_costs: true,
  }
  for await (const line of requestLines('/calls/stream_query', { body, signal })) {
    const call = JSON.parse(line) as CallRow
    found.set(call.id, { cost: costOf(call), models: modelsOf(call) })
  }
  return found
}

/** Which rows of which evaluations. */
export interface Compared {
  project: string
  ids: readonly string[]
  filters: readonly { query: object; evaluation_call_id?: string }[]
  /** Only rows that all of them have. */
  intersect: boolean
}

const viewOf = ({ ids, filters, intersect }: Compared) => ({
  evaluation_call_ids: ids,
  ...(filters.length > 0 && { filters }),
  ...(intersect && { require_intersection: true }),
})

const queryPath = (project: string) =>
  `/v2/${project.split('/').map(encodeURIComponent).join('/')}/eval_results/query`

interface Summarised {
  total_rows: number
  summary: { row_count: number; evaluations: EvaluationSummary[] }
  warnings: string[]
}

export const readSummary = (view: Compared, signal: AbortSignal): Promise<Summarised> =>
  requestJson(queryPath(view.project), {
    body: { ...viewOf(view), include_rows: false, include_summary: true },
    signal,
  })

export interface RowOrder {
  field: string
  direction: 'asc' | 'desc'
  mode: 'value' | 'difference'
  evaluation_call_id?: string
}

export interface TrialResult {
  id: string
  output: JsonNode
  scores: JsonNode
  scorerCalls: ReadonlyMap<string, string>
  predictCall: string | undefined
  latency: number | undefined
  tokens: number | undefined
}

export interface ResultRow {
  digest: string
  inputs: JsonNode
  /** By evaluation. */
  trials: ReadonlyMap<string, readonly TrialResult[]>
}

interface ResultPage {
  rows: ResultRow[]
  total: number
  warnings: string[]
}

/** A page of rows; their values keep their digits. */
export async function readRows(
  view: Compared,
  sort: RowOrder | undefined,
  page: { offset: number; limit: number },
  signal: AbortSignal,
): Promise<ResultPage> {
  const body = {
    ...viewOf(view),
    ...page,
    ...(sort && { sort_by: [sort] }),
    include_raw_data_rows: true,
    resolve_row_refs: true,
  }
  const answer = jsonNode(await (await request(queryPath(view.project), { body, signal })).text())
  const rows: ResultRow[] = []
  let total = 0
  let warnings: string[] = []
  for (const { name, node } of membersOf(answer)) {
    if (name === 'rows') for (const { node: row } of membersOf(node)) rows.push(rowIn(row))
    else if (name === 'total_rows') total = numberOf(node) ?? 0
    else if (name === 'warnings') warnings = [...membersOf(node)].map((one) => stringOf(one.node) ?? '')
  }
  return { rows, total, warnings }
}

const nothing = jsonNode('null')
const numberOf = (node: JsonNode | undefined): number | undefined =>
  node?.kind === 'number' ? Number(node.text.slice(node.start, node.end)) : undefined

function rowIn(row: JsonNode): ResultRow {
  const of = membersByName(row)
  const evaluations = of.get('evaluations')
  return {
    digest: stringOf(of.get('row_digest')) ?? '',
    inputs: of.get('raw_data_row') ?? nothing,
    trials: new Map(
      [...membersOf(evaluations ?? nothing)].map(({ node }) => [
        stringOf(nodeAt(node, 'evaluation_call_id')) ?? '',
        [...membersOf(nodeAt(node, 'trials') ?? nothing)].map((one) => trialIn(one.node)),
      ]),
    ),
  }
}

function trialIn(trial: JsonNode): TrialResult {
  const of = membersByName(trial)
  const calls = [...membersOf(of.get('scorer_call_ids') ?? nothing)]
  return {
    id: stringOf(of.get('predict_and_score_call_id')) ?? '',
    output: of.get('model_output') ?? nothing,
    scores: of.get('scores') ?? nothing,
    scorerCalls: new Map(calls.map(({ name, node }) => [name, stringOf(node) ?? ''])),
    predictCall: stringOf(of.get('predict_call_id')),
    latency: numberOf(of.get('model_latency_seconds')),
    tokens: numberOf(of.get('total_tokens')),
  }
}

const membersByName = (node: JsonNode): Map<string, JsonNode> =>
  new Map([...membersOf(node)].map((member) => [member.name, member.node]))

export const readScores = (
  { project, ...view }: Compared,
  asked: { field: string; baseline: string; heat_for?: string },
  signal: AbortSignal,
): Promise<ScoresAnswer> =>
  requestJson('/views/scores', {
    body: { project_id: project, ...viewOf({ project, ...view }), ...asked, heat_bins: 32 },
    signal,
  })

export const readRank = (
  view: Compared,
  sort: RowOrder | undefined,
  row: string,
  signal: AbortSignal,
): Promise<RankAnswer> =>
  requestJson('/views/rank', {
    body: {
      project_id: view.project,
      ...viewOf(view),
      ...(sort && { sort_by: [sort] }),
      row_digest: row,
    },
    signal,
  })
