import { contentOf, type PromptDelta } from '../generation/deltas.ts'
import { metricsMember } from '../generation/request-metrics.ts'
import { createTally } from '../generation/usage.ts'
import type { Completion } from './completion.ts'
import type { CompletionChunk } from './contract.ts'
import { candidatesOfAnswer, candidatesOfPrompt, legacyLogprobs, type TextLength } from './legacy-logprobs.ts'

type ChunkChoice = CompletionChunk['choices'][number]

/** The answers in chunks, interleaved, each chunk with exactly one choice; the echo of a prompt comes first. */
export async function* chunksOf(completion: Completion): AsyncGenerator<CompletionChunk> {
  const { head, prompts, choices, openings, shown } = completion
  const tally = createTally(completion)
  const lengths = Array.from({ length: prompts.length * choices }, (): TextLength => ({ characters: 0 }))
  /** Choices that have not ended. */
  let open = lengths.length
  const form = { asIds: shown.tokensAsIds }

  const chunk = (choice: Omit<ChunkChoice, 'logprobs'> & Partial<ChunkChoice>): CompletionChunk => ({
    ...head,
    choices: [{ logprobs: null, ...choice }],
    ...(shown.runningUsage && { usage: tally.ofChoice(choice.index) }),
  })

  // No generator: see the chunks of a chat completion.
  function echoes({ input, logprobs }: PromptDelta): CompletionChunk[] {
    const { echo, firstToken } = openings[input] ?? { echo: '', firstToken: '' }
    const tokens = prompts[input] ?? []
    const chunks: CompletionChunk[] = []
    if (echo === '' && !shown.tokenIds) return chunks
    for (let index = input * choices; index < (input + 1) * choices; index++) {
      const judged =
        completion.echoLogprobs && logprobs
          ? candidatesOfPrompt(tokens, logprobs, { firstToken, count: completion.logprobs ?? 0 })
          : undefined
      const echoed = chunk({
        index,
        text: echo,
        ...(judged && { logprobs: legacyLogprobs(judged, form, lengths[index] as TextLength) }),
        finish_reason: null,
        ...(shown.tokenIds && { prompt_token_ids: tokens, token_ids: [] }),
      })
      chunks.push(echoed)
    }
    return chunks
  }

  for await (const group of completion.deltas) {
    for (const delta of group) {
      tally.add(delta)
      if (delta.kind === 'prompt') {
        yield* echoes(delta)
        continue
      }
      const { choice: index, tokens, logprobs, finished } = delta
      const text = contentOf(delta.turnParts)
      const carries = (completion.logprobs !== undefined || shown.tokenIds) && tokens.length > 0
      // Text that is held back comes with a later chunk.
      if (text === '' && !carries && !finished) continue
      if (finished) open--
      const next = chunk({
        index,
        text,
        ...(completion.logprobs !== undefined && {
          logprobs: legacyLogprobs(candidatesOfAnswer(logprobs), form, lengths[index] as TextLength),
        }),
        finish_reason: finished?.reason ?? null,
        ...(finished && { stop_reason: finished.stop }),
        ...(shown.tokenIds && { token_ids: tokens }),
      })
      yield { ...next, ...(open === 0 && !shown.usage && metricsMember(completion)) }
    }
  }
  if (shown.usage) yield { ...head, choices: [], usage: tally.total(), ...metricsMember(completion) }
}
