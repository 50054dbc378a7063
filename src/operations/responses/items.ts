/** The items of a conversation, as answers show them and the record keeps them. */
export type Item = MessageItem | ReasoningItem | CallItem | CallOutputItem

export type Status = 'in_progress' | 'completed' | 'incomplete'

export interface MessageItem {
  id: string
  type: 'message'
  role: string
  status: Status
  content: MessagePart[]
}

/** What a message of the user or an output of a call may consist of. */
export type InputPart =
  | { type: 'input_text'; text: string }
  | { type: 'input_image'; image_url: string; detail: string }

export type MessagePart =
  | InputPart
  | { type: 'output_text'; text: string; annotations: []; logprobs?: unknown }
  | { type: 'refusal'; refusal: string }

export interface ReasoningItem {
  id: string
  type: 'reasoning'
  summary: { type: 'summary_text'; text: string }[]
  content?: { type: 'reasoning_text'; text: string }[]
  encrypted_content?: string
  status: Status
}

export interface CallItem {
  id: string
  type: 'function_call'
  /** The id that the output refers to. Not the id of the item. */
  call_id: string
  name: string
  arguments: string
  status: Status
}

interface CallOutputItem {
  id: string
  type: 'function_call_output'
  call_id: string
  output: string | InputPart[]
  status: Status
}

const prefixes = { message: 'msg', reasoning: 'rs', function_call: 'fc', function_call_output: 'fco' }

/** `where` is the index in the answer, or `in` and the index in the input. */
export function itemIdOf(type: Item['type'], response: string, where: string): string {
  return `${prefixes[type]}_${response.slice(responsePrefix.length)}_${where}`
}

export const responsePrefix = 'resp_'

/** The id of an item contains that of its answer, so that a reference to it is found without an index. */
export function responseOfItem(id: string): string | undefined {
  const [, name] = /^(?:msg|rs|fc|fco)_(.+)_(?:in)?\d+$/s.exec(id) ?? []
  return name === undefined ? undefined : responsePrefix + name
}

export function hasPicture(item: Item): boolean {
  const content = item.type === 'message' ? item.content : item.type === 'function_call_output' && item.output
  return Array.isArray(content) && content.some(({ type }) => type === 'input_image')
}
