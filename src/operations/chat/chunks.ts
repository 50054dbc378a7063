import type { Part } from '../../inference/parts.ts'
import { logprobShown } from '../generation/logprobs.ts'
import { createTally } from '../generation/usage.ts'
import type { ChatCompletion } from './completion.ts'
import type { ChatChunk } from './contract.ts'
import { finishOf } from './message.ts'
import type { CallForm } from './tools.ts'

type ChunkChoice = ChatChunk['choices'][number]
type ChunkDelta = ChunkChoice['delta']
type CallDelta = NonNullable<ChunkDelta['tool_calls']>[number]

/**
 * The answer piece by piece: for each choice its role, then its text, and with the last of it why it ended. Choices come
 * mixed, each chunk with exactly one.
 */
export async function* chunksOf(completion: ChatCompletion): AsyncGenerator<ChatChunk> {
  const { head, role, echo, logprobs: withLogprobs, shown } = completion
  const about = { id: completion.id, object: 'chat.completion.chunk' as const, ...head }
  const tally = createTally(completion)
  const counts = Array.from({ length: completion.choices }, () => ({ begun: 0, ended: 0 }))

  const chunk = (index: number, delta: ChunkDelta, rest: Partial<ChunkChoice> = {}): ChatChunk => ({
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
      const said = deltaOf(delta.parts, completion.callForm)
      const calls = counts[choice] as (typeof counts)[number]
      for (const { kind } of delta.parts) {
        if (kind === 'call') calls.begun++
        else if (kind === 'callEnd') calls.ended++
      }
      const saysNothing = Object.keys(said).length === 0
      const carries = (withLogprobs || shown.tokenIds) && tokens.length > 0
      // Text that is held back comes with a later chunk.
      if (saysNothing && !carries && !finished) continue
      yield chunk(choice, said, {
        ...(withLogprobs && {
          logprobs: { content: logprobs.map((one) => logprobShown(one, shown.tokensAsIds)) },
        }),
        ...(finished && {
          finish_reason: finishOf(finished.reason, calls, completion),
          stop_reason: finished.stop,
        }),
        ...(shown.tokenIds && { token_ids: tokens }),
      })
    }
  }
  if (shown.usage) yield { ...about, choices: [], usage: tally.total() }
}

/** What the parts add, one member for each kind: clients put the deltas of a kind together, and calls by their index. */
function deltaOf(parts: readonly Part[], form: CallForm): ChunkDelta {
  const delta: ChunkDelta = {}
  const calls = new Map<number, CallDelta>()
  const callAt = (index: number): CallDelta => {
    const call = calls.get(index) ?? { index, function: {} }
    calls.set(index, call)
    return call
  }
  for (const part of parts) {
    if (part.kind === 'content') delta.content = (delta.content ?? '') + part.text
    else if (part.kind === 'reasoning') delta.reasoning = (delta.reasoning ?? '') + part.text
    else if (part.kind === 'call') {
      const { index, id, name } = part
      calls.set(index, { index, id, type: 'function', function: { name, arguments: '' } })
    } else if (part.kind === 'arguments') {
      const { function: given } = callAt(part.index)
      given.arguments = (given.arguments ?? '') + part.text
    }
  }
  if (delta.reasoning !== undefined) delta.reasoning_content = delta.reasoning
  if (calls.size > 0) {
    const all = [...calls.values()]
    if (form === 'tools') delta.tool_calls = all
    else delta.function_call = all[0]?.function
  }
  return delta
}
