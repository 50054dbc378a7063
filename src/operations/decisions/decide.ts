import type { ServedModel } from '../../../packages/engine/index.ts'
import { digestOfJson } from '../../domain/digests.ts'
import { writeJson } from '../../domain/json/text.ts'
import { wrong } from '../../domain/refusals.ts'
import type { DecisionAnswer, DecisionAsked } from '../../inference/decisions/decision.ts'
import {
  decisionSystem,
  divider,
  labelsOf,
  ordersOf,
  questionText,
} from '../../inference/decisions/wording.ts'
import { bytesOfValue } from '../budgets/holding.ts'
import { checkPriority } from '../generation/checks.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { promptGroupOf } from '../generation/prompt-group.ts'
import { type PoolingContext, type Progress, whileMeasured } from '../pooling/pooling.ts'
import type { DecisionBody } from './contract.ts'

/** What the two routes ask alike. */
type Options = Pick<DecisionBody, 'model' | 'orders' | 'thinking_token_budget' | 'cache_salt' | 'priority'>

export interface Decided {
  model: string
  answers: DecisionAnswer[]
  tokens: { prompt: number; cached: number; written: number }
  /** Of each question, with all that its probabilities depend on but the input. */
  digests: string[]
}

/** What the template adds to a prompt, and what the labels of an answer add when they are read. */
const tokensAround = 1_024

/** The input is read for each question, in each order of its options. */
function mostTokens(
  { instructions, input, questions }: Pick<DecisionAsked, 'instructions' | 'input' | 'questions'>,
  orders: number,
): number {
  const shared = bytesOfValue(instructions) + bytesOfValue(input) + tokensAround
  return questions.reduce((sum, question) => sum + orders * (shared + bytesOfValue(question)), 0)
}

/** Asks the model. No other one is ever asked in its place: probabilities of two models cannot be compared. */
export async function decide(
  services: GenerationParts,
  { model: name, orders, thinking_token_budget, cache_salt: salt, priority }: Options,
  asked: Pick<DecisionAsked, 'instructions' | 'input' | 'questions' | 'needsServer' | 'body'>,
  context: PoolingContext,
): Promise<Decided> {
  const { caller, signal } = context
  const { model, served } = services.models.find(name, caller)
  const { needsServer } = asked
  if (needsServer && !served.passesPictures) {
    throw wrong(needsServer.field, needsServer.value, 'texts, because this model reads nothing else')
  }
  checkPriority({ priority: priority ?? 0 }, services.settings)
  const promptGroup = promptGroupOf(caller, services.settings.promptSharing)
  const found = served.names[0] as string
  const thinking = thinking_token_budget ?? undefined
  const times = orders ?? 1
  const maxWritten = (thinking ?? 0) * asked.questions.length * times
  const bound = mostTokens(asked, times) + maxWritten
  const decideNow = (progress: Progress) =>
    model.decide(
      {
        ...asked,
        orders: times,
        ...(thinking !== undefined && { thinking }),
        tenant: caller.name,
        priority: priority ?? 0,
        ...(promptGroup !== undefined && { promptGroup }),
        ...(salt != null && { salt }),
        ...(context.lane && { lane: context.lane }),
        ...(context.traceparent && { traceparent: context.traceparent }),
      },
      (read) => {
        progress.inputs++
        progress.read(read)
      },
      signal,
    )
  const measured = await whileMeasured(services, found, 'decisions', context, bound, decideNow, maxWritten)
  // A model that is loaded on demand is fully known only now.
  const digests = decisionDigests(model.served() ?? served, { ...asked, orders: times }, thinking)
  return { model: found, answers: measured.result, tokens: measured.tokens, digests }
}

/**
 * A digest of each question with its model, template and settings. Probabilities under different digests cannot be
 * compared, and no calibration of one is used for another.
 */
function decisionDigests(
  { names, parent, source, architecture, quantization, parameters, bytes, template, digest }: ServedModel,
  { instructions, questions, orders }: Pick<DecisionAsked, 'instructions' | 'questions' | 'orders'>,
  thinking: number | undefined,
): string[] {
  const model = [names[0], parent, source, architecture, quantization, parameters, bytes, template, digest]
  const around = [decisionSystem, divider, instructions, ...(thinking === undefined ? [] : [{ thinking }])]
  return questions.map((question) => {
    const texts = ordersOf(question, orders).map((order) => questionText(question, order))
    const asked = [question.kind, labelsOf(question), texts]
    return digestOfJson(writeJson([model.map((value) => value ?? null), around, asked]))
  })
}
