import { JsonText } from '../../domain/json/text.ts'
import type { TokenLogprob } from '../../inference/backend.ts'
import {
  candidatesOfAnswer,
  type LogprobsForm,
  legacyLogprobs,
  type TokenWithCandidates,
} from './legacy-logprobs.ts'

/** Written as they come: together they may be many megabytes, which would block the loop at the end. */
export interface WrittenLogprobs {
  add(logprobs: readonly TokenLogprob[]): void
  addEntries(judged: readonly TokenWithCandidates[]): void
  /** A copy with the same beginning, for another answer to the same prompt. */
  copy(): WrittenLogprobs
  text(): JsonText
}

const columns = ['tokens', 'token_logprobs', 'top_logprobs', 'text_offset'] as const

type Columns = Record<(typeof columns)[number], string[]>

export function writeLogprobs(
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
