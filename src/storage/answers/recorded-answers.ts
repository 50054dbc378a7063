import { now } from '../../domain/time.ts'
import type { CallPart } from '../calls/parts.ts'
import { joinToldBefore } from '../calls/told-before.ts'
import { type Settlement, settleSpend } from '../limits/budgets.ts'
import { type CallToShadow, noteShadowPairs } from '../objects/shadow-pairs.ts'
import type { Command } from '../transaction.ts'
import { addCompletions, type CompletionRow } from './completions.ts'
import { type TurnOfAnswer, upsertAnswers } from './turns.ts'

/** An answer of this server: its call (start and end together) and what it can be found by. */
export interface RecordedAnswer {
  call: CallPart
  /** Absent if it begins a turn, or belongs to none. */
  turn?: TurnOfAnswer
  /** A coding agent asked, whose telemetry may tell of it, too. */
  isOfAgent?: boolean
  completion: Omit<CompletionRow, 'project_id' | 'call_id'>
  /** Of its budgets, if it has any. */
  settlement?: Settlement
  /** Absent unless another version is to be asked the same. */
  shadow?: CallToShadow
}

/** Each call appears once in the list. The same answers may be written again. */
export const recordAnswers: Command<readonly RecordedAnswer[], void> = async (tx, answers) => {
  await upsertAnswers(tx, answers)
  await addCompletions(
    tx,
    answers.map(({ call, completion }) => ({ ...completion, project_id: call.project_id, call_id: call.id })),
  )
  for (const { call, completion, isOfAgent } of answers)
    if (isOfAgent) await joinToldBefore(tx, call, completion.completion_id)
  await noteShadowPairs(tx, answers, now())
  // Last: the sums of a budget are locked until the transaction ends.
  await settleSpend(
    tx,
    answers.flatMap(({ settlement }) => settlement ?? []),
  )
}
