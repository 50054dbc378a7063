import { digestOfJson } from '../../domain/digests.ts'
import { writeJson } from '../../domain/json/text.ts'
import { Refusal } from '../../domain/refusals.ts'
import type { DecisionAnswer } from '../../inference/decisions/decision.ts'
import { decisionSystem, divider } from '../../inference/decisions/wording.ts'
import { applied, calibrationsOf } from '../calibrations/stored.ts'
import { decide } from '../decisions/decide.ts'
import { questionsOf } from '../decisions/questions.ts'
import { diagnosisOf } from '../decisions/shares.ts'
import type { GenerationContext } from '../generation/generation.ts'
import type { GenerationParts } from '../generation/parts.ts'
import type { CallValues } from './call-values.ts'
import type { JudgeQuestion } from './contract.ts'
import { type Decisions, type JudgeAnswer, writeAsJudge } from './judge.ts'
import { type DecidingJudge, decidedValue, questionsPath, reasonName } from './judge-questions.ts'

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
  const read = questionsOf(questions, questionsPath).questions
  const asked = { instructions, input: prompt, questions: read, body }
  const decided = await decide(services, { model, orders }, asked, asking)
  const score: [string, unknown][] = []
  const decisions: [string, Decisions['questions'][string]][] = []
  const answers: { text: string; answer: string | undefined }[] = []
  for (const [index, question] of judge.questions.entries()) {
    const answer = decided.answers[index] as DecisionAnswer
    const digest = decided.digests[index] as string
    const isRefused = (answer.mass ?? 1) < (min_label_mass ?? 0)
    const probabilities = isRefused ? undefined : answer.probabilities
    const calibration = calibrations.get(index)
    const shares =
      calibration && probabilities && applied(calibration, { digest, prompt: template }, probabilities)
    const value = decidedValue(question, probabilities, calibration && (shares ?? null))
    score.push([question.name, value])
    const { argmax_is_label: _, ...diagnosis } = diagnosisOf(answer)
    decisions.push([question.name, { digest, ...diagnosis }])
    answers.push({ text: read[index]?.text ?? '', answer: spoken(question, value) })
  }
  const { prompt: tokens } = decided.tokens
  let usage = { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens }
  if (judge.reason) {
    const { reason, usage: written } = await reasonOf(services, judge, { prompt, decided: answers }, asking)
    score.push([reasonName, reason])
    usage = sumOf(usage, written)
  }
  return {
    model: decided.model,
    text: writeJson(Object.fromEntries(score)),
    fault: undefined,
    usage,
    inputs: () =>
      writeJson({
        model: decided.model,
        ...body,
        orders: orders ?? 1,
        ...(judge.reason && { reason: true }),
      }),
    decisions: {
      model: decided.model,
      prompt: template,
      questions: Object.fromEntries(decisions),
    },
  }
}

interface DecidedQuestion {
  text: string
  /** As a text; undefined if the model refused to answer. */
  answer: string | undefined
}

interface Reason {
  /** Null if there is no room for it in the context of the model. */
  reason: string | null
  usage: JudgeAnswer['usage']
}

const nothing = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }

/**
 * Asks why the answers are what they are. They are decided by then, and nothing that is written here changes them. The
 * prompt begins as that of the decisions does, so that what the judge looks at is not read again.
 */
async function reasonOf(
  services: GenerationParts,
  judge: DecidingJudge,
  { prompt, decided }: { prompt: string; decided: readonly DecidedQuestion[] },
  asking: GenerationContext,
): Promise<Reason> {
  const system = [decisionSystem, ...(judge.system ? [judge.system] : [])].join('\n\n')
  const questions = decided.map(({ text }) => text).join('\n')
  const answers = decided.map(({ answer }) => answer ?? 'no answer').join('\n')
  const messages = [
    { role: 'system' as const, content: system },
    { role: 'user' as const, content: `${prompt.trimEnd()}${divider}${questions}` },
    { role: 'assistant' as const, content: answers },
    { role: 'user' as const, content: 'Now give the reason in one or two sentences, not a label.' },
  ]
  try {
    const { text, usage } = await writeAsJudge(services, judge, { messages }, asking)
    return { reason: text.trim(), usage }
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'context_length_exceeded') throw error
    return { reason: null, usage: nothing }
  }
}

/** The value as a model would write it. */
function spoken({ type }: JudgeQuestion, { value, level }: Record<string, unknown>): string | undefined {
  if (value === null) return undefined
  if (type === 'predicate') return value ? 'yes' : 'no'
  return String(level ?? value)
}

type Usage = JudgeAnswer['usage']

const sumOf = (first: Usage, other: Usage): Usage => ({
  prompt_tokens: first.prompt_tokens + other.prompt_tokens,
  completion_tokens: first.completion_tokens + other.completion_tokens,
  total_tokens: first.total_tokens + other.total_tokens,
})
