import type { GivenMessage } from '../../inference/prompt/conversation.ts'
import { isObjectText } from './input.ts'
import type { Item, MessageItem } from './items.ts'

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

  for (const item of items) {
    switch (item.type) {
      case 'reasoning': {
        const text = (item.content?.length ? item.content : item.summary).map((part) => part.text).join('\n')
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
        messages.push({ role: 'tool', tool_call_id: item.call_id, content: partsOf(item.output) })
    }
  }
  endTurn()
  return messages
}

/** Several parts become a list, which each template renders in its own way. */
function partsOf(texts: string | { text: string }[]): GivenMessage['content'] {
  if (typeof texts === 'string') return texts
  const [only] = texts
  if (only !== undefined && texts.length === 1) return only.text
  return texts.map(({ text }) => ({ type: 'text', text }))
}

function contentOf({ content }: MessageItem): GivenMessage['content'] {
  return partsOf(content.map((part) => ({ text: part.type === 'refusal' ? part.refusal : part.text })))
}
