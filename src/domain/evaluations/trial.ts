import { membersOf, valueAt } from '../expressions/json-value.ts'
import { type EvaluationCall, inputOf } from './evaluation-call.ts'
import { type Example, exampleOf } from './example.ts'
import { isMarked, scoringOf } from './scoring.ts'

/** The key of a trial's output that contains the model's own output. */
export const outputKeys = ['', 'output', 'model_output'] as const

/** What is derived from the call of a trial and its children. */
export interface Trial {
  id: string
  evaluation_id: string
  example: Example
  started_at: number
  /** When the first of the calls that it was derived from expires. */
  stale_at: number | null
  /** Index into `outputKeys`; 0 means no output. */
  output_key: number
  failed: boolean
  predict_call_id: string | null
  latency: number | null
  tokens: number | null
  /** The same without the children. */
  own_latency: number | null
  own_tokens: number | null
  /** By the key of the scores. */
  scorer_call_ids: Record<string, string>
  /** A JSON object, including scores that arrived later. */
  scores: string
  /** The same without the children. */
  own_scores: string
}

/** `children` are in the order in which they started. */
export function trialOf(call: EvaluationCall, children: readonly EvaluationCall[]): Trial {
  const output = outputMembers(call.output)
  const scores = output.get('scores')
  const ownScores = scores?.startsWith('{') ? scores : '{}'
  const predict = predictOf(call, children)
  const others = children.filter((child) => child !== predict)
  const { scorers, late } = scoringOf(others, keysOf(ownScores), call.ended_at !== null)
  const ownLatency = modelLatency(output.get('model_latency'))
  const ownTokens = tokensOf(call)
  return {
    id: call.id,
    evaluation_id: call.parent_id ?? '',
    example: exampleOf(call.inputs === null ? undefined : valueAt(call.inputs, ['example'])),
    started_at: call.started_at,
    stale_at: earliest([call, ...children]),
    output_key: Math.max(
      0,
      outputKeys.findIndex((key) => output.has(key)),
    ),
    failed:
      call.exception !== null ||
      (predict?.exception ?? null) !== null ||
      output.get('model_success') === 'false',
    predict_call_id: predict?.id ?? null,
    latency: durationOf(predict) ?? ownLatency,
    tokens: predict ? tokensOf(predict) : ownTokens,
    own_latency: ownLatency,
    own_tokens: ownTokens,
    scorer_call_ids: Object.fromEntries(scorers),
    scores: withMembers(ownScores, late),
    own_scores: ownScores,
  }
}

const outputNames = new Set(['scores', 'output', 'model_output', 'model_latency', 'model_success'])

/** The members of a trial's output, if it is an object. If a name is repeated, the first one counts. */
function outputMembers(output: string | null): Map<string, string> {
  const found = new Map<string, string>()
  if (!output?.startsWith('{')) return found
  for (const { key, value } of membersOf(output)) {
    const name = nameOf(key)
    if (outputNames.has(name) && !found.has(name)) found.set(name, value)
  }
  return found
}

/** The text of the model's output within the output of its trial. */
export function modelOutput(output: string | null, key: number): string | null {
  const name = outputKeys[key]
  return output !== null && name ? (valueAt(output, [name]) ?? null) : null
}

function earliest(calls: readonly EvaluationCall[]): number | null {
  const times = calls.flatMap(({ expire_at }) => expire_at ?? [])
  return times.length > 0 ? Math.min(...times) : null
}

function modelLatency(latency: string | undefined): number | null {
  return numberOf(latency) ?? (latency === undefined ? null : numberOf(valueAt(latency, ['mean'])))
}

function numberOf(json: string | undefined): number | null {
  if (json === undefined || !/^[-\d]/.test(json)) return null
  const value = Number(json)
  return Number.isFinite(value) ? value : null
}

function durationOf(predict: EvaluationCall | undefined): number | null {
  if (predict === undefined || predict.ended_at === null) return null
  return (predict.ended_at - predict.started_at) / 1_000_000
}

/** Of all models together; null if none reports a number. */
function tokensOf({ summary }: EvaluationCall): number | null {
  if (!summary?.includes('"total_tokens"')) return null
  const usage: unknown = (JSON.parse(summary) as { usage?: unknown } | null)?.usage
  if (typeof usage !== 'object' || usage === null) return null
  let sum: number | null = null
  for (const model of Object.values(usage) as ({ total_tokens?: unknown } | null)[]) {
    const tokens = model?.total_tokens
    if (typeof tokens === 'number' && Number.isFinite(tokens)) sum = (sum ?? 0) + Math.trunc(tokens)
  }
  return sum === null ? null : Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, sum))
}

/** The call of the model: one that is marked as such, or else the first that looks like it. */
function predictOf(trial: EvaluationCall, children: readonly EvaluationCall[]): EvaluationCall | undefined {
  if (children.length === 0) return undefined
  const model = inputOf(trial, 'model')
  const unmarked = children.filter((child) => !isMarked(child))
  return (
    unmarked.find(
      (child) =>
        model !== undefined && (model === JSON.stringify(child.op_name) || model === inputOf(child, 'self')),
    ) ??
    unmarked.find(
      (child) =>
        /predict|invoke/i.test(child.op_name) ||
        (model === undefined && inputOf(child, 'self') === undefined),
    )
  )
}

function keysOf(scores: string): string[] {
  const keys = new Set<string>()
  for (const { key } of membersOf(scores)) keys.add(nameOf(key))
  return [...keys]
}

/** Decodes a key from its JSON spelling. */
function nameOf(key: string): string {
  return key.includes('\\') ? (JSON.parse(key) as string) : key.slice(1, -1)
}

/** Existing keys are left as they are. */
function withMembers(object: string, members: readonly [key: string, json: string][]): string {
  if (members.length === 0) return object
  const there = new Set(keysOf(object))
  const added = members
    .filter(([key]) => !there.has(key))
    .map(([key, json]) => `${JSON.stringify(key)}:${json}`)
  const inner = object.slice(1, -1)
  return `{${[...(inner === '' ? [] : [inner]), ...added].join(',')}}`
}
