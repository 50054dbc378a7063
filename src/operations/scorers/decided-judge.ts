import { digestOfJson } from '../../domain/digests.ts'
import { writeJson } from '../../domain/json/text.ts'
import type { DecisionAnswer } from '../../inference/decisions/decision.ts'
import { applied, calibrationsOf } from '../calibrations/stored.ts'
import { decide } from '../decisions/decide.ts'
import { questionsOf } from '../decisions/questions.ts'
import { diagnosisOf } from '../decisions/shares.ts'
import type { GenerationContext } from '../generation/generation.ts'
import type { GenerationParts } from '../generation/parts.ts'
import type { CallValues } from './call-values.ts'
import type { Decisions, JudgeAnswer } from './judge.ts'
import { type DecidingJudge, decidedValue, questionsPath } from './judge-questions.ts'

/** A digest of the prompt while its fields are open, and of where they lead. */
export const templateOf = ({ prompt }: DecidingJudge, { fields }: CallValues): string =>
  digestOfJson(writeJson([prompt, fields]))

/** Asks all questions in one pass: the prompt is read once. */
export async function decideAsJudge(
  services: GenerationParts,
  judge: DecidingJudge,
  { prompt, template }: { prompt: string; template: string },
  asking: GenerationContext,
): Promise<JudgeAnswer> {
  const { model, system, orders, min_label_mass } = judge
  const questions = judge.questions.map(({ threshold: _, calibration: __, ...question }) => question)
  const calibrations = await calibrationsOf(services.db, asking.project, judge.questions, questionsPath)
  const instructions = system ? [system] : []
  const messages = [
    ...instructions.map((content) => ({ role: 'system', content })),
    { role: 'user', content: prompt },
  ]
  const body = { input: messages, questions }
  const asked = {
    instructions,
    input: prompt,
    questions: questionsOf(questions, questionsPath).questions,
    body,
  }
  const decided = await decide(services, { model, orders }, asked, asking)
  const score: [string, object][] = []
  const decisions: [string, Decisions['questions'][string]][] = []
  for (const [index, question] of judge.questions.entries()) {
    const answer = decided.answers[index] as DecisionAnswer
    const digest = decided.digests[index] as string
    const isRefused = (answer.mass ?? 1) < (min_label_mass ?? 0)
    const probabilities = isRefused ? undefined : answer.probabilities
    const calibration = calibrations.get(index)
    const shares =
      calibration && probabilities && applied(calibration, { digest, prompt: template }, probabilities)
    score.push([question.name, decidedValue(question, probabilities, calibration && (shares ?? null))])
    const { argmax_is_label: _, ...diagnosis } = diagnosisOf(answer)
    decisions.push([question.name, { digest, ...diagnosis }])
  }
  const { prompt: tokens } = decided.tokens
  return {
    model: decided.model,
    text: writeJson(Object.fromEntries(score)),
    fault: undefined,
    usage: { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens },
    inputs: () => writeJson({ model: decided.model, ...body, orders: orders ?? 1 }),
    decisions: {
      model: decided.model,
      prompt: template,
      questions: Object.fromEntries(decisions),
    },
  }
}
