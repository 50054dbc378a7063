import { isObjectText } from '../../domain/json/text.ts'
import type { PictureCheck } from '../../domain/pictures/check.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import { type InputPart, type Item, itemIdOf, type MessagePart, type ReasoningItem } from './items.ts'
import type { InputItem } from './items-contract.ts'

/** What an input needs from outside the request. */
export interface Sources {
  /** Id of the answer that the input is for. */
  response: string
  /** The item of a stored answer that the reference at this index names; undefined if there is none. */
  item(id: string, index: number): Promise<Item | undefined>
  /** The thought in a sealed text; undefined if it was not sealed here, or not for this caller. */
  unseal(sealed: string): Promise<string | undefined>
  /** Checks each picture; without it the model is shown none. */
  checkPicture: PictureCheck | undefined
  /** The field with the items, if it is not `input`. */
  field?: string
}

const known = ['message', 'function_call', 'function_call_output', 'reasoning', 'item_reference']
const roles = ['user', 'assistant', 'system', 'developer']

/**
 * The items of a request, each checked by its type and given an id. References are replaced by the items that they
 * name.
 */
export async function itemsOf(input: string | readonly InputItem[], sources: Sources): Promise<Item[]> {
  if (typeof input === 'string') {
    return [
      {
        id: itemIdOf('message', sources.response, 'in0'),
        type: 'message',
        role: 'user',
        status: 'completed',
        content: [{ type: 'input_text', text: input }],
      },
    ]
  }
  const items: Item[] = []
  for (const [index, item] of input.entries()) items.push(await itemOf(item, index, sources))
  return items
}

async function itemOf(item: InputItem, index: number, sources: Sources): Promise<Item> {
  const path = `${sources.field ?? 'input'}.${index}`
  // Only messages may lack a type.
  const type = item.type ?? (item.role == null && item.id != null ? 'item_reference' : 'message')
  const about = <Type extends Item['type']>(type: Type) => ({
    id: item.id ?? itemIdOf(type, sources.response, `in${index}`),
    type,
    status: 'completed' as const,
  })
  switch (type) {
    case 'message': {
      const role = required(item.role, `${path}.role`)
      if (!roles.includes(role)) throw wrong(`${path}.role`, JSON.stringify(role), roles.join(', '))
      return { ...about(type), role, content: contentOf(item, role, `${path}.content`, sources) }
    }
    case 'function_call':
      return {
        ...about(type),
        call_id: required(item.call_id, `${path}.call_id`),
        name: required(item.name, `${path}.name`),
        arguments: argumentsOf(item.arguments, `${path}.arguments`),
      }
    case 'function_call_output':
      return {
        ...about(type),
        call_id: required(item.call_id, `${path}.call_id`),
        output: outputOf(item, `${path}.output`, sources),
      }
    case 'reasoning':
      return { ...about(type), ...(await reasoningOf(item, path, sources)) }
    case 'item_reference': {
      const id = required(item.id, `${path}.id`)
      const found = await sources.item(id, index)
      if (found !== undefined) return found
      throw refuse('response_item_not_found', { field: `${path}.id`, id })
    }
    default:
      throw wrong(`${path}.type`, `${JSON.stringify(type)}, which is not available`, known.join(', '))
  }
}

function required(value: string | null | undefined, path: string): string {
  if (value != null) return value
  throw wrong(path, 'nothing', 'a string')
}

/** Types of parts, each with the member that has its text. */
const textParts = ['input_text', 'output_text', 'text', 'summary_text', 'reasoning_text']

function partText(
  piece: { type?: string | null | undefined; text?: string | null | undefined },
  path: string,
): string {
  const type = piece.type ?? 'text'
  if (!textParts.includes(type)) {
    throw wrong(
      `${path}.type`,
      `${JSON.stringify(type)}, which the model does not accept`,
      'input_text, output_text, refusal',
    )
  }
  return required(piece.text, `${path}.text`)
}

type Part = Exclude<InputItem['content'], string | null | undefined>[number]

/** A text or a picture. */
function inputPart(piece: Part, path: string, checkPicture: PictureCheck | undefined): InputPart {
  if (piece.type !== 'input_image' || !checkPicture)
    return { type: 'input_text', text: partText(piece, path) }
  const { image_url: image, file_id: file, detail } = piece
  if (file != null) throw wrong(`${path}.file_id`, JSON.stringify(file), 'null, and the picture in image_url')
  const { url, detail: inner } = typeof image === 'object' ? (image ?? {}) : { url: image }
  const image_url = checkPicture(required(url, `${path}.image_url`), `${path}.image_url`)
  return { type: 'input_image', image_url, detail: detail ?? inner ?? 'auto' }
}

function contentOf(
  { content }: InputItem,
  role: string,
  path: string,
  { checkPicture }: Sources,
): MessagePart[] {
  const ofText = (text: string): MessagePart =>
    role === 'assistant' ? { type: 'output_text', text, annotations: [] } : { type: 'input_text', text }
  if (content == null || typeof content === 'string') return [ofText(required(content, path))]
  return content.map((piece, index) => {
    const at = `${path}.${index}`
    if (piece.type === 'refusal')
      return { type: 'refusal', refusal: required(piece.refusal, `${at}.refusal`) }
    return role === 'assistant' ? ofText(partText(piece, at)) : inputPart(piece, at, checkPicture)
  })
}

function outputOf({ output }: InputItem, path: string, { checkPicture }: Sources): string | InputPart[] {
  if (output == null || typeof output === 'string') return required(output, path)
  return output.map((piece, index) => inputPart(piece, `${path}.${index}`, checkPicture))
}

/** Templates read the arguments by name, so they must be an object. */
function argumentsOf(value: string | null | undefined, path: string): string {
  const text = required(value, path)
  if (text.trim() === '' || isObjectText(text)) return text
  throw wrong(path, JSON.stringify(text.slice(0, 40)), 'a JSON object as a string')
}

/** The thought is in the clear, or sealed, or only its summaries are given. */
async function reasoningOf(
  { content, summary, encrypted_content: sealed }: InputItem,
  path: string,
  { unseal }: Sources,
): Promise<Pick<ReasoningItem, 'summary' | 'content' | 'encrypted_content'>> {
  const summaries = (summary ?? []).map((piece, index) => ({
    type: 'summary_text' as const,
    text: partText(piece, `${path}.summary.${index}`),
  }))
  const clear = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
  const texts = clear.map((piece, index) => partText(piece, `${path}.content.${index}`))
  if (sealed != null) {
    const thought = await unseal(sealed)
    if (thought === undefined)
      throw refuse('invalid_encrypted_content', { field: `${path}.encrypted_content` })
    return {
      summary: summaries,
      content: [{ type: 'reasoning_text', text: thought }],
      encrypted_content: sealed,
    }
  }
  return {
    summary: summaries,
    ...(texts.length > 0 && { content: texts.map((text) => ({ type: 'reasoning_text' as const, text })) }),
  }
}
