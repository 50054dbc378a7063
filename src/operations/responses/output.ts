import type { Part } from '../../../packages/chat-format/index.ts'
import {
  type CallItem,
  type Item,
  itemIdOf,
  type MessageItem,
  type MessagePart,
  type ReasoningItem,
  type Status,
} from './items.ts'

/** An event of a stream, without its number. */
export interface OutputEvent {
  type: string
  [member: string]: unknown
}

interface OutputOptions {
  /** Id of the answer. */
  response: string
  /** Gives thoughts also as their own summaries. */
  isSummarised: boolean
  /** The log-probabilities since the last delta of text, serialised; absent if they were not asked for. */
  takeLogprobs?: () => unknown[]
  /** All log-probabilities of the item at this index. */
  allLogprobs?: (index: number) => unknown
  /** Seals the thought of the item at this index. */
  seal?: (thought: string, index: number) => string | undefined
}

export type OutputItem = MessageItem | ReasoningItem | CallItem

/** The items of an answer so far, and the events that announce them. */
interface Output {
  items: OutputItem[]
  /** The length of each delta, from which the same events can be made again. */
  cuts: number[]
  write(turnParts: readonly Part[]): Generator<OutputEvent>
  /** Ends the answer. An open item is complete, or was cut off. */
  end(status: 'completed' | 'incomplete'): Generator<OutputEvent>
}

export function createOutput(options: OutputOptions): Output {
  const items: OutputItem[] = []
  const cuts: number[] = []
  let open: OpenItem | undefined

  function* opened(start: Start): Generator<OutputEvent> {
    yield* ended('completed')
    const index = items.length
    open = openItem(start, index, options)
    items.push(open.item)
    yield* open.begin()
  }

  function* ended(status: 'completed' | 'incomplete'): Generator<OutputEvent> {
    if (open === undefined) return
    // A call without the end of its arguments gets no `done` event: clients would run it.
    if (open.item.type === 'function_call') open.item.status = 'incomplete'
    else yield* open.close(status)
    open = undefined
  }

  return {
    items,
    cuts,
    *write(turnParts) {
      for (const turnPart of joined(turnParts)) {
        switch (turnPart.kind) {
          case 'content':
          case 'reasoning': {
            const type = turnPart.kind === 'content' ? 'message' : 'reasoning'
            if (open?.item.type !== type) yield* opened({ type })
            break
          }
          case 'call':
            yield* opened({ type: 'function_call', callId: turnPart.id, name: turnPart.name })
            continue
          case 'callEnd':
            if (open !== undefined) yield* open.close('completed')
            open = undefined
            continue
        }
        if (open === undefined) throw new Error('arguments without a call')
        cuts.push(turnPart.text.length)
        yield* open.add(turnPart.text)
      }
    },
    end: ended,
  }
}

type Start = { type: 'message' | 'reasoning' } | { type: 'function_call'; callId: string; name: string }

interface OpenItem {
  item: OutputItem
  begin(): Generator<OutputEvent>
  add(text: string): Generator<OutputEvent>
  close(status: Status): Generator<OutputEvent>
}

function openItem(start: Start, index: number, options: OutputOptions): OpenItem {
  const id = itemIdOf(start.type, options.response, String(index))
  switch (start.type) {
    case 'message':
      return openMessage(id, index, options)
    case 'reasoning':
      return openReasoning(id, index, options)
    case 'function_call':
      return openCall(id, index, start)
  }
}

const added = (output_index: number, item: Item): OutputEvent => ({
  type: 'response.output_item.added',
  output_index,
  item: { ...item },
})

const done = (output_index: number, item: Item): OutputEvent => ({
  type: 'response.output_item.done',
  output_index,
  item: { ...item },
})

