import type { TokenLogprob } from '../../../packages/engine/index.ts'
import { inSteps } from '../../../packages/waiting/index.ts'
import { batchesOf } from '../../domain/batches.ts'
import { JsonText } from '../../domain/json/text.ts'
import { createFold, type FoldedChoice } from '../generation/fold.ts'
import { limitCandidates, promptLogprobsWritten } from '../generation/logprobs.ts'
import type { PartialAnswer } from '../generation/recorded.ts'
import { metricsMember } from '../generation/request-metrics.ts'
import type { Completion } from './completion.ts'
import {
  candidatesOfAnswer,
  candidatesOfPrompt,
  type LogprobsForm,
  legacyLogprobs,
  type TokenWithCandidates,
} from './legacy-logprobs.ts'

/** Written as they come: together they may be many megabytes, which would block the loop at the end. */
interface WrittenLogprobs {
  add(logprobs: readonly TokenLogprob[]): void
  addEntries(judged: readonly TokenWithCandidates[]): void
  /** A copy with the same beginning, for another answer to the same prompt. */
  copy(): WrittenLogprobs
  text(): JsonText
}

const columns = ['tokens', 'token_logprobs', 'top_logprobs', 'text_offset'] as const

type Columns = Record<(typeof columns)[number], string[]>

function writeLogprobs(
  form: LogprobsForm,
  begun: Columns = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] },
  characters = 0,
): WrittenLogprobs {
  const length = { characters }
  function addEntries(judged: readonly TokenWithCandidates[]): void {
    if (judged.length === 0) return
    const shown = legacyLogprobs(judged, form, length)
    for (const name of columns) begun[name].push(JSON.stringify(shown[name]).slice(1, -1))
  }
  return {
    add: (logprobs) => addEntries(candidatesOfAnswer(logprobs)),
    addEntries,
    copy() {
      const { tokens, token_logprobs, top_logprobs, text_offset } = begun
      const copied = {
        tokens: tokens.slice(),
        token_logprobs: token_logprobs.slice(),
        top_logprobs: top_logprobs.slice(),
        text_offset: text_offset.slice(),
      }
      return writeLogprobs(form, copied, length.characters)
    },
    text: () => new JsonText(`{${columns.map((name) => `"${name}":[${begun[name].join(',')}]`).join(',')}}`),
  }
}

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
        ...metricsMember(completion),
      }
    },
    leftOut: () => (candidateLimit.isPassed ? ['logprobs'] : []),
  }
}
