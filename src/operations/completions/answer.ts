import { batchesOf } from '../../domain/batches.ts'
import { JsonText } from '../../domain/json/text.ts'
import { inSteps } from '../../domain/yielding.ts'
import { createFold, type FoldedChoice } from '../generation/fold.ts'
import { limitCandidates, promptLogprobsWritten } from '../generation/logprobs.ts'
import type { PartialAnswer } from '../generation/recorded.ts'
import type { Completion } from './completion.ts'
import { candidatesOfPrompt } from './legacy-logprobs.ts'
import { type WrittenLogprobs, writeLogprobs } from './written-logprobs.ts'

/** Number of echoed tokens whose log-probabilities are written in one step. */
const tokensAtOnce = 32

/** The whole answer, assembled as its deltas come. */
export function createAnswer(completion: Completion, isStream: boolean): PartialAnswer {
  const { head, prompts, openings, shown } = completion
  const form = { asIds: shown.tokensAsIds }
  const candidateLimit = limitCandidates(completion.candidatesField, isStream)
  const promptLogprobs: JsonText[] = []
  const fold = createFold(completion, {
    candidateLimit,
    createLogprobs: () => writeLogprobs(form),
    async onPrompt({ input, logprobs }, answers: FoldedChoice<WrittenLogprobs>[]) {
      if (logprobs === undefined) return
      if (shown.promptLogprobs) promptLogprobs[input] = await promptLogprobsWritten(logprobs, form.asIds)
      if (!completion.echoLogprobs) return
      const tokens = prompts[input] ?? []
      const prompt = { firstToken: openings[input]?.firstToken ?? '', count: completion.logprobs ?? 0 }
      const echoed = writeLogprobs(form)
      await inSteps(batchesOf(tokens, tokensAtOnce), (some, index) => {
        const from = index * tokensAtOnce
        echoed.addEntries(candidatesOfPrompt(some, logprobs.slice(from, from + some.length), prompt))
      })
      for (const answer of answers) answer.logprobs = echoed.copy()
    },
  })
  const hasLogprobs = () => completion.logprobs !== undefined && !candidateLimit.isPassed
  return {
    add: fold.add,
    end() {
      const { choices, usage } = fold.end()
      return {
        ...head,
        choices: choices.map(({ content, tokens, logprobs, reason, stop }, index) => {
          const input = Math.floor(index / completion.choices)
          return {
            index,
            text: (openings[input]?.echo ?? '') + content,
            logprobs: hasLogprobs() ? logprobs.text() : null,
            finish_reason: reason,
            stop_reason: stop,
            ...(shown.tokenIds && {
              prompt_token_ids: new JsonText(JSON.stringify(prompts[input])),
              token_ids: new JsonText(JSON.stringify(tokens)),
            }),
            ...(promptLogprobs[input] && { prompt_logprobs: promptLogprobs[input] }),
          }
        }),
        usage,
      }
    },
    leftOut: () => (candidateLimit.isPassed ? ['logprobs'] : []),
  }
}