function openMessage(
  id: string,
  output_index: number,
  { takeLogprobs, allLogprobs }: OutputOptions,
): OpenItem {
  const item: MessageItem = { id, type: 'message', role: 'assistant', status: 'in_progress', content: [] }
  const at = { item_id: id, output_index, content_index: 0 }
  const partOf = (text: string, logprobs: unknown): MessagePart => ({
    type: 'output_text',
    text,
    annotations: [],
    logprobs,
  })
  let whole = ''
  return {
    item,
    *begin() {
      yield added(output_index, item)
      yield { type: 'response.content_part.added', ...at, part: partOf('', []) }
    },
    *add(delta) {
      whole += delta
      yield { type: 'response.output_text.delta', ...at, delta, logprobs: takeLogprobs?.() ?? [] }
    },
    *close(status) {
      const logprobs = allLogprobs?.(output_index) ?? []
      const contentPart = partOf(whole, logprobs)
      item.content = [contentPart]
      item.status = status
      yield { type: 'response.output_text.done', ...at, text: whole, logprobs }
      yield { type: 'response.content_part.done', ...at, part: contentPart }
      yield done(output_index, item)
    },
  }
}

function openReasoning(id: string, output_index: number, { isSummarised, seal }: OutputOptions): OpenItem {
  const item: ReasoningItem = { id, type: 'reasoning', summary: [], content: [], status: 'in_progress' }
  const at = { item_id: id, output_index, content_index: 0 }
  const summaryAt = { item_id: id, output_index, summary_index: 0 }
  let whole = ''
  return {
    item,
    *begin() {
      yield added(output_index, item)
      yield { type: 'response.content_part.added', ...at, part: { type: 'reasoning_text', text: '' } }
      if (isSummarised) {
        const summaryPart = { type: 'summary_text', text: '' }
        yield { type: 'response.reasoning_summary_part.added', ...summaryAt, part: summaryPart }
      }
    },
    *add(delta) {
      whole += delta
      yield { type: 'response.reasoning_text.delta', ...at, delta }
      if (isSummarised) yield { type: 'response.reasoning_summary_text.delta', ...summaryAt, delta }
    },
    *close(status) {
      const contentPart = { type: 'reasoning_text', text: whole } as const
      yield { type: 'response.reasoning_text.done', ...at, text: whole }
      yield { type: 'response.content_part.done', ...at, part: contentPart }
      item.content = [contentPart]
      if (isSummarised) {
        const summary = { type: 'summary_text', text: whole } as const
        yield { type: 'response.reasoning_summary_text.done', ...summaryAt, text: whole }
        yield { type: 'response.reasoning_summary_part.done', ...summaryAt, part: summary }
        item.summary = [summary]
      }
      const sealed = seal?.(whole, output_index)
      if (sealed !== undefined) item.encrypted_content = sealed
      item.status = status
      yield done(output_index, item)
    },
  }
}

function openCall(
  id: string,
  output_index: number,
  { callId, name }: { callId: string; name: string },
): OpenItem {
  const item: CallItem = {
    id,
    type: 'function_call',
    call_id: callId,
    name,
    arguments: '',
    status: 'in_progress',
  }
  const at = { item_id: id, output_index }
  return {
    item,
    *begin() {
      yield added(output_index, item)
    },
    *add(delta) {
      item.arguments += delta
      yield { type: 'response.function_call_arguments.delta', ...at, delta }
    },
    *close(status) {
      item.status = status
      yield { type: 'response.function_call_arguments.done', ...at, arguments: item.arguments, name }
      yield done(output_index, item)
    },
  }
}

/** Joins neighbours of one kind, so that a slow reader gets few large deltas. Drops empty ones. */
function joined(turnParts: readonly Part[]): Part[] {
  const all: Part[] = []
  for (const turnPart of turnParts) {
    const last = all.at(-1)
    if ('text' in turnPart && last !== undefined && 'text' in last && last.kind === turnPart.kind) {
      all[all.length - 1] = { ...last, text: last.text + turnPart.text }
    } else if (!('text' in turnPart) || turnPart.text !== '') all.push(turnPart)
  }
  return all
}
