import { objectOf, objectText } from '../../../packages/json/index.ts'
import { inSteps } from '../../../packages/waiting/index.ts'
import { batchesOf } from '../../domain/batches.ts'
import { countIn, statedPerUnit } from '../../domain/call-facts/facts.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { JsonText } from '../../domain/json/text.ts'
import { wrong } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import { viewOf } from '../../domain/view.ts'
import type { CallsView } from '../../storage/calls/queries.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { type CallUsage, streamCallUsage, tracesOfCalls } from '../../storage/views/call-usage.ts'
import { createPricing } from '../calls/costs.ts'
import { callsViewOf } from '../calls/query.ts'
import type { Asked } from '../views/calls.ts'
import { type ModelUsage, rollUp, type Usage, type UsedCall } from './roll-up.ts'
import { type CallsUsageBody, defaultCalls, type TraceUsageBody } from './usage-contract.ts'

/** Traces that are read together: most have few calls. */
const tracesAtOnce = 100
/** The most models of all calls together in one answer. */
const maxEntries = 50_000

/** Every selected call, with what is below it among the selected ones. */
export async function readTraceUsage({ db, names }: Asked, caller: Caller, body: TraceUsageBody) {
  requireAccess(caller, body.project_id)
  const { project_id, filter, query } = body
  const usage = createReading(db, body)
  const view = await callsViewOf(names, { project_id, filter, query })
  const { calls, unfinished } = await usage.read(view, 'filter')
  return { call_usage: await writeUsage(await rollUp(calls, checkEntries)), unfinished_call_ids: unfinished }
}

/** The calls that are asked for, each with everything below it. */
export async function readCallsUsage({ db, names }: Asked, caller: Caller, body: CallsUsageBody) {
  const { project_id, call_ids } = body
  requireAccess(caller, project_id)
  if (call_ids.length > 1000) {
    throw tooMany('call_ids', `${call_ids.length} entries`, 'at most 1000')
  }
  const ids = await names.calls(project_id, call_ids)
  const usage = createReading(db, body)
  const found = new Map<string, Usage>()
  const unfinished: string[] = []
  const wanted = new Set(ids)
  for (const traces of batchesOf(await tracesOfCalls(db, project_id, ids), tracesAtOnce)) {
    const view = { ...viewOf({ project_id }), filters: [{ trace_ids: traces }] }
    const { calls, unfinished: running } = await usage.read(view, 'call_ids')
    for (const trace of Map.groupBy(calls, ({ traceId }) => traceId).values()) {
      for (const [id, total] of await rollUp(trace, checkEntries)) if (wanted.has(id)) found.set(id, total)
    }
    unfinished.push(...running)
  }
  const entries = call_ids.map((name, index): [string, Usage] => [
    name,
    found.get(ids[index] as string) ?? new Map(),
  ])
  return { call_usage: await writeUsage(new Map(entries)), unfinished_call_ids: unfinished }
}

type ReadingBody = Pick<TraceUsageBody, 'project_id' | 'include_costs' | 'limit'>

function createReading(db: BoundDatabase, body: ReadingBody) {
  const limit = body.limit ?? defaultCalls
  let left = limit
  const costsOf = body.include_costs ? createPricing(db, body.project_id) : undefined

  async function usedCall(row: CallUsage): Promise<UsedCall & { traceId: string | null }> {
    const { id, parent_id, trace_id: traceId, started_at } = row
    const usage = usageIn(row)
    const costs = await costsOf?.({ started_at, summary: `{"usage":${usage}}` })
    const own = Object.entries(objectOf(usage)).flatMap(([model, used]): [string, ModelUsage][] => {
      const known = modelUsage(used, costs === undefined ? undefined : objectOf(costs)[model])
      return known === undefined ? [] : [[model, known]]
    })
    return { id, traceId, parentId: parent_id, own: new Map(own), asksModel: Number(row.asks_model) === 1 }
  }

  return {
    /** The calls of the view; refuses more than the limit, which all views share. `field` is the field of the request that selects them. */
    async read(view: CallsView, field: string) {
      const calls: (UsedCall & { traceId: string | null })[] = []
      let models = 0
      const unfinished: string[] = []
      for await (const rows of streamCallUsage(db, { ...view, limit: left + 1 }, now())) {
        await inSteps(rows, async (row) => {
          const call = await usedCall(row)
          calls.push(call)
          models += call.own.size
          checkEntries(models)
          if (row.ended_at === null) unfinished.push(row.id)
        })
        if (calls.length > left)
          throw tooMany(field, `more than ${limit} calls`, `at most ${limit}, see limit`)
      }
      left -= calls.length
      return { calls, unfinished }
    },
  }
}

/** A summary that is too large to be opened leaves only the sums of its models. */
function usageIn({ usage, model, input_tokens, output_tokens, stated_cost }: CallUsage): string {
  if (usage?.startsWith('{')) return usage
  if (input_tokens === null && output_tokens === null) return '{}'
  const total_cost = stated_cost === null ? undefined : Number(stated_cost) / statedPerUnit
  return JSON.stringify({ [model ?? 'unknown']: { input_tokens, output_tokens, total_cost } })
}

function modelUsage(used: unknown, costs: unknown): ModelUsage | undefined {
  if (typeof used !== 'object' || used === null) return undefined
  const count = (name: string) => countIn((used as Record<string, unknown>)[name]) ?? 0
  const cost = (name: string) => {
    const value = (costs as Record<string, unknown> | undefined)?.[name]
    return typeof value === 'number' ? value : null
  }
  const prompt_tokens = count('prompt_tokens') + count('input_tokens')
  const completion_tokens = count('completion_tokens') + count('output_tokens')
  return {
    requests: count('requests'),
    prompt_tokens,
    completion_tokens,
    total_tokens: count('total_tokens') || prompt_tokens + completion_tokens,
    cache_read_input_tokens: count('cache_read_input_tokens'),
    cache_creation_input_tokens: count('cache_creation_input_tokens'),
    prompt_tokens_total_cost: cost('prompt_tokens_total_cost'),
    completion_tokens_total_cost: cost('completion_tokens_total_cost'),
    cache_read_input_tokens_total_cost: cost('cache_read_input_tokens_total_cost'),
    cache_creation_input_tokens_total_cost: cost('cache_creation_input_tokens_total_cost'),
    stated_total_cost: cost('stated_total_cost'),
  }
}

async function writeUsage(totals: ReadonlyMap<string, Usage>): Promise<JsonText> {
  checkEntries(totals.values().reduce((sum, { size }) => sum + size, 0))
  const texts = new Map<Usage, string>()
  const members: [string, string][] = []
  await inSteps(totals, ([id, usage]) => {
    // Calls without usage of their own share that of the call below them.
    const text =
      texts.get(usage) ?? objectText(usage.entries().map(([name, used]) => [name, JSON.stringify(used)]))
    texts.set(usage, text)
    members.push([id, text])
  })
  return new JsonText(objectText(members))
}

function checkEntries(entries: number): void {
  if (entries <= maxEntries) return
  throw tooMany('limit', `${entries} models of calls`, `at most ${maxEntries}, so fewer calls at a time`)
}

export function tooMany(field: string, count: string, accepted: string) {
  return wrong(field, count, accepted)
}
