import { isObjectText, JsonText } from '../../domain/json/text.ts'
import type { PartialAnswer } from '../generation/recorded.ts'
import type { MessageAnswer, MessageEvent } from './contract.ts'
import { writerOf } from './events.ts'
import type { AskedMessage } from './message.ts'

const token = /\s*(?:([{[])|([}\]])|([,:])|("[^"\\]*(?:\\.[^"\\]*)*")|([\w.+-]+))/gsy

/** Closes the beginning of a JSON object after its last complete member or item. */
export function closedJson(text: string): string {
  const closers: string[] = []
  let end = 0
  let closing = ''
  let isKey = false
  token.lastIndex = 0
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [, open, close, separator, string, scalar] = match
    const at = token.lastIndex
    if (open !== undefined) closers.push(open === '{' ? '}' : ']')
    else if (close !== undefined) closers.pop()
    if (open !== undefined || separator !== undefined) {
      isKey = separator !== ':' && closers.at(-1) === '}'
    }
    // A number at the end of the text may have more digits to come.
    const isWhole = scalar === undefined || at < text.length || /^(true|false|null)$/.test(scalar)
    if (separator !== undefined || (string !== undefined && isKey) || !isWhole) continue
    end = at
    closing = closers.toReversed().join('')
  }
  const closed = text.slice(0, end) + closing
  return closed.trimStart().startsWith('{') ? closed : '{}'
}

type Block = MessageAnswer['content'][number]
/** Input keeps the digits that the model wrote. */
type Written = Block | (Omit<Extract<Block, { type: 'tool_use' }>, 'input'> & { input: JsonText })

/** The whole message, assembled from its events. */
export function createAnswer(asked: AskedMessage): PartialAnswer {
  const writer = writerOf(asked)
  const content: Written[] = []
  let answer: object = {}
  let input = ''

  function take(event: MessageEvent): void {
    switch (event.type) {
      case 'message_start':
        answer = { ...event.message, content }
        return
      case 'content_block_start':
        content.push({ ...event.content_block })
        input = ''
        return
      case 'content_block_delta': {
        const block = content.at(-1)
        const { delta } = event
        if (delta.type === 'input_json_delta') input += delta.partial_json
        else if (delta.type === 'text_delta' && block?.type === 'text') block.text += delta.text
        else if (delta.type === 'thinking_delta' && block?.type === 'thinking')
          block.thinking += delta.thinking
        else if (delta.type === 'signature_delta' && block?.type === 'thinking') {
          block.signature = delta.signature
        }
        return
      }
      case 'content_block_stop': {
        const block = content.at(-1)
        if (block?.type === 'tool_use') content[content.length - 1] = { ...block, input: inputOf(input) }
        return
      }
      case 'message_delta': {
        const { type: _, delta, ...rest } = event
        answer = { ...answer, ...delta, ...rest }
      }
    }
  }

  take(writer.begin())
  return {
    async add(group) {
      for (const event of writer.add(group)) take(event)
    },
    end() {
      for (const event of writer.end()) take(event)
      return answer
    },
  }
}

/** For a call that was cut off, the complete part of its arguments. */
export function inputOf(text: string): JsonText {
  return new JsonText(isObjectText(text) ? text : closedJson(text))
}
