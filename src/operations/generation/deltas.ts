import { type Parser, type Part, plainText } from '../../../packages/chat-format/index.ts'
import type {
  FinishReason,
  PredictionCounts,
  PromptLogprobs,
  TokenLogprob,
} from '../../../packages/engine/index.ts'
import type { AnswerEvent } from '../../inference/model.ts'

/** The next step of the answers to a request. Whole answers and streams are both made of these only. */
export type Delta = PromptDelta | ChoiceDelta

/** A prompt has been computed. Comes once for each prompt, before any delta of its choices. */
export interface PromptDelta {
  kind: 'prompt'
  /** Index among the request's prompts. */
  input: number
  cachedTokens: number
  logprobs?: PromptLogprobs
}

/** What one step adds to a choice. */
export interface ChoiceDelta {
  kind: 'choice'
  /** Counted over all prompts. */
  choice: number
  turnParts: Part[]
  tokens: number[]
  logprobs: TokenLogprob[]
  /** Number of tokens of its thought. */
  thought: number
  /** Tokens that are counted but not shown: their thought is hidden, or the remote server reports only their number. */
  hidden: number
  /** Present in the last delta. */
  finished?: { reason: FinishReason; stop: string | number | null }
  /** In the last delta, if the request had a prediction. */
  prediction?: PredictionCounts
}

export interface DeltaOptions {
  createParser?: (() => Parser) | undefined
  /** Leaves out thoughts, with their tokens and log-probabilities. */
  hidesThoughts?: boolean
  /** Shows the seals of thoughts, for clients that send them back. */
  showsSeals?: boolean
  /** Makes one delta for each token, for callers to whom it matters which part each token belongs to. */
  eachToken?: boolean
}

/**
 * The only place where events become deltas. `createParser` makes the parser that separates the parts of a choice's
 * text. All that a choice has to say at once is one delta, so that a slow reader gets few large ones.
 */
export function createDeltas({
  createParser,
  hidesThoughts = false,
  showsSeals = false,
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
    for (const logprob of logprobs ?? []) delta.logprobs.push(logprob)
  }
  const addSaid = (delta: ChoiceDelta, event: Extract<AnswerEvent, { kind: 'said' }>): void => {
    const isThought = event.deltas.some(({ kind }) => kind === 'reasoning')
    delta.turnParts.push(...shown(event.deltas))
    addTokens(delta, event, isThought)
    const untold = event.count - event.tokens.length
    delta.hidden += untold
    if (isThought) delta.thought += untold
  }
  const isShown = (piece: Part) =>
    piece.kind !== 'reasoning' || (!hidesThoughts && (showsSeals || piece.seal === undefined))
  const shown = (all: Part[]) => (all.every(isShown) ? all : all.filter(isShown))
  return (group) => {
    const deltas: Delta[] = []
    const open = new Map<number, ChoiceDelta>()
    const deltaOf = (choice: number): ChoiceDelta => {
      let delta = eachToken ? undefined : open.get(choice)
      if (delta === undefined) {
        delta = { kind: 'choice', choice, turnParts: [], tokens: [], logprobs: [], thought: 0, hidden: 0 }
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
        const rest = parser.end()
        const isThought = rest.some(({ kind }) => kind === 'reasoning')
        for (const early of reader.undecided ?? []) addTokens(delta, early, isThought)
        delta.turnParts.push(...shown(rest))
        delta.finished = { reason: event.reason, stop: event.stop }
        if (event.prediction) delta.prediction = event.prediction
        continue
      }
      for (const piece of createParser === undefined && !eachToken ? [event] : piecesOf(event)) {
        const delta = deltaOf(choice)
        const wasThinking = parser.isThinking
        const parsed = parser.push(piece.text)
        delta.turnParts.push(...shown(parsed))
        // The marks around a thought count as part of it.
        const isThought = wasThinking || parser.isThinking
        const { undecided } = reader
        if (undecided !== undefined) {
          const isHeld = piece.text !== '' || undecided.length > 0
          if (isHeld && !isThought && parsed.length === 0) {
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

/**
 * Splits the event into single tokens with their texts, so that counts do not depend on how many tokens came at once.
 */
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
  /** The start of the answer, as long as it may still become the opening mark of a thought. */
  undecided: TokensEvent[] | undefined
}

type TokensEvent = Extract<AnswerEvent, { kind: 'tokens' }>

/** The text of the parts that is content. */
export function contentOf(turnParts: readonly Part[]): string {
  let content = ''
  for (const turnPart of turnParts) if (turnPart.kind === 'content') content += turnPart.text
  return content
}

/**
 * Holds the deltas of a choice back until they have so many tokens. The first and the last are passed on at once, so a
 * reader sees when an answer begins, and nothing is left at its end.
 */
export async function* grouped(groups: AsyncIterable<Delta[]>, interval: number): AsyncGenerator<Delta[]> {
  if (interval <= 1) return yield* groups
  const held = new Map<number, ChoiceDelta>()
  const begun = new Set<number>()
  for await (const group of groups) {
    const due: Delta[] = []
    for (const delta of group) {
      if (delta.kind === 'prompt') {
        due.push(delta)
        continue
      }
      const { choice } = delta
      const joined = joinedTo(held.get(choice), delta)
      const tokens = joined.tokens.length + joined.hidden
      if (tokens < interval && begun.has(choice) && !joined.finished) held.set(choice, joined)
      else {
        held.delete(choice)
        begun.add(choice)
        due.push(joined)
      }
    }
    if (due.length > 0) yield due
  }
}

/** Appends in place: a copy for each delta would cost the square of what is held. */
function joinedTo(earlier: ChoiceDelta | undefined, delta: ChoiceDelta): ChoiceDelta {
  const { turnParts = [], tokens = [], logprobs = [], thought = 0, hidden = 0 } = earlier ?? {}
  for (const turnPart of delta.turnParts) turnParts.push(turnPart)
  for (const token of delta.tokens) tokens.push(token)
  for (const logprob of delta.logprobs) logprobs.push(logprob)
  return {
    ...delta,
    turnParts,
    tokens,
    logprobs,
    thought: thought + delta.thought,
    hidden: hidden + delta.hidden,
  }
}
