import { membersOf, objectText } from '../../../packages/json/index.ts'
import { leavesOf } from '../../domain/evaluations/leaves.ts'
import { idOf } from '../../domain/ids.ts'
import { JsonText, withTexts, writeJson } from '../../domain/json/text.ts'
import { shadowOp } from '../../domain/judge-op.ts'
import { callRef } from '../../domain/refs.ts'
import { monotonicNow, now } from '../../domain/time.ts'
import { readCall } from '../../storage/calls/calls.ts'
import type { CallPart } from '../../storage/calls/parts.ts'
import type { LabelShadow } from '../../storage/objects/label-shadows.ts'
import type { PairOutcome, SideOfPair, TakenPair } from '../../storage/objects/shadow-pairs.ts'
import { readProjectSettings } from '../../storage/projects/projects.ts'
import { backgroundAsking } from '../background-caller.ts'
import { createPricing, sumOfCosts } from '../calls/costs.ts'
import { endPart, startPart } from '../calls/parts.ts'
import { callRecord } from '../calls/record.ts'
import type { GenerationRecord } from '../generation/observed.ts'
import { type BoundScorer, readScorer } from '../monitors/bound-scorers.ts'
import type { OperationParts } from '../parts.ts'
import { filledPrompt } from '../prompts/filling.ts'
import { promptNotFound } from '../prompts/named-prompts.ts'
import { type ShadowedApi, shadowedWires } from '../prompts/wires.ts'
import { callValues } from '../scorers/call-values.ts'
import { judgeCallOf } from '../scorers/judge-call.ts'
import { score } from '../scorers/scoring.ts'
import { answerOf } from './asking-apis.ts'

interface Pair {
  services: OperationParts
  shadow: LabelShadow
  pair: TakenPair
}

/** What came of a pair, and the calls that were made for it: that of the shadow first. */
export interface SettledOutcome {
  outcome: PairOutcome
  calls: CallPart[]
}

/** An answer as scorers see it. */
interface Side {
  record: Record<string, unknown>
  summary: string | null
  started_at: number
  ended_at: number
}

/** Asks the other version and has both answers scored. Throws refusals of a model or of the record. */
export async function askPair(asked: Pair, signal: AbortSignal): Promise<SettledOutcome> {
  const { services, shadow, pair } = asked
  const { db } = services
  const { project_id: project } = shadow
  const row = await readCall(db, project, pair.call_id, false, now())
  if (row === undefined) return skipped('call_gone', 'the call was deleted or has expired')
  if ((await readProjectSettings(db, project)).redaction !== undefined)
    return skipped('project_redacts', 'the project redacts what it keeps')
  const bound = await readScorer(db, project, shadow.scorer, 'shadow.scorer')
  const own: Side = {
    record: callRecord(row, {}),
    ...{ summary: row.summary, started_at: row.started_at, ended_at: row.ended_at ?? row.started_at },
  }
  const other = await askShadow(asked, row.op_name ?? '', signal)
  const scored = await scoreBoth(asked, bound, [own, other.side], signal)
  const calls = [other.call, ...scored.calls]
  const sides: SideOfPair[] = []
  const priced = createPricing(db, project)
  for (const side of [own, other.side]) {
    const costs = await priced(side)
    const [latency_ms, cost] = [latencyOf(side), costs === undefined ? null : sumOfCosts(costs)]
    sides.push({ latency_ms, tokens: tokensOf(side.summary), cost })
  }
  if ('reason' in scored) return { outcome: scored.reason, calls }
  const [ofOwn, ofOther] = sides as [SideOfPair, SideOfPair]
  return { outcome: { state: 'judged', difference: scored.difference, own: ofOwn, shadow: ofOther }, calls }
}

const skipped = (reason: string, detail: string): SettledOutcome => ({
  outcome: { state: 'skipped', reason, detail },
  calls: [],
})

const latencyOf = ({ started_at, ended_at }: Side) => Math.trunc((ended_at - started_at) / 1000)

function tokensOf(summary: string | null): number | null {
  const { usage } = JSON.parse(summary ?? '{}') as { usage?: Record<string, { total_tokens?: number }> }
  return Object.values(usage ?? {})[0]?.total_tokens ?? null
}

