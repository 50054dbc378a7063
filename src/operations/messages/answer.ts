import { JsonText } from '../../domain/json/text.ts'
import type { MessageAnswer } from './contract.ts'
import { closedJson } from './cut-json.ts'
import { eventsOf } from './events.ts'
import type { AskedMessage } from './message.ts'

type Block = MessageAnswer['content'][number]
/** Input is written with the digits that the model wrote. */
type Written = Block | (Omit<Extract<Block, { type: 'tool_use' }>, 'input'> & { input: JsonText })

/** The whole message: what its events say together. */
export async function answerOf(asked: AskedMessage): Promise<object> {
  const content: Written[] = []
  let answer: object = {}
  let input = ''
  for await (const event of eventsOf(asked)) {
    switch (event.type) {
      case 'message_start':
        answer = { ...event.message, content }
        break
      case 'content_block_start':
        content.push(event.content_block)
        input = ''
        break
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
        break
      }
      case 'content_block_stop': {
        const block = content.at(-1)
        if (block?.type === 'tool_use') content[content.length - 1] = { ...block, input: inputOf(input) }
        break
      }
      case 'message_delta': {
        const { type: _, delta, ...rest } = event
        answer = { ...answer, ...delta, ...rest }
      }
    }
  }
  return answer
}

/** Of a call that was cut off, what is there of its arguments. */
function inputOf(text: string): JsonText {
  return new JsonText(isObject(text) ? text : closedJson(text))
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
