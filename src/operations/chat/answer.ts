import type { FinishReason, TokenLogprob } from '../../inference/backend.ts'
import type { Completion } from './completion.ts'
import type { ChatAnswer } from './contract.ts'
import { logprobsShown, promptLogprobsShown } from './logprobs.ts'
import { usageOf } from './usage.ts'

interface Choice {
  content: string
  tokens: number[]
  logprobs: TokenLogprob[]
  reason: FinishReason
  stop: string | number | null
}

/** The whole answer at once, when its last choice has ended. */
export async function answerOf(completion: Completion): Promise<ChatAnswer> {
  const { role, echo, wants, promptTokens } = completion
  const { id, ...about } = completion.head
  const choices = Array.from({ length: completion.choices }, (): Choice => {
    return { content: echo, tokens: [], logprobs: [], reason: 'stop', stop: null }
  })
  let cachedTokens = 0
  let promptLogprobs: ChatAnswer['prompt_logprobs']
  for await (const event of completion.events) {
    if (event.kind === 'prefilled') {
      cachedTokens = event.cachedTokens
      if (event.promptLogprobs) promptLogprobs = promptLogprobsShown(event.promptLogprobs, wants.tokensAsIds)
      continue
    }
    const choice = choices[event.choice] as Choice
    if (event.kind === 'finished') {
      choice.reason = event.reason
      choice.stop = event.stop
    } else {
      choice.content += event.text
      for (const token of event.tokens) choice.tokens.push(token)
      for (const one of event.logprobs ?? []) choice.logprobs.push(one)
    }
  }
  const completionTokens = choices.reduce((sum, { tokens }) => sum + tokens.length, 0)
  return {
    id,
    object: 'chat.completion',
    ...about,
    choices: choices.map(({ content, tokens, logprobs, reason, stop }, index) => ({
      index,
      message: { role, content, refusal: null },
      logprobs: wants.logprobs ? logprobsShown(logprobs, wants.tokensAsIds) : null,
      finish_reason: reason,
      stop_reason: stop,
      ...(wants.tokenIds && { token_ids: tokens }),
    })),
    usage: usageOf(promptTokens.length, completionTokens, cachedTokens),
    ...(wants.tokenIds && { prompt_token_ids: promptTokens }),
    ...(promptLogprobs && { prompt_logprobs: promptLogprobs }),
  }
}
