import { contentOf } from '../generation/deltas.ts'
import { logprobShown } from '../generation/logprobs.ts'
import { createTally } from '../generation/usage.ts'
import type { ChatCompletion } from './completion.ts'
import type { ChatChunk } from './contract.ts'

type ChunkChoice = ChatChunk['choices'][number]

/**
 * The answer piece by piece: for each choice its role, then its text, and with the last of it why it ended. Choices come
 * mixed, each chunk with exactly one.
 */
export async function* chunksOf(completion: ChatCompletion): AsyncGenerator<ChatChunk> {
  const { head, role, echo, logprobs: withLogprobs, shown } = completion
  const about = { id: completion.id, object: 'chat.completion.chunk' as const, ...head }
  const tally = createTally(completion)

  const chunk = (index: number, delta: ChunkChoice['delta'], rest: Partial<ChunkChoice> = {}): ChatChunk => ({
    ...about,
    choices: [{ index, delta, logprobs: null, finish_reason: null, ...rest }],
    ...(shown.runningUsage && { usage: tally.ofChoice(index) }),
  })

  function* openings(): Generator<ChatChunk> {
    for (let index = 0; index < completion.choices; index++) {
      const opening = chunk(index, { role, content: '' })
      // Once is enough: all choices have the same prompt.
      const [prompt] = completion.prompts
      yield index === 0 && shown.tokenIds && prompt ? { ...opening, prompt_token_ids: prompt } : opening
    }
    if (echo === '') return
    for (let index = 0; index < completion.choices; index++) yield chunk(index, { content: echo })
  }

  for await (const group of completion.deltas) {
    for (const delta of group) {
      tally.add(delta)
      if (delta.kind === 'prompt') {
        yield* openings()
        continue
      }
      const { choice, tokens, logprobs, finished } = delta
      const content = contentOf(delta.parts)
      const carries = (withLogprobs || shown.tokenIds) && tokens.length > 0
      // Text that is held back comes with a later chunk.
      if (content === '' && !carries && !finished) continue
      yield chunk(choice, content === '' ? {} : { content }, {
        ...(withLogprobs && {
          logprobs: { content: logprobs.map((one) => logprobShown(one, shown.tokensAsIds)) },
        }),
        ...(finished && { finish_reason: finished.reason, stop_reason: finished.stop }),
        ...(shown.tokenIds && { token_ids: tokens }),
      })
    }
  }
  if (shown.usage) yield { ...about, choices: [], usage: tally.total() }
}
