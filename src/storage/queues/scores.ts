import { isPicked, isScore, matchesRule, type ScorePick } from '../../domain/queues/rules.ts'
import { now as clock } from '../../domain/time.ts'
import { fireForQueues, type QueueStep } from '../alerts/queues.ts'
import type { Feedback } from '../feedback/feedback.ts'
import { insertInto } from '../sql/inserts.ts'
import type { Transaction } from '../transaction.ts'
import { endedAmong, endedCalls, queueByRule } from './ended-calls.ts'
import { rulesLock } from './queues.ts'
import { type ActiveRule, activeRules } from './rules.ts'

type ScoreRule = ActiveRule & { pick: ScorePick }

/** The rules that look at scores, by project. */
type WatchedScores = ReadonlyMap<string, readonly ScoreRule[]>

/** Called before feedback is written and before any of its rows is locked, so that two batches cannot deadlock. */
export async function lockScoreRules(tx: Transaction, records: readonly Feedback[]): Promise<WatchedScores> {
  const projects = new Set(records.filter(isOfCall).map(({ project_id }) => project_id))
  const watched = new Map<string, ScoreRule[]>()
  for (const project of [...projects].sort()) {
    if ((await scoreRules(tx, project)).length === 0) continue
    await tx.lock(rulesLock(project))
    watched.set(project, await scoreRules(tx, project))
  }
  return watched
}

function isOfCall({ feedback_type, call_id }: Feedback): boolean {
  return call_id !== null && isScore(feedback_type)
}

async function scoreRules(tx: Transaction, project: string): Promise<ScoreRule[]> {
  const rules = await activeRules(tx, project)
  return rules.filter((rule): rule is ScoreRule => rule.pick.kind === 'scores')
}

/**
 * Called after feedback was written. Clients may send a score before the end of its call, or before the call itself; it
 * is remembered until the call ends.
 */
export async function applyRulesToScores(
  tx: Transaction,
  watched: WatchedScores,
  records: readonly Feedback[],
): Promise<void> {
  const added = new Map<string, QueueStep[]>()
  for (const [project, rules] of watched) {
    const own = records.filter((record) => record.project_id === project && isOfCall(record))
    for (const rule of rules) {
      const scored = own.filter((record) => isPicked(rule.pick, record.feedback_type, record.payload))
      const ids = [...new Set(scored.map(({ call_id }) => call_id as string))]
      if (ids.length === 0) continue
      const ended = await endedAmong(tx, project, ids)
      const waiting = ids.filter((id) => !ended.has(id))
      for (const statement of insertWaiting(waiting.map((id) => [project, id, rule.id])))
        await tx.run(statement)
      const now = clock()
      const calls = await endedCalls(tx, project, [...ended], [rule], now)
      const picked = calls.filter((call) => matchesRule(rule.filter, call))
      const queued = picked.map(({ id }) => id)
      const step = await queueByRule(tx, project, rule, queued, now)
      added.set(project, [...(added.get(project) ?? []), step])
    }
  }
  for (const [project, steps] of added) await fireForQueues(tx, project, steps, clock())
}

const insertWaiting = insertInto(
  'annotation_rule_scores',
  ['project_id', 'call_id', 'rule_id'],
  'ON CONFLICT (project_id, call_id, rule_id) DO NOTHING',
)
