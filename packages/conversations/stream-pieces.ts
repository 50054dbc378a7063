import { blockOf, textBlock } from './blocks.ts'
import { type Json, jsonAt, membersIn, textIn, textOf } from './json.ts'
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

/** What an event adds to the answer, and the number of the call that it adds to. */
export function pieceOf(event: Json): { block: Block; number?: string } | undefined {
  const members = membersIn(event)
  const bedrock = bedrockPiece(event)
  if (bedrock !== undefined) return bedrock
  const type = textOf(members, 'type')
  if (type === undefined) return written(members.get('response'))
  if (type === 'text-delta') return written(textJson(event))
  if (type === 'reasoning-delta') return thought(textJson(event))
  if (type === 'content-delta') {
    const content = jsonAt(event, 'delta', 'message', 'content')
    return written(jsonAt(content, 'text')) ?? thought(jsonAt(content, 'thinking'))
  }
  const cohere = jsonAt(event, 'delta', 'message', 'tool_calls')
  if (cohere !== undefined) return { block: toolCall(cohere), number: members.get('index') ?? '0' }
  return type === 'tool-call' || type === 'tool-result' ? { block: blockOf(event) } : undefined
}

const textJson = (event: Json): Json | undefined => {
  const members = membersIn(event)
  return ['text', 'textDelta', 'delta'].map((name) => members.get(name)).find((json) => json?.startsWith('"'))
}

function bedrockPiece(event: Json): { block: Block; number?: string } | undefined {
  const begun = jsonAt(event, 'contentBlockStart', 'start', 'toolUse')
  const number = blockNumber(event)
  if (begun !== undefined) return { block: toolCall(begun), number }
  const delta = jsonAt(event, 'contentBlockDelta', 'delta')
  const more = jsonAt(delta, 'toolUse')
  if (more !== undefined) return { block: toolCall(more), number }
  return written(jsonAt(delta, 'text')) ?? thought(jsonAt(delta, 'reasoningContent', 'text'))
}

const blockNumber = (event: Json): string =>
  jsonAt(event, 'contentBlockStart', 'contentBlockIndex') ??
  jsonAt(event, 'contentBlockDelta', 'contentBlockIndex') ??
  '0'

function written(json: Json | undefined): { block: Block } | undefined {
  const text = textIn(json)
  return text === undefined ? undefined : { block: textBlock(text) }
}

function thought(json: Json | undefined): { block: Block } | undefined {
  const text = textIn(json)
  return text === undefined ? undefined : { block: { kind: 'thought', text } }
}
