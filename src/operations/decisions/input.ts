import { itemsOf } from '../../../packages/json/index.ts'
import { writeJson } from '../../domain/json/text.ts'
import { wrong } from '../../domain/refusals.ts'
import type { DecisionAsked } from '../../inference/decisions/decision.ts'
import type { Contents, DecisionBody, InputItem, Part } from './contract.ts'

/** What the questions are about, as one text. */
type DecisionInput = Pick<DecisionAsked, 'input' | 'instructions' | 'needsServer'>

/** The types of parts that a message of each role may have. */
const partsOf: Record<string, readonly string[]> = {
  user: ['input_text', 'input_image', 'input_json'],
  system: ['input_text'],
  developer: ['input_text'],
  assistant: ['output_text', 'refusal'],
}
const partsOfOutputs = ['input_text', 'input_image']

/** Members that only some types of items and parts have. Another one would be lost, with what it was to say. */
const membersOf: Record<string, readonly string[]> = {
  message: ['role', 'content', 'phase'],
  function_call: ['call_id', 'namespace', 'name', 'arguments'],
  custom_tool_call: ['call_id', 'namespace', 'name', 'input'],
  function_call_output: ['call_id', 'output'],
  custom_tool_call_output: ['call_id', 'output'],
  input_text: ['text'],
  output_text: ['text'],
  input_json: ['data'],
  input_image: ['image_url', 'detail'],
  refusal: ['refusal'],
}
const ofAll = ['type', 'id', 'status', 'prompt_cache_breakpoint']

function checkMembers(type: string, checked: object, path: string): void {
  if (!Object.hasOwn(membersOf, type)) return
  for (const [name, value] of Object.entries(checked)) {
    if (value == null || ofAll.includes(name) || membersOf[type]?.includes(name)) continue
    throw wrong(`${path}.${name}`, `given for a ${type}`, 'nothing')
  }
}

type Image = (path: string) => void

/**
 * A text is itself, and so is the only message of a user. Several items are lines of JSON, because no text in them can
 * then look like another item.
 */
export function inputOf({ input }: Pick<DecisionBody, 'input'>): DecisionInput {
  if (typeof input === 'string') {
    if (input.trim() === '') throw empty()
    return { input, instructions: [] }
  }
  if (input.length === 0) throw wrong('input', 'an empty list', 'a text, or at least one item')
  let needsServer: DecisionInput['needsServer']
  const image: Image = (field) => {
    needsServer ??= { field, value: 'an image' }
  }
  const instructions: string[] = []
  const items: Record<string, unknown>[] = []
  const calls = new Map<string, string>()
  for (const [index, item] of input.entries()) {
    const path = `input.${index}`
    const shown = itemOf(item, path, calls, image)
    const isInstruction = shown.role === 'system' || shown.role === 'developer'
    if (isInstruction && items.length === 0) instructions.push(shown.content as string)
    else items.push(shown)
  }
  const [only] = items
  if (only === undefined) throw wrong('input', 'instructions alone', 'something that the questions are about')
  const isText = items.length === 1 && only.role === 'user'
  if (isText && (only.content as string).trim() === '' && !needsServer) throw empty()
  return {
    input: isText ? (only.content as string) : items.map((item) => writeJson(item)).join('\n'),
    instructions,
    ...(needsServer && { needsServer }),
  }
}

const empty = () => wrong('input', 'an empty text', 'a text, or at least one item')

function itemOf(
  item: InputItem,
  path: string,
  calls: Map<string, string>,
  image: Image,
): Record<string, unknown> {
  const { type, role, content, phase, call_id, name, namespace, output } = item
  const kind = type ?? 'message'
  checkMembers(kind, item, path)
  switch (kind) {
    case 'message': {
      const accepted = role == null ? undefined : partsOf[role]
      if (accepted === undefined || !Object.hasOwn(partsOf, role as string)) {
        throw wrong(`${path}.role`, JSON.stringify(role ?? null), Object.keys(partsOf).join(', '))
      }
      if (content == null) throw wrong(`${path}.content`, 'nothing', 'a text or parts')
      if (phase != null && role !== 'assistant')
        throw wrong(`${path}.phase`, `given for a message of the role ${role}`, 'nothing')
      const text = textOf(content, `${path}.content`, accepted, image)
      return { role, ...(phase != null && { phase }), content: text }
    }
    case 'function_call':
    case 'custom_tool_call': {
      const member = type === 'function_call' ? 'arguments' : 'input'
      for (const needed of ['call_id', 'name', member] as const) {
        if (item[needed] == null) throw wrong(`${path}.${needed}`, 'nothing', 'a text')
      }
      calls.set(call_id as string, kind)
      return { type, call_id, ...(namespace != null && { namespace }), name, [member]: item[member] }
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
      if (call_id == null || `${calls.get(call_id)}_output` !== kind) {
        const accepted = `the call_id of an earlier ${kind.slice(0, -'_output'.length)}`
        throw wrong(`${path}.call_id`, JSON.stringify(call_id ?? null), accepted)
      }
      if (output == null) throw wrong(`${path}.output`, 'nothing', 'a text or parts')
      return { type, call_id, output: textOf(output, `${path}.output`, partsOfOutputs, image) }
    default:
      throw wrong(
        `${path}.type`,
        JSON.stringify(type),
        'message, function_call, function_call_output, custom_tool_call, custom_tool_call_output',
      )
  }
}

const isObjects = (json: string) =>
  json.startsWith('{') || (json.startsWith('[') && itemsOf(json).every((entry) => entry.startsWith('{')))

/** The texts of parts, one after the other on lines of their own. */
export function textOf(contents: Contents, path: string, accepted: readonly string[], image: Image): string {
  if (typeof contents === 'string') return contents
  return contents.map((piece, index) => textOfPart(piece, `${path}.${index}`, accepted, image)).join('\n')
}

function textOfPart(piece: Part, path: string, accepted: readonly string[], image: Image): string {
  const { type, text, refusal, data, image_url } = piece
  if (!accepted.includes(type)) throw wrong(`${path}.type`, JSON.stringify(type), accepted.join(', '))
  checkMembers(type, piece, path)
  switch (type) {
    case 'input_image':
      if (image_url == null) throw wrong(`${path}.image_url`, 'nothing', 'a URL')
      image(path)
      return ''
    case 'input_json':
      if (data == null || !isObjects(data.text)) {
        throw wrong(`${path}.data`, 'no object', 'an object or a list of objects')
      }
      return data.text
    case 'refusal':
      if (refusal == null) throw wrong(`${path}.refusal`, 'nothing', 'a text')
      return refusal
    default:
      if (text == null) throw wrong(`${path}.text`, 'nothing', 'a text')
      return text
  }
}
