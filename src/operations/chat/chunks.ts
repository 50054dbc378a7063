import type { Part } from '../../../packages/chat-format/index.ts'
import { type CallForm, type ChatCompletion, finishOf } from '../generation/chat-answer.ts'
import { logprobShown } from '../generation/logprobs.ts'
import { metricsMember } from '../generation/request-metrics.ts'
import { createTally } from '../generation/usage.ts'
import type { ChatChunk } from './answer-contract.ts'

type ChunkChoice = ChatChunk['choices'][number]
type ChunkDelta = ChunkChoice['delta']
type CallDelta = NonNullable<ChunkDelta['tool_calls']>[number]

/**
 * The answer in chunks: for each choice its role, then its text, and with the last chunk why it ended. Each chunk has
 * exactly one choice; choices come interleaved.
 */
export async function* chunksOf(completion: ChatCompletion): AsyncGenerator<ChatChunk> {
  const { head, role, echo, logprobs: withLogprobs, shown } = completion
  const about = { id: completion.id, object: 'chat.completion.chunk' as const, ...head }
  const tally = createTally(completion)
  /** Choices that have not ended. */
  let open = completion.choices
  const counts = Array.from({ length: completion.choices }, () => ({ begun: 0, ended: 0 }))

  const chunk = (index: number, delta: ChunkDelta, rest: Partial<ChunkChoice> = {}): ChatChunk => ({
    ...about,
    choices: [{ index, delta, logprobs: null, finish_reason: null, ...rest }],
    ...(shown.runningUsage && { usage: tally.ofChoice(index) }),
  })

  // No generator of its own: V8 makes a map for each, in old space, that keeps all of the request until a major collection.
  function openings(): ChatChunk[] {
    const chunks: ChatChunk[] = []
    for (let index = 0; index < completion.choices; index++) {
      const opening = chunk(index, { role, content: '' })
      // Once is enough: all choices have the same prompt.
      const [prompt] = completion.prompts
      const isFirst = index === 0
      chunks.push({
        ...opening,
        ...(isFirst && shown.tokenIds && prompt && { prompt_token_ids: prompt }),
        ...(isFirst && shown.promptText && { prompt_text: completion.promptTexts?.[0] }),
      })
    }
    if (echo === '') return chunks
    for (let index = 0; index < completion.choices; index++) chunks.push(chunk(index, { content: echo }))
    return chunks
  }

  for await (const group of completion.deltas) {
    for (const delta of group) {
      tally.add(delta)
      if (delta.kind === 'prompt') {
        yield* openings()
        continue
      }
      const { choice, tokens, logprobs, finished } = delta
      const chunkDeltas = deltasOf(delta.turnParts, completion.callForm)
      const calls = counts[choice] as (typeof counts)[number]
      for (const { kind } of delta.turnParts) {
        if (kind === 'call') calls.begun++
        else if (kind === 'callEnd') calls.ended++
      }
      let last = chunkDeltas.pop() ?? {}
      const carries = (withLogprobs || shown.tokenIds) && tokens.length > 0
      // Text that is held back comes with a later chunk.
      if (Object.keys(last).length === 0 && !carries && !finished) continue
      // Python's openai recognises the end of a call by a chunk after the one in which the call began.
      if (finished && last.tool_calls) {
        chunkDeltas.push(last)
        last = {}
      }
      for (const chunkDelta of chunkDeltas) yield chunk(choice, chunkDelta)
      if (finished) open--
      const next = chunk(choice, last, {
        ...(withLogprobs && {
          logprobs: { content: logprobs.map((logprob) => logprobShown(logprob, shown.tokensAsIds)) },
        }),
        ...(finished && {
          finish_reason: finishOf(finished.reason, calls, completion),
          stop_reason: finished.stop,
        }),
        ...(shown.tokenIds && { token_ids: tokens }),
      })
      yield { ...next, ...(open === 0 && !shown.usage && metricsMember(completion)) }
    }
  }
  if (shown.usage) yield { ...about, choices: [], usage: tally.total(), ...metricsMember(completion) }
}

/**
 * The deltas of the parts, with one member for each kind, because clients join the deltas of a kind. Each delta has at
 * most one call: some clients read only the first.
 */
function deltasOf(turnParts: readonly Part[], form: CallForm): ChunkDelta[] {
  const deltas: ChunkDelta[] = []
  let delta: ChunkDelta = {}
  let call: CallDelta | undefined
  const begin = (next: CallDelta): CallDelta => {
    if (call !== undefined) {
      deltas.push(delta)
      delta = {}
    }
    call = next
    if (form === 'tools') delta.tool_calls = [next]
    else delta.function_call = next.function
    return next
  }
  for (const turnPart of turnParts) {
    if (turnPart.kind === 'content') delta.content = (delta.content ?? '') + turnPart.text
    else if (turnPart.kind === 'reasoning') {
      delta.reasoning = (delta.reasoning ?? '') + turnPart.text
      delta.reasoning_content = delta.reasoning
    } else if (turnPart.kind === 'call') {
      const { index, id, name } = turnPart
      begin({ index, id, type: 'function', function: { name, arguments: '' } })
    } else if (turnPart.kind === 'arguments') {
      const { function: functionDelta } =
        call?.index === turnPart.index ? call : begin({ index: turnPart.index, function: {} })
      functionDelta.arguments = (functionDelta.arguments ?? '') + turnPart.text
    }
  }
  deltas.push(delta)
  return deltas
}
