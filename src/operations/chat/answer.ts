import { JsonText } from '../../domain/json/text.ts'
import { type FoldedCall, fold } from '../generation/fold.ts'
import { logprobShown, promptLogprobsWritten } from '../generation/logprobs.ts'
import type { ChatCompletion } from './completion.ts'
import { finishOf, messageOf } from './message.ts'

/** The whole answer at once, when its last choice has ended. */
export async function answerOf(completion: ChatCompletion): Promise<object> {
  const { id, head, role, echo, shown } = completion
  let promptLogprobs: JsonText | undefined
  const { choices, usage } = await fold(completion, {
    logprobsField: 'top_logprobs',
    createLogprobs: () => logprobsWriter(shown.tokensAsIds),
    async onPrompt({ logprobs }) {
      if (logprobs) promptLogprobs = await promptLogprobsWritten(logprobs, shown.tokensAsIds)
    },
  })
  return {
    id,
    object: 'chat.completion',
    ...head,
    choices: choices.map(({ tokens, logprobs, reason, stop, ...turn }, index) => ({
      index,
      message: { role, ...messageOf({ ...turn, content: echo + turn.content }, completion.callForm) },
      logprobs: completion.logprobs ? { content: logprobs.text() } : null,
      finish_reason: finishOf(reason, countOf(turn.calls), completion),
      stop_reason: stop,
      ...(shown.tokenIds && { token_ids: new JsonText(JSON.stringify(tokens)) }),
    })),
    usage,
    ...(shown.tokenIds && { prompt_token_ids: new JsonText(JSON.stringify(completion.prompts[0])) }),
    ...(promptLogprobs && { prompt_logprobs: promptLogprobs }),
  }
}

const countOf = (calls: readonly FoldedCall[]) => ({
  begun: calls.length,
  ended: calls.filter(({ isComplete }) => isComplete).length,
})

function logprobsWriter(asIds: boolean) {
  const texts: string[] = []
  return {
    add(given: Parameters<typeof logprobShown>[0][]) {
      for (const one of given) texts.push(JSON.stringify(logprobShown(one, asIds)))
    },
    text: () => new JsonText(`[${texts.join(',')}]`),
  }
}
