import { wrong } from '../../domain/refusals.ts'
import { questionsOf } from '../decisions/questions.ts'
import { scoreOf, winnerOf } from '../decisions/shares.ts'
import type { GivenJudge, Judge, JudgeQuestion } from './contract.ts'

/** A judge that asks typed questions, all about one prompt. */
export type DecidingJudge = Judge & { questions: NonNullable<Judge['questions']> }

export const asksQuestions = (judge: Judge): judge is DecidingJudge => judge.questions != null

export const questionsPath = 'judge.questions'

/** The member of the score that has the reason, as in the score of a judge that writes all of it. */
export const reasonName = 'reason'

/** Refuses a judge that both writes and decides, and questions that nobody could answer. */
export function checkJudgeQuestions(judge: GivenJudge): void {
  const { schema, questions, reason } = judge
  if ((schema == null) === (questions == null)) {
    const problem = schema == null ? 'nothing' : 'a value together with judge.schema'
    throw wrong(questionsPath, problem, 'this or judge.schema')
  }
  const unused =
    questions == null
      ? (['orders', 'min_label_mass', 'reason'] as const)
      : reason
        ? []
        : (['temperature', 'seed', 'max_tokens'] as const)
  for (const name of unused) {
    if (judge[name] == null) continue
    const accepted =
      questions == null
        ? `nothing without ${questionsPath}`
        : `nothing with ${questionsPath}: nothing is written without judge.reason`
    throw wrong(`judge.${name}`, String(judge[name]), accepted)
  }
  if (questions == null) return
  questionsOf(questions, questionsPath)
  const names = new Set<string>()
  for (const [index, { name, type, threshold }] of questions.entries()) {
    if (names.has(name))
      throw wrong(`${questionsPath}.${index}.name`, JSON.stringify(name), 'different names')
    names.add(name)
    if (reason && name === reasonName)
      throw wrong(`${questionsPath}.${index}.name`, JSON.stringify(name), 'another name with judge.reason')
    if (threshold != null && type !== 'predicate') {
      throw wrong(`${questionsPath}.${index}.threshold`, `given for a ${type}`, 'nothing')
    }
  }
}

/**
 * A refusal has no value. Probabilities are a list, so that statistics count the value and its probability only. If a
 * calibration is named, `shares` are its probabilities, which then decide; null if it does not fit.
 */
export function decidedValue(
  { type, choices, levels, threshold }: JudgeQuestion,
  of: readonly number[] | undefined,
  shares: readonly number[] | null | undefined,
): Record<string, unknown> {
  const beside = (option: number) => shares !== undefined && { calibrated: shares?.[option] ?? null }
  if (of === undefined) return { value: null, probability: null, ...beside(0) }
  const decisive = shares ?? of
  if (type === 'predicate') {
    return { value: (decisive[0] as number) >= (threshold ?? 0.5), probability: of[0], ...beside(0) }
  }
  const winner = winnerOf(decisive)
  const likeliest = { probability: of[winner], ...beside(winner), probabilities: of }
  if (type === 'choice') return { value: choices?.[winner]?.value, ...likeliest }
  return { value: scoreOf(decisive), level: levels?.[winner]?.label, ...likeliest }
}
