import type { Json } from './json.ts'

/** One message of a conversation, whichever convention recorded it. */
export interface Message {
  role: string
  name?: string
  blocks: Block[]
  /** Its number among answers of which only one was wanted. */
  choice?: number
  /** Why the answer ended, if not by itself. */
  ending?: string
}

export type Block =
  | { kind: 'text'; text: string }
  | { kind: 'thought'; text: string }
  /** What a program wrote in front of the user's words. */
  | { kind: 'context'; text: string }
  | ToolCall
  | ToolResult
  /** An address, or the data itself as `data:…`. */
  | { kind: 'image'; source: string }
  /** A picture that is a file of the project. `json` is what stands for it. */
  | { kind: 'stored'; file: string; json: Json }
  | { kind: 'file'; name: string; source?: string }
  | { kind: 'document'; text: string; id?: string; score?: string }
  /** A value that has no form of its own, such as the result of a tool. */
  | { kind: 'data'; json: Json }
  /** Something that none of the conventions has. */
  | { kind: 'other'; json: Json }

export interface ToolCall {
  kind: 'call'
  id?: string
  name: string
  /** JSON, or what a model wrote instead of it. */
  input: string
  /** What the tool returned, once they are paired. */
  result?: ToolResult
}

export interface ToolResult {
  kind: 'result'
  id?: string
  name?: string
  isError?: boolean
  content: Block[]
}

const roles = new Map([
  ['model', 'assistant'],
  ['ai', 'assistant'],
  ['aimessagechunk', 'assistant'],
  ['human', 'user'],
  ['humanmessagechunk', 'user'],
  ['function', 'tool'],
])

/** Some conventions have other words for the same speakers. */
export const roleOf = (word: string): string => roles.get(word.toLowerCase().replace(/message$/, '')) ?? word