/** The other version fills in what the client gave, and its answer becomes a call that no client is shown. */
async function askShadow({ services, shadow, pair }: Pair, op: string, signal: AbortSignal) {
  const { db, prompts, models, projects, refScheme } = services
  const { project_id: project, object_id, digest, alias, user_id: user } = shadow
  const version = { id: object_id, version: digest }
  const found = await prompts.find(db, project, version)
  if (found === undefined) throw promptNotFound(project, version)
  const members = membersOf(pair.request)
  const filled = filledPrompt(found.prompt, membersOf(members.get('variables') ?? '{}'), models)
  const api = JSON.parse(members.get('api') ?? '"chat"') as ShadowedApi
  const body = objectText(shadowedWires[api](filled, membersOf(members.get('body') ?? '{}')))
  const started_at = monotonicNow()
  const asking = await backgroundAsking(db, user, project, signal)
  let measured: GenerationRecord | undefined
  const output = await answerOf(api, services, body, {
    ...asking,
    // As long as the id of a client's answer: scorers see no difference but what was said.
    id: asking.id.replaceAll('-', ''),
    note(record) {
      measured = record
    },
  })
  const ended_at = monotonicNow()
  const summary = new JsonText(writeJson({ usage: measured && usageOf(measured) }))
  const link = { label: alias, prompt: version, call: callRef(refScheme, project, pair.call_id) }
  const attributes = new JsonText(writeJson({ heddle: { shadow: link } }))
  const [id, inputs] = [idOf(`${shadow.id} ${pair.call_id}`), new JsonText(body)]
  const call = { project_id: project, id, op_name: shadowOp, started_at, attributes, inputs }
  const start = startPart(call, { user, retentionDays: await projects.retentionDays(project) })
  const { end } = endPart({ project_id: project, id, ended_at, exception: null, output, summary })
  const side: Side = {
    // Under the op of the client's call, so that scorers see no difference but the answer.
    record: { id, op_name: op, inputs, output, attributes, summary },
    ...{ summary: summary.text, started_at, ended_at },
  }
  return { side, call: withTexts<CallPart>({ ...start, end }) }
}

function usageOf({ model, prompt_tokens, completion_tokens }: GenerationRecord) {
  const total_tokens = prompt_tokens + completion_tokens
  return { [model]: { requests: 1, prompt_tokens, completion_tokens, total_tokens } }
}

type Scored = { calls: CallPart[] } & (
  | { difference: number }
  | { reason: Extract<PairOutcome, { reason: string }> }
)

/** Each answer by itself, so that neither comes first. */
async function scoreBoth(
  { services, shadow, pair }: Pair,
  { name, scorer }: BoundScorer,
  sides: readonly Side[],
  signal: AbortSignal,
): Promise<Scored> {
  const { db, refScheme } = services
  const { project_id: project, user_id: user } = shadow
  const calls: CallPart[] = []
  const numbers: number[] = []
  for (const side of sides) {
    const { run, ...outcome } = await score(
      services,
      scorer,
      {
        values: callValues(side.record, scorer.fields),
        costs: () => createPricing(db, project)(side),
        latencyMs: latencyOf(side),
      },
      await backgroundAsking(db, user, project, signal),
    )
    if (run !== undefined) {
      const call = callRef(refScheme, project, String(side.record.id))
      const links = { shadow: shadow.id, scorer: shadow.scorer, call }
      calls.push(await judgeCallOf(services, { project, user, name, links }, run))
    }
    if ('state' in outcome) return { calls, reason: outcome }
    const number = numberIn(outcome.output, shadow.field)
    if (number === undefined) {
      const wanted = shadow.field === null ? 'one number, nor `passed`' : `a number at ${shadow.field}`
      const detail = `the score of ${pair.call_id} has not ${wanted}`
      return { calls, reason: { state: 'failed', reason: 'no_number', detail } }
    }
    numbers.push(number)
  }
  const [own, other] = numbers as [number, number]
  return { calls, difference: other - own }
}

/** True counts as 1, false as 0. */
function numberIn(output: string, field: string | null): number | undefined {
  const leaves = leavesOf(`{"score":${output}}`).filter(({ number }) => number !== null)
  const at = (path: string) => leaves.find((leaf) => leaf.path === path)?.number ?? undefined
  if (field !== null) return at(field)
  return leaves.length === 1 ? (leaves[0]?.number ?? undefined) : at('passed')
}
