import type { Conversation } from '../../../packages/chat-format/index.ts'
import { wrong } from '../../domain/refusals.ts'
import type { TurnAsked } from '../../inference/model.ts'
import type { CountTokensBody } from './contract.ts'

type ThinkingFields = Pick<CountTokensBody, 'thinking' | 'output_config'>

/** Anthropic's models do not think unless asked to: a client that does not ask expects a short answer at once. */
export function thinkingOf({
  thinking,
  output_config,
}: ThinkingFields): Pick<Conversation, 'thinks' | 'reasoningEffort'> {
  return {
    thinks: thinking != null && thinking.type !== 'disabled',
    reasoningEffort: output_config?.effort,
  }
}

/** Clients cannot leave it out, and a model without thoughts needs no limit for them. */
export function budgetOf({ thinking }: ThinkingFields): TurnAsked['thinkingBudget'] {
  if (thinking?.type !== 'enabled') return undefined
  if (thinking.budget_tokens == null) {
    throw wrong('thinking.budget_tokens', 'nothing', 'the maximum number of tokens of a thought')
  }
  return { tokens: thinking.budget_tokens, field: 'thinking.budget_tokens', isOptional: true }
}
