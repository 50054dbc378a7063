import { type JsonNode, membersOf, nodeAt, sourceOf, stringOf } from '../value/json-index.ts'
import { outputMessages } from '../value/messages.ts'
import { wordDiff } from '../value/word-diff.ts'

/** A recorded request and its answer. */
export interface RecordedRequest {
  /** The members of the request, each as JSON. */
  request: ReadonlyMap<string, string>
  answer: string
}

/** Undefined where the call is no chat, or has no answer. */
export function recordedRequestIn(call: JsonNode): RecordedRequest | undefined {
  const inputs = nodeAt(call, 'inputs')
  const said = outputMessages(nodeAt(call, 'output'))
  if (inputs === undefined || nodeAt(inputs, 'messages')?.kind !== 'array' || !said?.[0]) return undefined
  const request = new Map([...membersOf(inputs)].map(({ name, node }) => [name, sourceOf(node)]))
  const answer = said[0].blocks.flatMap((block) => (block.kind === 'text' ? [block.text] : [])).join('')
  return { request, answer }
}

/** The request with other settings, and with another system message if one is given. */
export function requestWith(
  { request }: RecordedRequest,
  settings: ReadonlyMap<string, string>,
  system: string,
): string {
  const members = new Map([...request, ...settings])
  // The answer is read as a whole, and one is enough.
  for (const own of ['stream', 'stream_options', 'n']) members.delete(own)
  if (system !== '') members.set('messages', messagesWith(request.get('messages') ?? '[]', system))
  return `{${[...members].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`
}

function messagesWith(json: string, system: string): string {
  const messages = JSON.parse(json) as { role?: string }[]
  const rest = messages[0]?.role === 'system' ? messages.slice(1) : messages
  return JSON.stringify([{ role: 'system', content: system }, ...rest])
}

/** How much of the recorded answer occurs again: the share of the longer text that both have in common, word by word. */
export function similarity(recorded: string, answer: string): number {
  const longest = Math.max(recorded.length, answer.length)
  if (longest === 0) return 1
  const same = wordDiff(recorded, answer).filter(({ kind }) => kind === 'same')
  return same.reduce((all, { text }) => all + text.length, 0) / longest
}

/** The text of an answer that came as one JSON text. */
export const textIn = (answer: JsonNode): string | undefined => {
  const message = nodeAt(answer, 'choices', '0', 'message')
  return message === undefined ? undefined : (stringOf(nodeAt(message, 'content')) ?? '')
}
