import type { FinishReason, PredictionCounts, PromptLogprobs, TokenLogprob } from '../../inference/backend.ts'
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
  /** Tokens that are counted and not shown: their thought is hidden, or the server that drew them tells their number alone. */
  hidden: number
  /** Present in the last one. */
  finished?: { reason: FinishReason; stop: string | number | null }
  /** In the last one, where the request foretold it. */
  prediction?: PredictionCounts
}

export interface DeltaOptions {
  createParser?: (() => Parser) | undefined
  /** Leaves out thoughts, with their tokens and log-probabilities. */
  hidesThoughts?: boolean
  /** A delta for each token, where what a token is of must not depend on how many have come at once. */
  eachToken?: boolean
}

/**
 * Events become deltas here, and nowhere else: `createParser` makes what tells the parts of a choice's text apart. All that a
 * choice has to say at once is one delta, so that a slow reader gets few large ones.
 */
export function createDeltas({
  createParser,
  hidesThoughts = false,
  eachToken = false,
}: DeltaOptions = {}): (group: readonly AnswerEvent[]) => Delta[] {
  const readers = new Map<number, Reader>()
  const readerOf = (choice: number): Reader => {
    let reader = readers.get(choice)
    if (reader === undefined) {
      reader = { parser: createParser?.() ?? plainText, undecided: createParser && [] }
      readers.set(choice, reader)
    }
    return reader
  }
  const addTokens = (
    delta: ChoiceDelta,
    { tokens, logprobs }: Pick<TokensEvent, 'tokens' | 'logprobs'>,
    isThought: boolean,
  ): void => {
    if (isThought) delta.thought += tokens.length
    if (isThought && hidesThoughts) {
      delta.hidden += tokens.length
      return
    }
    for (const token of tokens) delta.tokens.push(token)
    for (const one of logprobs ?? []) delta.logprobs.push(one)
  }
  const addSaid = (delta: ChoiceDelta, event: Extract<AnswerEvent, { kind: 'said' }>): void => {
    const isThought = event.parts.some(({ kind }) => kind === 'reasoning')
    delta.parts.push(...shown(event.parts))
    addTokens(delta, event, isThought)
    const untold = event.count - event.tokens.length
    delta.hidden += untold
    if (isThought) delta.thought += untold
  }
  const shown = (parts: Part[]) => (hidesThoughts ? parts.filter(({ kind }) => kind !== 'reasoning') : parts)
  return (group) => {
    const deltas: Delta[] = []
    const open = new Map<number, ChoiceDelta>()
    const deltaOf = (choice: number): ChoiceDelta => {
      let delta = eachToken ? undefined : open.get(choice)
      if (delta === undefined) {
        delta = { kind: 'choice', choice, parts: [], tokens: [], logprobs: [], thought: 0, hidden: 0 }
        open.set(choice, delta)
        deltas.push(delta)
      }
      return delta
    }
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
      if (event.kind === 'said') {
        addSaid(deltaOf(choice), event)
        continue
      }
      const reader = readerOf(choice)
      const { parser } = reader
      if (event.kind === 'finished') {
        const delta = deltaOf(choice)
        const parts = parser.end()
        const isThought = parts.some(({ kind }) => kind === 'reasoning')
        for (const early of reader.undecided ?? []) addTokens(delta, early, isThought)
        delta.parts.push(...shown(parts))
        delta.finished = { reason: event.reason, stop: event.stop }
        if (event.prediction) delta.prediction = event.prediction
        continue
      }
      for (const piece of createParser === undefined && !eachToken ? [event] : piecesOf(event)) {
        const delta = deltaOf(choice)
        const wasThinking = parser.isThinking
        const parts = parser.push(piece.text)
        delta.parts.push(...shown(parts))
        // The marks around a thought belong to it.
        const isThought = wasThinking || parser.isThinking
        const { undecided } = reader
        if (undecided !== undefined) {
          const isHeld = piece.text !== '' || undecided.length > 0
          if (isHeld && !isThought && parts.length === 0) {
            undecided.push(piece)
            continue
          }
          for (const early of undecided) addTokens(delta, early, isThought)
          if (isHeld) reader.undecided = undefined
        }
        addTokens(delta, piece, isThought)
      }
    }
    return deltas
  }
}

/** Each token with its text, so that what is counted does not depend on how many have come at once. */
function piecesOf(event: TokensEvent): TokensEvent[] {
  const { text, tokens, logprobs, ends } = event
  if (ends === undefined) return [event]
  return tokens.map((token, index) => ({
    ...event,
    text: text.slice(index === 0 ? 0 : ends[index - 1], ends[index]),
    tokens: [token],
    ...(logprobs && { logprobs: logprobs.slice(index, index + 1) }),
  }))
}

interface Reader {
  parser: Parser
  /** What the answer begins with, as long as that may become the mark of a thought. */
  undecided: TokensEvent[] | undefined
}

type TokensEvent = Extract<AnswerEvent, { kind: 'tokens' }>

/** What of the text is content. */
export function contentOf(parts: readonly Part[]): string {
  let content = ''
  for (const part of parts) if (part.kind === 'content') content += part.text
  return content
}
