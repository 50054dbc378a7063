import type { GenerationEvent, TokenLogprob } from '../../inference/backend.ts'
import type { Completion } from './completion.ts'
import type { ChatChunk } from './contract.ts'
import { logprobShown } from './logprobs.ts'
import { usageOf } from './usage.ts'

type ChunkChoice = ChatChunk['choices'][number]

/** What one choice has to say at once. */
interface Piece {
  text: string
  tokens: number[]
  logprobs: TokenLogprob[]
  finished?: Extract<GenerationEvent, { kind: 'finished' }>
}

/**
 * The answer piece by piece: for each choice who speaks, then its words, and with the last of them why it ended. Choices
 * come mixed, each chunk with exactly one.
 */
export async function* chunksOf(completion: Completion): AsyncGenerator<ChatChunk> {
  const { role, echo, wants, promptTokens } = completion
  const { id, ...about } = completion.head
  const counts = new Array<number>(completion.choices).fill(0)
  let cachedTokens = 0

  const chunk = (index: number, delta: ChunkChoice['delta'], rest: Partial<ChunkChoice> = {}): ChatChunk => ({
    id,
    object: 'chat.completion.chunk',
    ...about,
    choices: [{ index, delta, logprobs: null, finish_reason: null, ...rest }],
    ...(wants.runningUsage && { usage: usageOf(promptTokens.length, counts[index] ?? 0, cachedTokens) }),
  })

  function* openings(): Generator<ChatChunk> {
    for (const index of counts.keys()) {
      const opening = chunk(index, { role, content: '' })
      // Once is enough: it is the same prompt for all of them.
      yield index === 0 && wants.tokenIds ? { ...opening, prompt_token_ids: promptTokens } : opening
    }
    if (echo === '') return
    for (const index of counts.keys()) yield chunk(index, { content: echo })
  }

  for await (const group of completion.events) {
    const pieces = new Map<number, Piece>()
    for (const event of group) {
      if (event.kind === 'prefilled') {
        cachedTokens = event.cachedTokens
        yield* openings()
        continue
      }
      const piece = pieces.get(event.choice) ?? { text: '', tokens: [], logprobs: [] }
      pieces.set(event.choice, piece)
      if (event.kind === 'finished') piece.finished = event
      else {
        piece.text += event.text
        for (const token of event.tokens) piece.tokens.push(token)
        for (const one of event.logprobs ?? []) piece.logprobs.push(one)
      }
    }
    for (const [index, { text, tokens, logprobs, finished }] of pieces) {
      counts[index] = (counts[index] ?? 0) + tokens.length
      const carries = (wants.logprobs || wants.tokenIds) && tokens.length > 0
      // What is held back for now comes with later words.
      if (text === '' && !carries && !finished) continue
      yield chunk(index, text === '' ? {} : { content: text }, {
        ...(wants.logprobs && {
          logprobs: { content: logprobs.map((one) => logprobShown(one, wants.tokensAsIds)) },
        }),
        ...(finished && { finish_reason: finished.reason, stop_reason: finished.stop }),
        ...(wants.tokenIds && { token_ids: tokens }),
      })
    }
  }
  if (wants.usage) {
    const completionTokens = counts.reduce((sum, count) => sum + count, 0)
    const usage = usageOf(promptTokens.length, completionTokens, cachedTokens)
    yield { id, object: 'chat.completion.chunk', ...about, choices: [], usage }
  }
}
