import type { AnswerRequest } from '../../model.ts'
import { refuseUnsupported } from '../fields.ts'
import type { ModelAbilities } from '../listed.ts'

interface Thinking {
  thinking?: unknown
  effort?: string
  /** Tokens that the thought may take. */
  tokens: number
  /** Fields that have no effect. */
  ignored: readonly string[]
}

/** Tokens of a thought for each effort, where the model does not decide it itself. */
const budgets: Readonly<Record<string, number>> = {
  minimal: 1_024,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_768,
  max: 65_536,
}

/** Anthropic accepts no smaller budget. */
const minBudget = 1_024

/** Of the limit of an answer, so that something is left for what follows the thought. */
const shareOfThought = 0.8

const none = { tokens: 0, ignored: [] }

/** How much the model is to think. What Messages say is passed on as it is. */
export function thinkingOf(
  { inputs, turn, ending, body = {} }: AnswerRequest,
  { maxTokens: maxListed, thinksAdaptively }: ModelAbilities,
): Thinking {
  const [input] = inputs
  if (input === undefined || !('conversation' in input)) return none
  const { thinks, reasoningEffort, messages } = input.conversation
  if ('thinking' in body) {
    return {
      ...none,
      ...(body.thinking != null && { thinking: body.thinking }),
      ...(reasoningEffort != null && { effort: reasoningEffort }),
    }
  }
  if (turn?.thinkingBudget !== undefined) {
    const { tokens } = turn.thinkingBudget
    const limit = ending.maxTokens ?? Number.POSITIVE_INFINITY
    if (tokens > 0 && (tokens < minBudget || tokens >= limit)) {
      refuseUnsupported('thinking_token_budget', String(tokens), '0, or at least 1024 and below max_tokens')
    }
    return enabled(tokens)
  }
  const effort = reasoningEffort ?? (thinks === undefined ? undefined : thinks ? 'medium' : 'none')
  if (effort === undefined) return none
  if (effort === 'none') return enabled(0)
  const choice = turn?.calls?.choice
  if (choice === 'required' || typeof choice === 'object') return { ...none, ignored: ['reasoning_effort'] }
  if (thinksAdaptively) {
    return { ...none, thinking: { type: 'adaptive' }, effort: effort === 'minimal' ? 'low' : effort }
  }
  const maxTokens = ending.maxTokens ?? maxListed
  const usual = budgets[effort] ?? minBudget
  const budget = maxTokens === undefined ? usual : Math.min(usual, Math.floor(maxTokens * shareOfThought))
  // With thinking, an answer to results must come after the sealed thought that asked for them. Other APIs return none.
  const last = messages.findLast(({ role }) => role === 'assistant')
  const lacksThought = messages.at(-1)?.role === 'tool' && last?.tool_calls?.length
  if (budget < minBudget || lacksThought) return { ...none, ignored: ['reasoning_effort'] }
  return enabled(budget)
}

/** Values that it accepts beside a thought. */
const besideThought: Readonly<Record<string, (value: number) => boolean>> = {
  temperature: (value) => value === 1,
  top_p: (value) => value >= 0.95,
  top_k: (value) => value <= 0,
}

/** Fields of sampling that would have a request refused, because an effort makes the model think. */
export function refusedBesideThought(body: AnswerRequest['body'] = {}, { thinking }: Thinking): string[] {
  if (thinking === undefined || 'thinking' in body || (thinking as { type?: unknown }).type === 'disabled')
    return []
  return Object.entries(besideThought).flatMap(([field, isAccepted]) =>
    body[field] != null && !isAccepted(Number(body[field])) ? [field] : [],
  )
}

const enabled = (tokens: number): Thinking => ({
  thinking: tokens === 0 ? { type: 'disabled' } : { type: 'enabled', budget_tokens: tokens },
  tokens,
  ignored: [],
})
