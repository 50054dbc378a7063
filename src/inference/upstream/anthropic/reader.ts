import type { Part } from '../../../../packages/chat-format/index.ts'
import type { FinishReason } from '../../../../packages/engine/index.ts'
import type { AnswerEvent, ReportedUsage } from '../../model.ts'
import type { AnswerReader, AnswerReaderOptions } from '../answer-reader.ts'
import { failureOf } from '../failures.ts'
import { countOf, estimatedTokens, garbage, membersOf, parsedReply } from '../reply.ts'
import { createBlockReader } from './blocks.ts'

/** Reads the events of a stream of Anthropic's Messages, or a whole message. */
export function createAnthropicReader({ kind, promptLength }: AnswerReaderOptions): AnswerReader {
  let blocks = createBlockReader()
  let usage: Record<string, unknown> = {}
  let hasStarted = false
  let hasBegun = false
  let isFinished = false
  /** Pieces so far, each at least a token: the usage at the beginning says nothing of them. */
  let counted = 0
  let thought = 0
  let endOfCall: Part[] = []

  function begin(message: unknown): AnswerEvent[] {
    if (hasBegun) throw garbage('a second beginning of its message')
    const isAgain = hasStarted
    hasStarted = true
    blocks = createBlockReader()
    usage = {}
    addUsage(membersOf(message).usage)
    return isAgain ? [] : [{ kind: 'prefilled', input: 0, cachedTokens: 0 }]
  }

  function written(deltas: Part[]): AnswerEvent[] {
    if (!hasStarted) throw garbage('a block before the beginning of its message')
    if (deltas.length === 0 || isFinished) return []
    hasBegun = true
    const count = deltas.filter((delta) => 'text' in delta && delta.text !== '').length
    counted += count
    if (deltas.some((delta) => delta.kind === 'reasoning')) thought += count
    return [{ kind: 'said', choice: 0, deltas, tokens: [], count }]
  }

  /** An answer may be cut off before the arguments of its last call: that there are none is only known later. */
  function closed(deltas: Part[]): AnswerEvent[] {
    if (!deltas.some((delta) => delta.kind === 'arguments' && delta.text === '{}')) return written(deltas)
    endOfCall = deltas
    return []
  }

  function ended(): AnswerEvent[] {
    const deltas = endOfCall
    endOfCall = []
    return written(deltas)
  }

  function finish(value: unknown): AnswerEvent[] {
    const { stop_reason: reason, stop_sequence: sequence } = membersOf(value)
    if (reason == null || isFinished) return []
    if (!hasStarted) throw garbage('the end of a message that has not begun')
    hasBegun = true
    const ends = finishOf(reason) === 'length' ? [] : ended()
    isFinished = true
    const stop = reason === 'stop_sequence' && typeof sequence === 'string' ? sequence : null
    return [...ends, { kind: 'finished', choice: 0, reason: finishOf(reason), stop }]
  }

  /** Later numbers replace earlier ones; those that are missing stay. */
  function addUsage(value: unknown): void {
    const told = Object.entries(membersOf(value)).filter(([, member]) => member != null)
    usage = { ...usage, ...Object.fromEntries(told) }
  }

  function* whole(message: Record<string, unknown>): Generator<AnswerEvent> {
    yield* begin(message)
    const { content } = message
    if (!Array.isArray(content)) throw garbage('a message without content')
    for (const [index, block] of content.entries()) {
      yield* ended()
      yield* written(blocks.start(index, block))
      yield* closed(blocks.stop(index))
    }
    yield* finish(message)
  }

  return {
    prompts: [[]],
    promptTexts: [],
    read(data) {
      const event = parsedReply(data)
      switch (event.type) {
        case 'message_start':
          return begin(event.message)
        case 'content_block_start':
          return [...ended(), ...written(blocks.start(event.index, event.content_block))]
        case 'content_block_delta':
          return written(blocks.add(event.index, event.delta))
        case 'content_block_stop':
          return closed(blocks.stop(event.index))
        case 'message_delta':
          addUsage(event.usage)
          return finish(event.delta)
        case 'message':
          return [...whole(event)]
        case 'error':
          throw failureOf(event.error, kind)
      }
      // Anthropic adds types of events, which clients are to pass over.
      if (typeof event.type === 'string') return []
      throw garbage('an event without a type')
    },
    hasBegun: () => hasBegun,
    cut: () => [],
    isComplete: () => isFinished,
    usage() {
      const told = usageOf(usage, counted)
      if (isFinished && told !== undefined) return told
      const prompt = told?.prompt ?? (hasStarted ? estimatedTokens(promptLength) : 0)
      const completion = Math.max(counted, told?.completion ?? 0)
      return { prompt, cached: told?.cached ?? 0, completion, reasoning: thought }
    },
  }
}

/** In the sums of OpenAI: a prompt includes what was read from its cache, and what was written to it. */
function usageOf(usage: Record<string, unknown>, counted: number): ReportedUsage | undefined {
  const input = countOf(usage.input_tokens)
  if (input === undefined) return undefined
  const cached = countOf(usage.cache_read_input_tokens) ?? 0
  const written = countOf(usage.cache_creation_input_tokens) ?? 0
  return {
    prompt: input + cached + written,
    cached,
    completion: countOf(usage.output_tokens) ?? counted,
    reasoning: countOf(membersOf(usage.output_tokens_details).thinking_tokens) ?? 0,
  }
}

/** Reasons that are added later end an answer as `end_turn` does. */
function finishOf(reason: unknown): FinishReason {
  switch (reason) {
    case 'max_tokens':
    case 'model_context_window_exceeded':
    // It would go on if the answer were sent back.
    case 'pause_turn':
      return 'length'
    case 'refusal':
      return 'content_filter'
    default:
      return 'stop'
  }
}
