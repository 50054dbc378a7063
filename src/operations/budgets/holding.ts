import { whenAborted } from '../../../packages/waiting/index.ts'
import type { TokenCount } from '../../domain/money.ts'
import type { AnswerOfModel } from '../../inference/fallbacks.ts'
import type { AnswerRequest, Input } from '../../inference/model.ts'
import type { FoundModel } from '../../inference/registry.ts'
import type { Hold } from './holds.ts'
import type { Budgets, SpendAccount } from './spending.ts'

/** For a model elsewhere whose context is not known, and a request that does not limit its answer. */
const unknownAnswer = 16_384

interface HeldAnswer extends AnswerOfModel {
  hold?: Hold
}

/**
 * Asks a model within the budgets of the caller. What the answer may cost is reserved before a server elsewhere is asked,
 * by the size of the prompt. A model of this machine is asked first, because it knows the tokens of the prompt.
 */
export async function answerWithin(
  budgets: Budgets,
  found: FoundModel,
  request: AnswerRequest,
  account: SpendAccount,
  ask: (signal: AbortSignal) => Promise<AnswerOfModel>,
): Promise<HeldAnswer> {
  const { signal } = account
  const reserve = await budgets.of(account)
  if (reserve === undefined) return ask(signal)
  const models = [found, ...(found.fallbacks ?? [])]
  const isElsewhere = models.some(({ model }) => model.upstream !== undefined)
  const refused = new AbortController()
  let hold: Hold | undefined
  try {
    if (isElsewhere) hold = await reserve(models.map(nameOf), boundOf(request, models))
    const asked = await ask(AbortSignal.any([signal, refused.signal]))
    const { prompts } = asked.answering
    if (!isElsewhere) hold = await reserve([nameOf(asked)], countOf(request, prompts, asked.served.context))
    return hold === undefined ? asked : { ...held(asked, hold, signal), hold }
  } catch (error) {
    hold?.release()
    refused.abort(error)
    throw error
  }
}

const nameOf = ({ served }: Pick<FoundModel, 'served'>) => served.names[0] as string

/** Released if it is never read: its client leaves, or it fails, before it has begun. */
function held(asked: AnswerOfModel, hold: Hold, signal: AbortSignal): AnswerOfModel {
  const { answering } = asked
  const stay = whenAborted(signal, hold.release)
  answering.underWay?.catch(hold.release)
  const events = {
    [Symbol.asyncIterator]() {
      stay()
      hold.begin()
      return answering.events[Symbol.asyncIterator]()
    },
  }
  return { ...asked, answering: { ...answering, events } }
}

function countOf(
  { choices, ending }: AnswerRequest,
  prompts: readonly number[][],
  context: number,
): TokenCount {
  const { maxTokens = Number.POSITIVE_INFINITY } = ending
  const sum = { prompt: 0, completion: 0 }
  for (const { length } of prompts) {
    sum.prompt += length
    sum.completion += choices * Math.max(1, Math.min(maxTokens, context - length))
  }
  return sum
}

/** No token stands for less than a byte. */
function boundOf({ inputs, choices, ending }: AnswerRequest, models: readonly FoundModel[]): TokenCount {
  const contexts = models.map(({ served: { context } }) => context || unknownAnswer)
  const { maxTokens = Math.max(...contexts) } = ending
  const prompt = inputs.reduce((sum, input) => sum + bytesOf(input), 0)
  return { prompt, completion: inputs.length * choices * maxTokens }
}

const bytesOf = (input: Input) =>
  'tokens' in input ? input.tokens.length : bytesOfValue('conversation' in input ? input.conversation : input)

/** The most tokens that a value has as text. */
export const bytesOfValue = (value: unknown): number =>
  Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value))
