import { JsonText } from '../../domain/json/text.ts'
import type { FinishReason, GenerationEvent } from '../../inference/backend.ts'
import { checkCandidates } from './candidates.ts'
import type { Completion } from './completion.ts'
import { logprobShown, promptLogprobsWritten } from './logprobs.ts'
import { usageOf } from './usage.ts'

interface Choice {
  content: string
  tokens: number[]
  /** Written as they come: together they may be many megabytes, and would hold everyone else up in the end. */
  logprobs: string[]
  reason: FinishReason
  stop: string | number | null
}

/** The whole answer at once, when its last choice has ended. */
export async function answerOf(completion: Completion): Promise<object> {
  const { role, echo, wants, promptTokens } = completion
  const { id, ...about } = completion.head
  const choices = Array.from({ length: completion.choices }, (): Choice => {
    return { content: echo, tokens: [], logprobs: [], reason: 'stop', stop: null }
  })
  let cachedTokens = 0
  let candidates = 0
  let promptLogprobs: JsonText | undefined
  async function take(event: GenerationEvent): Promise<void> {
    if (event.kind === 'prefilled') {
      cachedTokens = event.cachedTokens
      if (event.promptLogprobs)
        promptLogprobs = await promptLogprobsWritten(event.promptLogprobs, wants.tokensAsIds)
      return
    }
    const choice = choices[event.choice] as Choice
    if (event.kind === 'finished') {
      choice.reason = event.reason
      choice.stop = event.stop
      return
    }
    choice.content += event.text
    for (const token of event.tokens) choice.tokens.push(token)
    for (const one of event.logprobs ?? []) {
      candidates += 1 + one.top.length
      choice.logprobs.push(JSON.stringify(logprobShown(one, wants.tokensAsIds)))
    }
    checkCandidates('top_logprobs', candidates)
  }

  for await (const group of completion.events) for (const event of group) await take(event)
  const completionTokens = choices.reduce((sum, { tokens }) => sum + tokens.length, 0)
  return {
    id,
    object: 'chat.completion',
    ...about,
    choices: choices.map(({ content, tokens, logprobs, reason, stop }, index) => ({
      index,
      message: { role, content, refusal: null },
      logprobs: wants.logprobs ? { content: listOf(logprobs) } : null,
      finish_reason: reason,
      stop_reason: stop,
      ...(wants.tokenIds && { token_ids: new JsonText(JSON.stringify(tokens)) }),
    })),
    usage: usageOf(promptTokens.length, completionTokens, cachedTokens),
    ...(wants.tokenIds && { prompt_token_ids: new JsonText(JSON.stringify(promptTokens)) }),
    ...(promptLogprobs && { prompt_logprobs: promptLogprobs }),
  }
}

const listOf = (texts: readonly string[]) => new JsonText(`[${texts.join(',')}]`)
