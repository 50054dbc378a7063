import type { Conversation, GivenMessage } from '../../../packages/chat-format/index.ts'
import { JsonText } from '../../domain/json/text.ts'
import { checkedPicture } from '../../domain/pictures/check.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import type { ConversationFields } from './conversation-fields.ts'
import type { GenerationSettings } from './parts.ts'

type Given = ConversationFields['messages'][number]

/**
 * Turns messages with `function_call`, OpenAI's first form, into what templates expect: a call has an id, and the
 * message of the role `function` after it is its result.
 */
function withoutOlderCalls(messages: readonly Given[]): readonly GivenMessage[] {
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

/** Most messages of one request; more than any context holds. */
const maxMessages = 10_000

/** Checks of fields that are valid on their own, but not with each other. */
export function checkConversation(fields: ConversationFields): void {
  const { messages, documents } = fields
  if (messages.length === 0) throw wrong('messages', 'an empty list', 'at least one message')
  if (messages.length > maxMessages) {
    throw wrong('messages', `${messages.length} messages`, `at most ${maxMessages}`)
  }
  if (fields.continue_final_message && (fields.add_generation_prompt ?? true)) {
    throw wrong(
      'continue_final_message',
      'true together with add_generation_prompt, which defaults to true',
      'true only with "add_generation_prompt": false',
    )
  }
  if (fields.continue_final_message && messages.at(-1)?.tool_calls?.length) {
    throw wrong(
      'continue_final_message',
      'true after a message with tool_calls',
      'a last message with content only',
    )
  }
  for (const [index, { notText }] of (documents ?? []).entries()) {
    if (notText !== undefined) throw wrong(`documents.${index}.${notText}`, 'not a string', 'only strings')
  }
}

/** Checks pictures for a model that is shown them, and puts in their place what it reads. Another refuses them by their type. */
export function checkPictures(messages: ConversationFields['messages']): void {
  for (const [index, { content }] of messages.entries()) {
    if (typeof content === 'string') continue
    for (const [number, piece] of (content ?? []).entries()) {
      if (typeof piece === 'string') continue
      for (const field of ['image_url', 'input_image'] as const) {
        const path = `messages.${index}.content.${number}.${field}`
        const url = addressOf(piece[field])
        if (url === undefined) continue
        const read = checkedPicture(url.text, url.isMember ? `${path}.url` : path)
        if (read !== url.text) piece[field] = url.readAs(read)
      }
    }
  }
}

/** Some clients send the address itself in place of an object with it. `readAs`: the same with another address. */
function addressOf(picture: unknown) {
  if (!(picture instanceof JsonText)) return undefined
  const value = JSON.parse(picture.text) as { url?: unknown } | string | null
  const readAs = (read: unknown) => new JsonText(JSON.stringify(read))
  if (typeof value === 'string') return { text: value, isMember: false, readAs }
  const url = value?.url
  return typeof url === 'string'
    ? { text: url, isMember: true, readAs: (read: string) => readAs({ ...value, url: read }) }
    : undefined
}

/** The conversation of a request. Refuses what this server does not allow requests to ask of a template. */
export function conversationFrom(
  fields: ConversationFields,
  { requestTemplates }: GenerationSettings,
): Conversation {
  const { chat_template: template, chat_template_kwargs: variables } = fields
  const reserved = variables?.reserved ?? []
  if (!requestTemplates) {
    if (template != null) throw refuse('request_templates_off', { field: 'chat_template' })
    if (reserved.some(({ name, isNull }) => name === 'chat_template' && !isNull)) {
      throw refuse('request_templates_off', { field: 'chat_template_kwargs.chat_template' })
    }
  }
  for (const { name } of reserved) {
    throw wrong(
      `chat_template_kwargs.${name}`,
      'a name that is not a template variable',
      name === 'tokenize' ? 'other names' : 'the field chat_template',
    )
  }
  return {
    messages: withoutOlderCalls(fields.messages),
    template,
    variables: variables?.json,
    addGenerationPrompt: fields.add_generation_prompt ?? true,
    continueFinal: fields.continue_final_message ?? false,
    continuedField: `messages.${fields.messages.length - 1}.content`,
    tools: fields.tools,
    documents: fields.documents?.map(({ json }) => json),
    reasoningEffort: fields.reasoning_effort,
    verbosity: fields.verbosity,
  }
}
