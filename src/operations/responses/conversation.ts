import type { GivenMessage, GivenPart } from '../../../packages/chat-format/index.ts'
import { isObjectText } from '../../domain/json/text.ts'
import type { InputPart, Item, MessageItem } from './items.ts'

interface AssistantTurn {
  reasoning: string[]
  message?: GivenMessage['content']
  calls: { id: string; type: 'function'; function: { name: string; arguments: string } }[]
}

/**
 * The messages of a conversation. A thought, a text and calls are several items of an answer, but to templates they are
 * one turn of the assistant.
 */
export function messagesOf(items: readonly Item[]): GivenMessage[] {
  const messages: GivenMessage[] = []
  let turn: AssistantTurn | undefined
  /** Pictures of outputs come after all outputs, from the user: few servers take them in an output. */
  let shown: GivenPart[] = []

  function endTurn(): void {
    if (turn === undefined) return
    const { reasoning, message = null, calls } = turn
    messages.push({
      role: 'assistant',
      content: message,
      ...(reasoning.length > 0 && { reasoning: reasoning.join('\n') }),
      ...(calls.length > 0 && { tool_calls: calls }),
    })
    turn = undefined
  }
  function openTurn(isOver: (turn: AssistantTurn) => boolean): AssistantTurn {
    if (turn !== undefined && isOver(turn)) endTurn()
    turn ??= { reasoning: [], calls: [] }
    return turn
  }

  function endOutputs(): void {
    if (shown.length > 0) messages.push({ role: 'user', content: shown })
    shown = []
  }

  for (const item of items) {
    if (item.type !== 'function_call_output') endOutputs()
    switch (item.type) {
      case 'reasoning': {
        const text = (item.content?.length ? item.content : item.summary).map((step) => step.text).join('\n')
        const hasSpoken = ({ message, calls }: AssistantTurn) => message !== undefined || calls.length > 0
        if (text !== '') openTurn(hasSpoken).reasoning.push(text)
        break
      }
      case 'message':
        if (item.role === 'assistant') {
          openTurn(({ message, calls }) => message !== undefined || calls.length > 0).message =
            contentOf(item)
        } else {
          endTurn()
          messages.push({ role: item.role, content: contentOf(item) })
        }
        break
      case 'function_call':
        // A call that was cut off has nothing that could be answered.
        if (item.status === 'incomplete' && !isObjectText(item.arguments)) break
        openTurn(() => false).calls.push({
          id: item.call_id,
          type: 'function',
          function: { name: item.name, arguments: item.arguments },
        })
        break
      case 'function_call_output':
        endTurn()
        messages.push({ role: 'tool', tool_call_id: item.call_id, content: textsOf(item.output, shown) })
    }
  }
  endTurn()
  endOutputs()
  return messages
}

/** Several parts become a list, which each template renders in its own way. */
function partsOf(contentParts: GivenPart[]): GivenMessage['content'] {
  const [only] = contentParts
  return contentParts.length === 1 && typeof only?.text === 'string' ? only.text : contentParts
}

function partOf(contentPart: MessageItem['content'][number]): GivenPart {
  if (contentPart.type === 'input_image') {
    const { image_url: url, detail } = contentPart
    return { type: 'image_url', image_url: { url, ...(detail !== 'auto' && { detail }) } }
  }
  return { type: 'text', text: contentPart.type === 'refusal' ? contentPart.refusal : contentPart.text }
}

const contentOf = ({ content }: MessageItem) => partsOf(content.map(partOf))

/** The texts of an output; its pictures are added to `shown`. */
function textsOf(output: string | InputPart[], shown: GivenPart[]): GivenMessage['content'] {
  if (typeof output === 'string') return output
  const texts = output.filter(({ type }) => type === 'input_text')
  for (const contentPart of output) if (contentPart.type === 'input_image') shown.push(partOf(contentPart))
  return texts.length === 0 && output.length > 0 ? '' : partsOf(texts.map(partOf))
}
