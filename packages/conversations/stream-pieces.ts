import { blockOf } from './blocks.ts'
import { type Json, jsonAt, type Members, membersIn, textIn, textOf } from './json.ts'
import type { Block } from './message.ts'
import { toolCall } from './tools.ts'

const beginnings =
  /^(stream-start|start|start-step|text-start|text-delta|reasoning-start|reasoning-delta|message-start)$/

/** Whether events of which this is the first are pieces of an answer: Bedrock's, Cohere's, Ollama's or the AI SDK's. */
export function areInPieces(first: Json | undefined): boolean {
  const members = membersIn(first)
  if (members.has('messageStart') || members.has('contentBlockDelta')) return true
  if (members.has('done') && members.has('response')) return true
  return beginnings.test(textOf(members, 'type') ?? '')
}

/** Whether they are messages of which each continues the one before: LangChain's or Ollama's. */
export function areChunks(first: Json | undefined): boolean {
  const members = membersIn(first)
  const isLangChain =
    textOf(members, 'type') === 'AIMessageChunk' || members.get('id')?.endsWith('"AIMessageChunk"]')
  return isLangChain || (members.has('done') && members.has('message'))
}

interface Piece {
  block: Block
  /** Of the call that it adds to. */
  number?: string
}

/** What an event adds to the answer. */
export function pieceOf(event: Json): Piece | undefined {
  const members = membersIn(event)
  const bedrock = bedrockPiece(event)
  if (bedrock !== undefined) return bedrock
  const type = textOf(members, 'type')
  if (type === undefined) return textPiece('text', members.get('response'))
  if (type === 'text-delta') return textPiece('text', addedText(members))
  if (type === 'reasoning-delta') return textPiece('thought', addedText(members))
  if (type === 'content-delta') {
    const content = jsonAt(event, 'delta', 'message', 'content')
    return textPiece('text', jsonAt(content, 'text')) ?? textPiece('thought', jsonAt(content, 'thinking'))
  }
  const cohere = jsonAt(event, 'delta', 'message', 'tool_calls')
  if (cohere !== undefined) return { block: toolCall(cohere), number: members.get('index') ?? '0' }
  return type === 'tool-call' || type === 'tool-result' ? { block: blockOf(event) } : undefined
}

const addedText = (members: Members): Json | undefined =>
  ['text', 'textDelta', 'delta'].map((name) => members.get(name)).find((json) => json?.startsWith('"'))

function bedrockPiece(event: Json): Piece | undefined {
  const begun = jsonAt(event, 'contentBlockStart')
  const added = jsonAt(event, 'contentBlockDelta')
  const call = jsonAt(begun, 'start', 'toolUse') ?? jsonAt(added, 'delta', 'toolUse')
  if (call !== undefined)
    return { block: toolCall(call), number: jsonAt(begun ?? added, 'contentBlockIndex') ?? '0' }
  return (
    textPiece('text', jsonAt(added, 'delta', 'text')) ??
    textPiece('thought', jsonAt(added, 'delta', 'reasoningContent', 'text'))
  )
}

function textPiece(kind: 'text' | 'thought', json: Json | undefined): Piece | undefined {
  const text = textIn(json)
  return text === undefined ? undefined : { block: { kind, text } }
}
