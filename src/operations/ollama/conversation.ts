import type { GivenMessage, GivenPart, GivenToolCall } from '../../../packages/chat-format/index.ts'
import type { ServedModel } from '../../../packages/engine/index.ts'
import { checkedPicture, type PictureCheck } from '../../domain/pictures/check.ts'
import { wrong } from '../../domain/refusals.ts'
import type { Message } from './contract.ts'

/** The first characters of a picture in base64. */
const pictures: readonly [start: string, type: string][] = [
  ['iVBORw0KGgo', 'image/png'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
  ['/9j/', 'image/jpeg'],
]

export type PictureReader = PictureCheck | undefined

/** Checks the pictures of one request; undefined if the model reads none. */
export const pictureReaderOf = ({ passesPictures }: Pick<ServedModel, 'passesPictures'>): PictureReader =>
  passesPictures ? checkedPicture : undefined

/** More than any context holds. */
const maxMessages = 10_000

/**
 * The messages as chat completions have them. Calls of Ollama need no ids: each gets one, and results follow the calls
 * in their order, or by the name of the tool.
 */
export function messagesOf(sent: readonly Message[], reader: PictureReader): GivenMessage[] {
  if (sent.length > maxMessages) throw wrong('messages', `${sent.length} messages`, `at most ${maxMessages}`)
  let calls = 0
  let waiting: GivenToolCall[] = []
  return sent.map((message, index): GivenMessage => {
    const { role, content, thinking, images, tool_calls } = message
    const isResult = role === 'tool'
    const answered = isResult ? callOf(message, waiting) : undefined
    if (answered) waiting = waiting.filter((call) => call !== answered)
    const made = tool_calls?.map(({ id, function: { name, arguments: input } }): GivenToolCall => {
      const text = input?.text ?? '{}'
      return { id: id || `call_${calls++}`, type: 'function', function: { name, arguments: text } }
    })
    if (made?.length) waiting = made
    const id = message.tool_call_id || answered?.id
    return {
      role,
      content: withPictures(content ?? '', images ?? [], reader, `messages.${index}.images`),
      ...(thinking && { reasoning: thinking }),
      ...(made?.length && { tool_calls: made }),
      ...(isResult && id && { tool_call_id: id }),
    }
  })
}

function callOf({ tool_call_id, tool_name }: Message, waiting: readonly GivenToolCall[]) {
  if (tool_call_id) return waiting.find(({ id }) => id === tool_call_id)
  return waiting.find((call) => !tool_name || call.function.name === tool_name)
}

/** A text with its pictures; refuses them by the name of their field if the model reads none. */
export function withPictures(
  text: string,
  images: readonly string[],
  check: PictureReader,
  field: string,
): string | GivenPart[] {
  if (images.length === 0) return text
  if (!check) {
    throw wrong(field, `a list of ${images.length}`, 'none: this model reads no pictures')
  }
  const shown = images.map((image, index): GivenPart => {
    const type = pictures.find(([start]) => image.startsWith(start))?.[1]
    if (type === undefined) {
      throw wrong(`${field}.${index}`, 'another text', 'PNG, JPEG, GIF or WebP in base64, without data:')
    }
    const url = check(`data:${type};base64,${image}`, `${field}.${index}`)
    return { type: 'image_url', image_url: { url } }
  })
  return text === '' ? shown : [{ type: 'text', text }, ...shown]
}
