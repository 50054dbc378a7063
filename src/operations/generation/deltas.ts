import type { FinishReason, PromptLogprobs, TokenLogprob } from '../../inference/backend.ts'
import type { AnswerEvent } from '../../inference/model.ts'
import { type Parser, type Part, plainText } from '../../inference/parts.ts'

/** What comes next in the answers of a request. Whole answers and streams are both made of these, and of nothing else. */
export type Delta = PromptDelta | ChoiceDelta

/** A prompt has been read. Comes once for each, before anything of its choices. */
export interface PromptDelta {
  kind: 'prompt'
  /** Which of the request's prompts. */
  input: number
  cachedTokens: number
  logprobs?: PromptLogprobs
}

/** What one choice adds to its answer. */
export interface ChoiceDelta {
  kind: 'choice'
  /** Counted over all prompts. */
  choice: number
  parts: Part[]
  tokens: number[]
  logprobs: TokenLogprob[]
  /** Tokens of its thought. */
  thought: number
  /** Tokens that are counted and not shown, because the thought is hidden. */
  hidden: number
  /** Present in the last one. */
  finished?: { reason: FinishReason; stop: string | number | null }
}

interface DeltaOptions {
  createParser?: (() => Parser) | undefined
  /** Leaves out thoughts, with their tokens and log-probabilities. */
  hidesThoughts?: boolean
}

/**
 * Events become deltas here, and nowhere else: `createParser` makes what tells the parts of a choice's text apart. All that a
 * choice has to say at once is one delta, so that a slow reader gets few large ones.
 */
export async function* deltasOf(
  events: AsyncIterable<AnswerEvent[]>,
  { createParser = () => plainText, hidesThoughts = false }: DeltaOptions = {},
): AsyncGenerator<Delta[]> {
  const parsers = new Map<number, Parser>()
  const parserOf = (choice: number): Parser => {
    const parser = parsers.get(choice) ?? createParser()
    parsers.set(choice, parser)
    return parser
  }
  const shown = (parts: Part[]) => (hidesThoughts ? parts.filter(({ kind }) => kind !== 'reasoning') : parts)
  for await (const group of events) {
    const deltas: Delta[] = []
    const open = new Map<number, ChoiceDelta>()
    for (const event of group) {
      if (event.kind === 'prefilled') {
        const { input, cachedTokens, promptLogprobs } = event
        deltas.push({
          kind: 'prompt',
          input,
          cachedTokens,
          ...(promptLogprobs && { logprobs: promptLogprobs }),
        })
        continue
      }
      const { choice } = event
      let delta = open.get(choice)
      if (delta === undefined) {
        delta = { kind: 'choice', choice, parts: [], tokens: [], logprobs: [], thought: 0, hidden: 0 }
        open.set(choice, delta)
        deltas.push(delta)
      }
      const parser = parserOf(choice)
      if (event.kind === 'finished') {
        delta.parts.push(...shown(parser.end()))
        delta.finished = { reason: event.reason, stop: event.stop }
        continue
      }
      const wasThinking = parser.isThinking
      delta.parts.push(...shown(parser.push(event.text)))
      // The marks around a thought belong to it.
      if (wasThinking || parser.isThinking) {
        delta.thought += event.tokens.length
        if (hidesThoughts) {
          delta.hidden += event.tokens.length
          continue
        }
      }
      for (const token of event.tokens) delta.tokens.push(token)
      for (const one of event.logprobs ?? []) delta.logprobs.push(one)
    }
    yield deltas
  }
}

/** What of the text is content. */
export function contentOf(parts: readonly Part[]): string {
  let content = ''
  for (const part of parts) if (part.kind === 'content') content += part.text
  return content
}
