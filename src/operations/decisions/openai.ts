import { clockNow } from '../../domain/clock.ts'
import type { DecisionAnswer as AnswerOfModel } from '../../inference/decisions/decision.ts'
import { calibrationsOf } from '../calibrations/stored.ts'
import type { GenerationParts } from '../generation/parts.ts'
import type { PoolingContext } from '../pooling/pooling.ts'
import type { DecisionAnswer, DecisionBody, Question } from './contract.ts'
import { type Decided, decide } from './decide.ts'
import { inputOf } from './input.ts'
import { questionsOf } from './questions.ts'
import { calibratedBy, choiceConfidence, diagnosisOf, scoreConfidence, scoreOf, winnerOf } from './shares.ts'

/** Decisions as the clients of OpenAI ask for them and read them. */
export type MadeDecisions = Omit<DecisionAnswer, 'id'> & { cached?: undefined }

export async function makeDecisions(
  services: GenerationParts,
  body: DecisionBody,
  context: PoolingContext,
): Promise<MadeDecisions> {
  const { questions, needsServer } = questionsOf(body.questions)
  const calibrations = await calibrationsOf(services.db, context.project, body.questions, 'questions')
  const input = inputOf(body)
  const { safety_identifier, prompt_cache_key, prompt_cache_options } = body
  const decided = await decide(
    services,
    body,
    {
      ...input,
      questions,
      ...((input.needsServer ?? needsServer) && { needsServer: input.needsServer ?? needsServer }),
      body: {
        input: body.input,
        questions: body.questions.map(({ calibration: _, ...question }) => question),
        ...(safety_identifier != null && { safety_identifier }),
        ...(prompt_cache_key != null && { prompt_cache_key }),
        ...(prompt_cache_options != null && { prompt_cache_options }),
      },
    },
    context,
  )
  const floor = body.min_label_mass ?? 0
  const shares = calibratedBy(calibrations, decided)
  return {
    object: 'decision',
    created: Math.floor(clockNow() / 1000),
    model: decided.model,
    answers: decided.answers.map((answer, index) => {
      const question = body.questions[index] as Question
      if ((answer.mass ?? 1) < floor || !answer.probabilities) return answerOf(question, refusal)
      const found = shares[index]
      const calibrated = question.type === 'predicate' ? (found?.shares?.[0] ?? null) : found?.shares
      return { ...answerOf(question, answer), ...(found && { calibrated }) }
    }),
    diagnostics: decided.answers.map((answer, index) => diagnosisOf(answer, shares[index])),
    usage: usageOf(decided),
  }
}

const refusal: AnswerOfModel = { probabilities: undefined }

function answerOf(question: Question, { probabilities }: AnswerOfModel): DecisionAnswer['answers'][number] {
  const { type, choices, levels } = question
  const name = question.name ?? null
  if (probabilities === undefined) return { type: 'refusal', name }
  if (type === 'predicate') return { type, name, probability: probabilities[0] as number }
  const of = (index: number) => probabilities[index] as number
  if (type === 'choice') {
    const values = (choices ?? []).map(({ value }) => value)
    return {
      type,
      name,
      choice: values[winnerOf(probabilities)] as string | boolean,
      probabilities: values.map((value, index) => ({ value, probability: of(index) })),
      confidence: choiceConfidence(probabilities),
    }
  }
  return {
    type,
    name,
    score: scoreOf(probabilities),
    probabilities: (levels ?? []).map(({ label }, value) => ({ value, label, probability: of(value) })),
    confidence: scoreConfidence(probabilities),
  }
}

/** Nothing is written but thoughts, where they were asked for. */
function usageOf({ tokens: { prompt, cached, written } }: Decided): DecisionAnswer['usage'] {
  return {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
    output_tokens: written,
    output_tokens_details: { reasoning_tokens: written },
    total_tokens: prompt + written,
  }
}
