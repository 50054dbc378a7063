import { writeJson } from '../../domain/json/text.ts'
import type { Refusal } from '../../domain/refusals.ts'
import type { FinishReason } from '../../inference/backend.ts'
import type { Part } from '../../inference/parts.ts'
import { createTally, type Tally } from '../generation/usage.ts'
import type { RunningResponse } from './answering.ts'
import { createLogprobs } from './logprobs.ts'
import { createOutput, type OutputEvent, type OutputItem } from './output.ts'
import type { Incomplete, ResponseUsage } from './response.ts'
import type { KeptResponse } from './store.ts'

/** An event of a stream, as it is sent. */
export interface ResponseEvent extends OutputEvent {
  sequence_number: number
}

/** The answer as a whole; the events on the way to it are made and let go. */
export async function wholeOf({ events, answer }: ResponseWriter): Promise<object> {
  for await (const _ of events());
  return answer()
}

export interface ResponseWriter {
  events(): AsyncGenerator<ResponseEvent>
  /** When the events have come to their end. */
  answer(): object
  /** What takes the place of what was to come. */
  failed(refusal: Refusal): ResponseEvent
}

/** The events of an answer, from the first to the one that has all of it. What is to be kept is on the disk before that one. */
export function writerOf(running: RunningResponse): ResponseWriter {
  const { response, deltas, store, seal, isSummarised, hasLogprobs, tokensAsIds } = running
  const number = numbering()
  const tally = createTally(running)
  const logprobs = createLogprobs(tokensAsIds)
  const output = createOutput({
    response: response.id,
    isSummarised,
    ...(hasLogprobs && { takeLogprobs: logprobs.take, allLogprobs: logprobs.all }),
    ...(seal && { seal: (thought: string) => seal.seal(thought) }),
  })
  let finish: FinishReason = 'stop'
  let ended: object | undefined

  const begun = {
    ...response,
    status: 'in_progress',
    completed_at: null,
    incomplete_details: null,
    usage: null,
  }
  const answered = () => ({ ...ended, output: output.items })

  async function* events(): AsyncGenerator<ResponseEvent> {
    yield number({ type: 'response.created', response: { ...begun, output: [] } })
    yield number({ type: 'response.in_progress', response: { ...begun, output: [] } })
    for await (const group of deltas) {
      for (const delta of group) {
        tally.add(delta)
        if (delta.kind === 'prompt') continue
        if (hasLogprobs) logprobs.add(delta)
        for (const event of output.write(delta.parts)) yield number(event)
        if (delta.finished) finish = delta.finished.reason
      }
    }
    const isCut = finish !== 'stop'
    for (const event of output.end(isCut ? 'incomplete' : 'completed')) yield number(event)
    const why = incompleteOf(finish, output.items)
    ended = {
      ...response,
      status: why === undefined ? 'completed' : 'incomplete',
      completed_at: why === undefined ? Math.floor(Date.now() / 1000) : null,
      incomplete_details: why === undefined ? null : { reason: why },
      usage: usageOf(tally.total()),
    }
    const { id, previous_response_id: previous } = response
    await store?.keep({
      id,
      previous,
      earlier: running.earlier,
      input: running.input,
      output: output.items,
      answer: ended,
      cuts: output.cuts,
    })
    yield number({
      type: why === undefined ? 'response.completed' : 'response.incomplete',
      response: answered(),
    })
  }

  return {
    events,
    answer: answered,
    failed: ({ message }) =>
      number({
        type: 'response.failed',
        response: {
          ...begun,
          status: 'failed',
          error: { code: 'server_error', message },
          output: output.items,
        },
      }),
  }
}

/** The same events once more, with the same numbers, made of what was kept. */
export function* replayOf({ answer, output: items, cuts }: KeptResponse): Generator<ResponseEvent> {
  const number = numbering()
  const { id, status, ...rest } = answer.value as Record<string, unknown> & { id: string; status: string }
  const begun = {
    id,
    ...rest,
    status: 'in_progress',
    completed_at: null,
    incomplete_details: null,
    usage: null,
    output: [],
  }
  const output = createOutput({
    response: id,
    isSummarised: items.some((item) => item.type === 'reasoning' && item.summary.length > 0),
    seal: (_, index) => (items[index] as { encrypted_content?: string }).encrypted_content,
    allLogprobs: (index) => logprobsOf(items[index]),
  })
  yield number({ type: 'response.created', response: begun })
  yield number({ type: 'response.in_progress', response: begun })
  for (const part of partsOf(items, cuts)) for (const event of output.write([part])) yield number(event)
  for (const event of output.end(status === 'completed' ? 'completed' : 'incomplete')) yield number(event)
  yield number({ type: `response.${status}`, response: answer })
}

function numbering() {
  let next = 0
  return ({ type, ...rest }: OutputEvent): ResponseEvent => ({ type, sequence_number: next++, ...rest })
}

/** The event lines carry the type too: some clients choose by it. */
export const writeEvent = (event: object): string =>
  `event: ${(event as ResponseEvent).type}\ndata: ${writeJson(event)}\n\n`

/** An answer that ends in the middle of a call is not complete, whatever ended it. */
function incompleteOf(finish: FinishReason, items: readonly OutputItem[]): Incomplete | undefined {
  if (finish === 'length') return 'max_output_tokens'
  if (finish === 'repetition') return 'repetition'
  return items.at(-1)?.status === 'incomplete' ? 'stop' : undefined
}

function usageOf(usage: ReturnType<Tally['total']>): ResponseUsage {
  return {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: { cached_tokens: usage.prompt_tokens_details.cached_tokens },
    output_tokens: usage.completion_tokens,
    output_tokens_details: { reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens ?? 0 },
    total_tokens: usage.total_tokens,
  }
}

/** What the items were made of, in the pieces in which it came. */
function* partsOf(items: readonly OutputItem[], cuts: readonly number[]): Generator<Part> {
  let cut = 0
  function* pieces(text: string): Generator<string> {
    for (let from = 0; from < text.length; ) {
      const length = cuts[cut++] ?? text.length
      yield text.slice(from, from + length)
      from += length
    }
  }
  let index = 0
  for (const item of items) {
    if (item.type === 'function_call') {
      yield { kind: 'call', index, id: item.call_id, name: item.name }
      for (const text of pieces(item.arguments)) yield { kind: 'arguments', index, text }
      if (item.status === 'completed') yield { kind: 'callEnd', index }
      index++
    } else {
      const kind = item.type === 'message' ? 'content' : 'reasoning'
      for (const text of pieces(textOf(item))) yield { kind, text }
    }
  }
}

function textOf({ content = [] }: Exclude<OutputItem, { type: 'function_call' }>): string {
  return content.map((part) => (part.type === 'refusal' ? part.refusal : part.text)).join('')
}

function logprobsOf(item: OutputItem | undefined): unknown {
  const part = item?.type === 'message' ? item.content[0] : undefined
  return part?.type === 'output_text' ? part.logprobs : undefined
}
