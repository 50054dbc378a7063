import type { Candidate, PromptLogprobs, TokenLogprob } from '../../../packages/engine/index.ts'
import { textOf } from '../generation/logprobs.ts'
import type { LegacyLogprobs } from './contract.ts'

/** A token with its log-probability and rivals. The first token of a prompt has only its text. */
export interface TokenWithCandidates {
  token: number
  text: string
  /** Number of characters that begin in it. A character that spans several tokens has its text in none of them. */
  characters: number
  logprob: number | null
  top: Candidate[] | null
}

export interface LogprobsForm {
  /** Writes tokens as `token_id:<id>`. */
  asIds: boolean
}

interface EchoedPrompt {
  /** The text of the prompt's first token. */
  firstToken: string
  /** Rivals of each token. */
  count: number
}

/** State between the chunks of an answer: the length of its text so far. */
export type TextLength = { characters: number }

export function candidatesOfAnswer(logprobs: readonly TokenLogprob[]): TokenWithCandidates[] {
  return logprobs.map(({ token, bytes, logprob, top }) => {
    return { token, text: textOf(bytes), characters: charactersOf(bytes), logprob, top }
  })
}

export function candidatesOfPrompt(
  tokens: readonly number[],
  logprobs: PromptLogprobs,
  { firstToken: first, count }: EchoedPrompt,
): TokenWithCandidates[] {
  return tokens.map((token, index) => {
    const candidates = logprobs[index] ?? null
    const own = candidates?.find((candidate) => candidate.token === token)
    const text = own === undefined ? first : textOf(own.bytes)
    const characters = own === undefined ? Array.from(first).length : charactersOf(own.bytes)
    const top = candidates?.toSorted((a, b) => b.logprob - a.logprob).slice(0, count) ?? null
    return { token, text, characters, logprob: own?.logprob ?? null, top }
  })
}

/** In UTF-8 a character begins at each byte that is not a continuation byte. */
function charactersOf(bytes: Uint8Array): number {
  let characters = 0
  for (const byte of bytes) if ((byte & 0xc0) !== 0x80) characters++
  return characters
}

/** Four parallel lists, the form of the first version of this operation. */
export function legacyLogprobs(
  tokens: readonly TokenWithCandidates[],
  { asIds }: LogprobsForm,
  length: TextLength,
): LegacyLogprobs {
  const shown: LegacyLogprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] }
  const named = (token: number, text: string) => (asIds ? `token_id:${token}` : text)
  for (const { token, text, characters, logprob, top } of tokens) {
    shown.tokens.push(named(token, text))
    shown.token_logprobs.push(logprob)
    shown.text_offset.push(length.characters)
    length.characters += characters
    if (top === null || logprob === null) {
      shown.top_logprobs.push(null)
      continue
    }
    // The token itself is always included. If two have the same text, the likelier one counts.
    const entries: [string, number][] = [[named(token, text), logprob]]
    for (const rival of top) entries.push([named(rival.token, textOf(rival.bytes)), rival.logprob])
    const likeliest = new Map<string, number>()
    for (const [name, value] of entries.toSorted(([, a], [, b]) => b - a)) {
      if (!likeliest.has(name)) likeliest.set(name, value)
    }
    shown.top_logprobs.push(Object.fromEntries(likeliest))
  }
  return shown
}
