import type { FinishReason } from '../../../packages/engine/index.ts'
import { clockNow } from '../../domain/clock.ts'
import type { Refusal } from '../../domain/refusals.ts'
import type { Delta } from '../generation/deltas.ts'
import type { PartialAnswer } from '../generation/recorded.ts'
import { createTally, type Tally } from '../generation/usage.ts'
import type { RunningResponse } from './answering.ts'
import { numbering, type ResponseEvent } from './events.ts'
import { createLogprobs } from './logprobs.ts'
import { createOutput, type OutputEvent, type OutputItem } from './output.ts'
import type { Incomplete, ResponseUsage } from './response.ts'

/** Makes the events of a stream and the whole answer from deltas. */
export interface ResponseWriter {
  begin(): OutputEvent[]
  /** A group of deltas is written once, even if this is called for it again. */
  add(group: readonly Delta[]): OutputEvent[]
  /** All but the last event, which says that the answer is kept. */
  end(): OutputEvent[]
  last(): OutputEvent
  /** The whole answer, or what there is so far. */
  answer(): object
  /** Numbers an event that is sent. */
  number(event: OutputEvent): ResponseEvent
  /** The event that ends a failed answer in place of the rest. */
  failed(refusal: Refusal): OutputEvent
  readonly items: readonly OutputItem[]
  readonly cuts: readonly number[]
}

/** A running answer and its writer. */
export type WrittenResponse = RunningResponse & { writer: ResponseWriter }

export function writerOf(running: RunningResponse): ResponseWriter {
  const { response, seal, isSummarised, hasLogprobs, tokensAsIds } = running
  const number = numbering()
  const tally = createTally(running)
  const logprobs = createLogprobs(tokensAsIds)
  const output = createOutput({
    response: response.id,
    isSummarised,
    ...(hasLogprobs && { takeLogprobs: logprobs.take, allLogprobs: logprobs.all }),
    ...(seal && { seal: (thought: string) => seal.seal(thought) }),
  })
  let latest: { group: readonly Delta[]; events: OutputEvent[] } | undefined
  let finish: FinishReason | undefined
  let ended: ReturnType<typeof endedNow> | undefined

  const begun = {
    ...response,
    status: 'in_progress',
    completed_at: null,
    incomplete_details: null,
    usage: null,
  }

  function write(group: readonly Delta[]): OutputEvent[] {
    const events: OutputEvent[] = []
    for (const delta of group) {
      tally.add(delta)
      if (delta.kind === 'prompt') continue
      if (hasLogprobs) logprobs.add(delta)
      for (const event of output.write(delta.turnParts)) events.push(event)
      if (delta.finished) finish = delta.finished.reason
    }
    return events
  }

  function endedNow() {
    const why = incompleteOf(finish, output.items)
    const isComplete = finish !== undefined && why === undefined
    return {
      ...response,
      status: isComplete ? ('completed' as const) : ('incomplete' as const),
      completed_at: isComplete ? Math.floor(clockNow() / 1000) : null,
      incomplete_details: why === undefined ? null : { reason: why },
      usage: usageOf(tally.total()),
    }
  }

  function end(): OutputEvent[] {
    if (ended !== undefined) return []
    const events = [...output.end(finish === 'stop' ? 'completed' : 'incomplete')]
    ended = endedNow()
    return events
  }

  function answer() {
    end()
    return { ...(ended as ReturnType<typeof endedNow>), output: output.items }
  }

  return {
    begin: () => [
      { type: 'response.created', response: { ...begun, output: [] } },
      { type: 'response.in_progress', response: { ...begun, output: [] } },
    ],
    add(group) {
      if (latest?.group !== group) latest = { group, events: write(group) }
      return latest.events
    },
    end,
    last() {
      const response = answer()
      return { type: `response.${response.status}`, response }
    },
    answer,
    number,
    failed: ({ message }) => ({
      type: 'response.failed',
      response: {
        ...begun,
        status: 'failed',
        error: { code: 'server_error', message },
        output: output.items,
      },
    }),
    items: output.items,
    cuts: output.cuts,
  }
}

/** The stream and the whole answer share a writer, so that they have the same seals. */
export function createAnswer({ writer }: WrittenResponse): PartialAnswer {
  return {
    add: async (group) => void writer.add(group),
    end: () => writer.answer(),
  }
}

/** What is to be kept is on disk before the last event. */
export async function* chunksOf(
  { writer, deltas }: WrittenResponse,
  complete: () => Promise<void>,
): AsyncGenerator<ResponseEvent> {
  const { number } = writer
  for (const event of writer.begin()) yield number(event)
  for await (const group of deltas) for (const event of writer.add(group)) yield number(event)
  for (const event of writer.end()) yield number(event)
  await complete()
  yield number(writer.last())
}

/** An answer that ends inside a call is incomplete, whatever ended it. */
function incompleteOf(
  finish: FinishReason | undefined,
  items: readonly OutputItem[],
): Incomplete | undefined {
  if (finish === undefined) return undefined
  if (finish === 'length') return 'max_output_tokens'
  if (finish === 'repetition' || finish === 'content_filter') return finish
  return items.at(-1)?.status === 'incomplete' ? 'stop' : undefined
}

function usageOf(usage: ReturnType<Tally['total']>): ResponseUsage {
  return {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: {
      cached_tokens: usage.prompt_tokens_details.cached_tokens,
      cache_write_tokens: 0,
    },
    output_tokens: usage.completion_tokens,
    output_tokens_details: { reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens ?? 0 },
    total_tokens: usage.total_tokens,
  }
}
