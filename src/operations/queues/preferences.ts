import { createYieldToLoop } from '../../../packages/waiting/index.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { type Preference, sidesOf } from '../../domain/queues/pairs.ts'
import { shareOf } from '../../domain/statistics/intervals.ts'
import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { makersOf, type PairAnswer, streamPairAnswers } from '../../storage/queues/preferences.ts'
import { requireQueue } from '../../storage/queues/queues.ts'
import { boundTo } from '../../storage/transaction.ts'
import { amongPeople } from '../calibrations/agreement.ts'
import { majorityOf } from '../calibrations/labels.ts'
import type { PreferencesBody } from './contract.ts'

/** Those of later items are not read, and the answer says so. */
const maxAnswers = 20_000
const maxComparisons = 100

/** As numbers, so that they are counted like other answers of people. */
const [first, second, tie] = [0, 1, 2]

interface JudgedPair {
  calls: Pick<PairAnswer, 'call_id' | 'other_call_id'>
  /** What each reviewer prefers, the latest. */
  votes: number[]
  users: Set<string>
  decision: number | undefined
}

/** Which models, ops or prompts reviewers of pairs prefer, as far as the caller may see their answers. */
export async function readPreferences(
  { db, signal }: { db: Database; signal: AbortSignal },
  caller: Caller,
  queue_id: string,
  { project_id, by: asked }: PreferencesBody,
) {
  requireAccess(caller, project_id)
  const key = { project_id, queue_id }
  await requireQueue(db, key)
  const by = asked ?? 'model'
  const pause = createYieldToLoop(signal)
  const judged = new Map<string, JudgedPair>()
  let [lefts, rights, answers] = [0, 0, 0]
  for await (const rows of streamPairAnswers(boundTo(db, signal), key, maxAnswers)) {
    for (const row of rows) {
      answers++
      const side = addAnswer(judged, row)
      if (side === 'left') lefts++
      if (side === 'right') rights++
      await pause()
    }
  }
  const pairs = [...judged.values()]
  const ids = [...new Set(pairs.flatMap(({ calls }) => [calls.call_id, calls.other_call_id]))]
  const names = await makersOf(boundTo(db, signal), project_id, { ids, by, now: now() })
  return {
    by,
    ...comparisonsOf(pairs, names),
    partial: answers === maxAnswers,
    left: shareOf(lefts, lefts + rights),
    humans: await amongPeople(pairs, 3, false, pause),
  }
}

/** Returns the side on which the preferred call was shown. */
function addAnswer(judged: Map<string, JudgedPair>, row: PairAnswer): 'left' | 'right' | undefined {
  const { preferred } = JSON.parse(row.payload) as Preference
  const pair = judged.get(row.id) ?? { calls: row, votes: [], users: new Set(), decision: undefined }
  judged.set(row.id, pair)
  if (pair.users.has(row.user_id)) return undefined
  pair.users.add(row.user_id)
  const vote = preferred === null ? tie : preferred === row.call_id ? first : second
  if (Number(row.adjudicates) === 0) pair.votes.push(vote)
  else if (row.user_id === row.adjudicated_by) pair.decision = vote
  if (preferred === null) return undefined
  return sidesOf(row, row.user_id)?.left === preferred ? 'left' : 'right'
}

function comparisonsOf(pairs: readonly JudgedPair[], names: ReadonlyMap<string, string>) {
  const byNames = new Map<string, { names: [string, string]; counts: [number, number, number] }>()
  let [undecided, not_compared] = [0, 0]
  for (const { calls, votes, decision } of pairs) {
    const result = decision ?? majorityOf(votes)
    const [a, b] = [names.get(calls.call_id), names.get(calls.other_call_id)]
    if (a === undefined || b === undefined || a === b) not_compared++
    else if (result === undefined) undecided++
    else {
      const isInOrder = a < b
      const sorted: [string, string] = isInOrder ? [a, b] : [b, a]
      const key = sorted.join('\n')
      const comparison = byNames.get(key) ?? { names: sorted, counts: [0, 0, 0] }
      byNames.set(key, comparison)
      const at = result === tie || isInOrder ? result : second - result
      comparison.counts[at as 0 | 1 | 2]++
    }
  }
  const comparisons = [...byNames.values()].map(
    ({ names: [firstName, secondName], counts: [wins, losses, ties] }) => ({
      ...{ first: firstName, second: secondName, first_wins: wins, second_wins: losses, ties },
      win_rate: shareOf(wins, wins + losses),
    }),
  )
  const pairsOf = ({ first_wins, second_wins, ties }: (typeof comparisons)[number]) =>
    first_wins + second_wins + ties
  comparisons.sort((a, b) => pairsOf(b) - pairsOf(a) || (a.first < b.first ? -1 : 1))
  return { comparisons: comparisons.slice(0, maxComparisons), undecided, not_compared }
}
