import type { AnswerRequest } from '../../model.ts'
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
  if (turn?.thinkingBudget !== undefined) return enabled(turn.thinkingBudget.tokens)
  const effort = reasoningEffort ?? (thinks === undefined ? undefined : thinks ? 'medium' : 'none')
  if (effort === undefined) return none
  if (effort === 'none') return enabled(0)
  if (thinksAdaptively) {
    return { ...none, thinking: { type: 'adaptive' }, effort: effort === 'minimal' ? 'low' : effort }
  }
  const maxTokens = ending.maxTokens ?? maxListed
  const usual = budgets[effort] ?? minBudget
  const budget = maxTokens === undefined ? usual : Math.min(usual, Math.floor(maxTokens * shareOfThought))
  // With thinking, an answer to results must come after the sealed thought that asked for them.
  const last = messages.findLast(({ role }) => role === 'assistant')
  const lacksThought =
    messages.at(-1)?.role === 'tool' && last?.tool_calls?.length && last.sealed === undefined
  if (budget < minBudget || lacksThought) return { ...none, ignored: ['reasoning_effort'] }
  return enabled(budget)
}

const enabled = (tokens: number): Thinking => ({
  thinking: tokens === 0 ? { type: 'disabled' } : { type: 'enabled', budget_tokens: tokens },
  tokens,
  ignored: [],
})
