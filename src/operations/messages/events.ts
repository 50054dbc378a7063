import { anthropicError } from '../../http/errors.ts'
import type { EventForm } from '../../http/streams/sse.ts'
import type { ChoiceDelta, Delta } from '../generation/deltas.ts'
import { createTally, type Tally } from '../generation/usage.ts'
import { createBlocks } from './blocks.ts'
import type { MessageEvent, StopReason, Usage } from './contract.ts'
import type { AskedMessage } from './message.ts'

/** Turns the deltas of a message into events. */
interface MessageWriter {
  begin(): MessageEvent
  add(group: readonly Delta[]): MessageEvent[]
  end(): MessageEvent[]
}

export function writerOf(message: AskedMessage): MessageWriter {
  const tally = createTally(message)
  const blocks = createBlocks(message)
  const edits = message.managesContext && { context_management: { applied_edits: [] } }
  const open = { stop_reason: null, stop_sequence: null, stop_details: null, container: null }
  let finished: ChoiceDelta['finished']
  return {
    begin: () => ({
      type: 'message_start',
      message: {
        id: message.id,
        type: 'message',
        role: 'assistant',
        model: message.head.model,
        content: [],
        ...open,
        usage: usageOf(tally),
        ...edits,
      },
    }),
    add(group) {
      const events: MessageEvent[] = []
      for (const delta of group) {
        tally.add(delta)
        if (delta.kind === 'prompt') continue
        for (const event of blocks.add(delta.turnParts)) events.push(event)
        finished ??= delta.finished
      }
      return events
    },
    end() {
      const closing = blocks.end()
      const usage = usageOf(tally)
      const ended = finished && endOf(finished, blocks.hasCall, usage.output_tokens < message.maxTokens)
      return [
        ...closing,
        { type: 'message_delta', delta: { ...open, ...ended }, usage, ...edits },
        { type: 'message_stop' },
      ]
    },
  }
}

/**
 * The answer as events. The first one is sent at once, so that the client knows that its request is being answered
 * while the prompt is computed. The usage in the last event but one is final.
 */
export async function* eventsOf(message: AskedMessage): AsyncGenerator<MessageEvent> {
  const writer = writerOf(message)
  yield writer.begin()
  for await (const group of message.deltas) yield* writer.add(group)
  yield* writer.end()
}

/** `hasRoom`: the limit of the request was not reached. */
function endOf(
  { reason, stop }: NonNullable<ChoiceDelta['finished']>,
  hasCall: boolean,
  hasRoom: boolean,
): { stop_reason: StopReason; stop_sequence?: string } {
  if (reason === 'length') return { stop_reason: hasRoom ? 'model_context_window_exceeded' : 'max_tokens' }
  if (reason === 'content_filter') return { stop_reason: 'refusal' }
  if (typeof stop === 'string') return { stop_reason: 'stop_sequence', stop_sequence: stop }
  return { stop_reason: hasCall ? 'tool_use' : 'end_turn' }
}

/** Anthropic counts the reused tokens of a prompt apart from the others. */
function usageOf(tally: Tally): Usage {
  const {
    prompt_tokens,
    completion_tokens,
    prompt_tokens_details: { cached_tokens },
    completion_tokens_details,
  } = tally.total()
  return {
    input_tokens: prompt_tokens - cached_tokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached_tokens,
    output_tokens: completion_tokens,
    output_tokens_details: { thinking_tokens: completion_tokens_details?.reasoning_tokens ?? 0 },
    service_tier: 'standard',
  }
}

const written = (event: { type: string }) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

/** Writes events as Anthropic's clients read them. */
export const messageEvents: EventForm = {
  write: (event) => written(event as MessageEvent),
  keepAlive: written({ type: 'ping' }),
  failure: (refusal, request) => written(anthropicError(refusal, request)),
  end: '',
}
