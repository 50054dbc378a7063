import type { Part } from '../../../packages/chat-format/index.ts'
import { numbering, type ResponseEvent } from './events.ts'
import { createOutput, type OutputItem } from './output.ts'
import type { ReadableResponse } from './store.ts'

/** The events of a stored answer, made again with the same numbers. */
export function* replayOf({ answer, output: items, cuts }: ReadableResponse): Generator<ResponseEvent> {
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
  const isBackground = rest.background === true
  const first = isBackground ? { ...begun, status: 'queued' } : begun
  yield number({ type: 'response.created', response: first })
  if (isBackground) yield number({ type: 'response.queued', response: first })
  yield number({ type: 'response.in_progress', response: begun })
  for (const piece of partsOf(items, cuts)) for (const event of output.write([piece])) yield number(event)
  for (const event of output.end(status === 'completed' ? 'completed' : 'incomplete')) yield number(event)
  yield number({ type: `response.${status}`, response: answer })
}

/** The parts that the items were made of, cut as they were streamed. */
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
  return content
    .map((piece) => (piece.type === 'refusal' ? piece.refusal : 'text' in piece ? piece.text : ''))
    .join('')
}

function logprobsOf(item: OutputItem | undefined): unknown {
  const first = item?.type === 'message' ? item.content[0] : undefined
  return first?.type === 'output_text' ? first.logprobs : undefined
}
