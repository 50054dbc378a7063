import type { GivenMessage } from '../../inference/prompt/conversation.ts'
import type { ConversationFields } from './conversation-fields.ts'

type Given = ConversationFields['messages'][number]

/**
 * Turns messages with `function_call`, OpenAI's first form, into what templates expect: a call has an id, and the
 * message of the role `function` after it is its result.
 */
export function withoutOlderCalls(messages: readonly Given[]): readonly GivenMessage[] {
  if (!messages.some(({ function_call }) => function_call != null)) return messages
  let last: string | undefined
  return messages.map(({ function_call, ...message }, index) => {
    if (function_call != null) {
      last = `call_${index}`
      return { ...message, tool_calls: [{ id: last, type: 'function', function: function_call }] }
    }
    if (message.role !== 'function' || last === undefined) return message
    return { ...message, role: 'tool', tool_call_id: last }
  })
}
