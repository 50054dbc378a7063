import { byCaller, type Caller, requireAccess, requireScope } from '../../domain/callers.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import { winRates } from '../../domain/statistics/sequential.ts'
import { formatTime, now } from '../../domain/time.ts'
import type { BoundDatabase, Database } from '../../storage/database.ts'
import type { LabelName } from '../../storage/objects/gated-labels.ts'
import { readLabel } from '../../storage/objects/label-gates.ts'
import { type LabelShadow, readShadow } from '../../storage/objects/label-shadows.ts'
import { readVersion } from '../../storage/objects/objects.ts'
import { countJudgedPairs, countOtherPairs } from '../../storage/objects/shadow-counts.ts'
import { readScorer } from '../monitors/bound-scorers.ts'
import { objectNotFound } from '../objects/resolve.ts'
import type { OperationParts } from '../parts.ts'
import type { ShadowBody } from './contract.ts'

const usualMinPairs = 20

type Parts = Pick<OperationParts, 'db' | 'prompts'>

/** Has another version asked what the label is asked. Whoever sets it asks it. */
export async function setShadowOf(
  { db, prompts }: Parts,
  caller: Caller,
  path: Omit<LabelName, 'project_id'>,
  { project_id, shadow }: ShadowBody,
): Promise<void> {
  requireAccess(caller, project_id)
  // It asks models besides writing.
  requireScope(caller, 'infer')
  const name = { project_id, object_id: path.object_id, alias: path.alias }
  const { digest: present, share } = await readLabel(db, name)
  const label = path.alias.slice(0, 200)
  if (present === null)
    throw objectNotFound('path.alias', project_id, { name: path.object_id, digest: path.alias })
  if (share !== null) throw wrong('shadow', 'a shadow of a label that versions share', 'one of the two')
  const version = { name: path.object_id, digest: shadow.version }
  const found = await prompts.find(db, project_id, { id: path.object_id, version: shadow.version })
  if (found === undefined) throw objectNotFound('shadow.version', project_id, version)
  if (found.digest === present)
    throw wrong(
      'shadow.version',
      `${JSON.stringify(shadow.version)}, which answers already`,
      'another version',
    )
  await readScorer(db, project_id, shadow.scorer, 'shadow.scorer')
  const result = await db.write('setShadow', {
    ...name,
    ...{ digest: found.digest, present, share: shadow.share, scorer: shadow.scorer },
    ...{ field: shadow.field ?? null, min_pairs: shadow.min_pairs ?? usualMinPairs },
    ...{ user_id: caller.name, now: now(), by: byCaller(caller) },
  })
  if (result === 'missing') throw objectNotFound('shadow.version', project_id, version)
  if (result === 'moved')
    throw refuse('label_moved', { field: 'path.alias', label, version: JSON.stringify(present) })
}

/** What was found stays. */
export async function removeShadowOf(db: Database, caller: Caller, name: LabelName): Promise<void> {
  requireAccess(caller, name.project_id)
  await db.write('removeShadow', { ...name, now: now(), by: byCaller(caller) })
}

const unknown = { latency_ms: null, tokens: null, cost: null }
const nothing = {
  ...{ shadow: null, pairs: 0, wins: 0, losses: 0, ties: 0, waiting: 0, skipped: 0, failed: 0, reasons: [] },
  ...{ means: { present: unknown, shadow: unknown }, win_rate: null, decision: 'undecided' as const },
  verdict: 'The label has no shadow.',
}

/** What the shadow of a label has found. */
export async function shadowOf(db: BoundDatabase, caller: Caller, name: LabelName) {
  requireAccess(caller, name.project_id)
  const shadow = await readShadow(db, name)
  if (shadow === undefined) return nothing
  const key = { project_id: name.project_id, shadow_id: shadow.id }
  const { pairs, wins, losses, ties, ...means } = await countJudgedPairs(db, key)
  const others = await countOtherPairs(db, key)
  const countOf = (state: string) =>
    others.reduce((sum, other) => sum + (other.state === state ? other.count : 0), 0)
  const { latency_ms, tokens, cost } = means
  const differing = wins + losses
  const bounds = winRates(wins, losses)
  const failed = countOf('failed')
  const decision = pairs < shadow.min_pairs ? 'undecided' : decisionOf(bounds)
  return {
    shadow: settingOf(shadow),
    ...{ pairs, wins, losses, ties, waiting: countOf('waiting'), skipped: countOf('skipped'), failed },
    reasons: others.flatMap(({ state, reason, count, detail }) =>
      state === 'waiting' ? [] : { state, reason: reason ?? '', count, detail },
    ),
    means: {
      present: { latency_ms, tokens, cost },
      shadow: {
        ...{ latency_ms: means.shadow_latency_ms, tokens: means.shadow_tokens },
        cost: means.shadow_cost,
      },
    },
    win_rate: differing === 0 ? null : { value: wins / differing, ...bounds },
    decision,
    verdict: sentenceOf({
      ...{ decision, pairs, wins, losses, failed },
      least: decision === 'worse' ? 1 - bounds.high : bounds.low,
      asked: await numberOf(db, name, shadow.digest),
      present: await numberOf(db, name, shadow.present),
    }),
  }
}

type Decision = 'better' | 'worse' | 'undecided'

const decisionOf = ({ low, high }: { low: number; high: number }): Decision =>
  low > 0.5 ? 'better' : high < 0.5 ? 'worse' : 'undecided'

const settingOf = (shadow: LabelShadow) => ({
  ...{ version: shadow.digest, present: shadow.present, share: shadow.share },
  ...{ scorer: shadow.scorer, field: shadow.field, min_pairs: shadow.min_pairs, set_by: shadow.user_id },
  set_at: formatTime(shadow.created_at),
  ended_at: shadow.ended_at === null ? null : formatTime(shadow.ended_at),
  why_ended: shadow.why_ended,
})

/** How people call a version. */
async function numberOf(db: Database, { project_id, object_id }: LabelName, digest: string): Promise<string> {
  const version = await readVersion(db, project_id, { name: object_id, digest })
  return version === undefined ? digest : `v${version.version_index}`
}

interface Found {
  decision: Decision
  pairs: number
  wins: number
  losses: number
  failed: number
  /** The share of the side that is ahead is at least this. */
  least: number
  asked: string
  present: string
}

function sentenceOf({ decision, pairs, wins, losses, failed, least, asked, present }: Found): string {
  const after = `After ${pairs} ${pairs === 1 ? 'pair' : 'pairs'}`
  // They may be what is wrong with a version.
  const besides = failed === 0 ? '' : `; ${failed} more failed`
  if (decision === 'undecided')
    return `${after} it is not decided yet whether ${asked} is better than ${present}${besides}.`
  const ahead = decision === 'better' ? wins : losses
  const share = percent(ahead / (wins + losses))
  return `${after} ${asked} is ${decision} than ${present} in ${share} of those that differ (at least ${percent(least)})${besides}.`
}

const percent = (share: number) => `${Math.floor(share * 100)} %`
