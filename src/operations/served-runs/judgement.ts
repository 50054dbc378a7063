import { idOf } from '../../domain/ids.ts'
import { now } from '../../domain/time.ts'
import { type CallRow, readCall } from '../../storage/calls/calls.ts'
import type { MonitorScorer } from '../../storage/monitors/monitors.ts'
import { backgroundAsking } from '../background-caller.ts'
import { createPricing } from '../calls/costs.ts'
import { readScorer } from '../monitors/bound-scorers.ts'
import { Value } from '../objects/values.ts'
import type { CallValues } from '../scorers/call-values.ts'
import type { Fields } from '../scorers/contract.ts'
import { judgeCallOf } from '../scorers/judge-call.ts'
import { score } from '../scorers/scoring.ts'
import { type Attempt, refusable } from './attempt.ts'

interface Scored {
  /** Of the score. */
  id: string
  scorer: MonitorScorer
  call: CallRow
  valuesOf(fields: Fields): CallValues
  /** What the call of a judge belongs to. */
  links: Record<string, string>
  parent?: { trace_id: string; parent_id: string }
}

/** JSON. */
interface Judged {
  output: string
  /** How a judge decided its questions. */
  decisions?: string | undefined
}

/** The call that a judge makes for a score. */
export const judgeCallId = (score: string): string => idOf(`${score} judge`)

/** The score of a call, or why there is none. A judge that answered before the server stopped is not asked again. */
export async function judgementOf(
  attempt: Attempt,
  { id, scorer: binding, call, valuesOf, links, parent }: Scored,
): Promise<Judged | { exception: string }> {
  const { services, scope, signal } = attempt
  const { db } = services
  const { project, caller } = scope
  const earlier =
    binding.kind === 'judge' ? await readCall(db, project, judgeCallId(id), false, now()) : undefined
  if (earlier !== undefined) return judgedIn(earlier)
  const outcome = await refusable(attempt, async () => {
    const { scorer } = await readScorer(db, project, binding.ref, 'scorer')
    const scored = {
      values: valuesOf({ ...scorer.fields, ...binding.fields }),
      costs: () => createPricing(db, project)(call),
      latencyMs: Math.trunc(((call.ended_at ?? call.started_at) - call.started_at) / 1000),
    }
    return score(services, scorer, scored, await backgroundAsking(db, caller.name, project, signal))
  })
  if ('exception' in outcome) return outcome
  const { run } = outcome
  if (run !== undefined) {
    const fields = { project, user: caller.name, name: binding.name, links, ...(parent && { parent }) }
    await db.write('upsertCalls', [await judgeCallOf(services, { id: judgeCallId(id), ...fields }, run)])
  }
  if (!('output' in outcome)) return { exception: outcome.detail }
  const decisions = run?.answer.decisions
  return { output: outcome.output, decisions: decisions && JSON.stringify(decisions) }
}

function judgedIn({ exception, output, attributes }: CallRow): Judged | { exception: string } {
  if (exception !== null) return { exception }
  const decisions = new Value(attributes ?? '{}').member('heddle')?.member('decisions')?.text
  return { output: output ?? 'null', decisions }
}
