import { itemsOf, objectText } from '../../../packages/json/index.ts'
import { wrong } from '../../domain/refusals.ts'
import { Value } from '../objects/values.ts'
import type { FilledPrompt } from './filling.ts'

export const itemsIn = (json: string | undefined) => (json?.startsWith('[') ? itemsOf(json) : [])
export const listText = (items: readonly string[]) => `[${items.join(',')}]`

/** A text is the system message, and that of the user where there is no other. */
export function messagesAround({ text, before, after }: FilledPrompt, hasOthers: boolean) {
  if (text === undefined) return { before, after }
  return { before: [messageText(hasOthers ? 'system' : 'user', text)], after: [] }
}

export const messageText = (role: string, content: string) =>
  objectText([
    ['role', JSON.stringify(role)],
    ['content', JSON.stringify(content)],
  ])

interface SystemFirst {
  /** The texts of the system that come first. */
  system: string[]
  rest: string[]
}

/** For APIs in which these texts have a field of their own, and whose other messages have another form. */
export function systemFirst(
  messages: readonly string[],
  formOf: (role: string, content: string) => string = messageText,
): SystemFirst {
  const split: SystemFirst = { system: [], rest: [] }
  for (const json of messages) {
    const message = new Value(json)
    const role = message.member('role')?.string ?? ''
    if (
      role === 'tool' ||
      role === 'function' ||
      message.member('tool_calls') ||
      message.member('function_call')
    ) {
      throw wrong('prompt', 'a prompt with calls of tools', 'one without them, or /v1/chat/completions')
    }
    const text = textIn(message.member('content'))
    const isSystem = role === 'system' || role === 'developer'
    if (isSystem && split.rest.length === 0) split.system.push(text)
    else split.rest.push(formOf(role, text))
  }
  return split
}

function textIn(content: Value | undefined): string {
  const text = content?.string
  if (text !== undefined) return text
  const texts = itemsIn(content?.text).map((block) => {
    const own = new Value(block).member('text')?.string
    if (own !== undefined) return own
    throw wrong('prompt', 'a prompt with pictures or other media', 'texts only, or /v1/chat/completions')
  })
  return texts.join('\n')
}

/** Undefined without any text. */
export function joinedTexts(texts: readonly (string | undefined)[]): string | undefined {
  const all = texts.filter((text) => text !== undefined && text !== '')
  return all.length === 0 ? undefined : JSON.stringify(all.join('\n\n'))
}
