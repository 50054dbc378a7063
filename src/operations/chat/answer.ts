import { JsonText } from '../../domain/json/text.ts'
import { createFold, type FoldedCall } from '../generation/fold.ts'
import { limitCandidates, logprobShown, promptLogprobsWritten } from '../generation/logprobs.ts'
import type { PartialAnswer } from '../generation/recorded.ts'
import type { ChatCompletion } from './completion.ts'
import { finishOf, messageOf } from './message.ts'

/** The whole answer, assembled as its deltas come. */
export function createAnswer(completion: ChatCompletion, isStream: boolean): PartialAnswer {
  const { id, head, role, echo, shown } = completion
  const candidateLimit = limitCandidates(completion.candidatesField, isStream)
  let promptLogprobs: JsonText | undefined
  const fold = createFold(completion, {
    candidateLimit,
    createLogprobs: () => logprobsWriter(shown.tokensAsIds),
    async onPrompt({ logprobs }) {
      if (logprobs) promptLogprobs = await promptLogprobsWritten(logprobs, shown.tokensAsIds)
    },
  })
  const hasLogprobs = () => completion.logprobs && !candidateLimit.isPassed
  return {
    add: fold.add,
    end() {
      const { choices, usage } = fold.end()
      return {
        id,
        object: 'chat.completion',
        ...head,
        choices: choices.map(({ tokens, logprobs, reason, stop, ...turn }, index) => ({
          index,
          message: { role, ...messageOf({ ...turn, content: echo + turn.content }, completion.callForm) },
          logprobs: hasLogprobs() ? { content: logprobs.text() } : null,
          finish_reason: reason && finishOf(reason, countOf(turn.calls), completion),
          stop_reason: stop,
          ...(shown.tokenIds && { token_ids: new JsonText(JSON.stringify(tokens)) }),
        })),
        usage,
        ...(shown.tokenIds && { prompt_token_ids: new JsonText(JSON.stringify(completion.prompts[0])) }),
        ...(shown.promptText && { prompt_text: completion.promptTexts?.[0] }),
        ...(promptLogprobs && { prompt_logprobs: promptLogprobs }),
      }
    },
    leftOut: () => (candidateLimit.isPassed ? ['logprobs'] : []),
  }
}

const countOf = (calls: readonly FoldedCall[]) => ({
  begun: calls.length,
  ended: calls.filter(({ isComplete }) => isComplete).length,
})

function logprobsWriter(asIds: boolean) {
  const texts: string[] = []
  return {
    add(logprobs: Parameters<typeof logprobShown>[0][]) {
      for (const logprob of logprobs) texts.push(JSON.stringify(logprobShown(logprob, asIds)))
    },
    text: () => new JsonText(`[${texts.join(',')}]`),
  }
}
