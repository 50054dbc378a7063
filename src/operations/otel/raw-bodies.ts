import { itemsOf, membersOf } from '../../../packages/json/index.ts'
import { JsonText } from '../../domain/json/text.ts'
import { opened } from './attribute-values.ts'
import type { Payload } from './event-messages.ts'
import type { Attributes } from './span.ts'

/** Where OpenInference has the body of a request or an answer beside its messages, and the lists that a whole body has. */
const bodies: { [attribute: string]: readonly [body: string, ...lists: string[]] } = {
  'llm.input_messages': ['input.value', 'messages'],
  'llm.output_messages': ['output.value', 'choices', 'generations', 'output', 'content'],
}

/**
 * The body that flattened messages were made of, where it is all there: its flattened form may lack the system, thoughts,
 * pictures and the ids of calls.
 */
export function rawBody(attributes: Attributes, attribute: string): Payload | undefined {
  const [body = '', ...lists] = bodies[attribute] ?? []
  const value = attributes.get(body)
  const json = value === undefined ? undefined : opened(value)
  if (!(json instanceof JsonText) || !json.text.startsWith('{')) return undefined
  const members = membersOf(json.text)
  const isWhole = lists.some((name) => {
    const list = members.get(name)
    return list?.startsWith('[') && /^[[{]/.test(itemsOf(list)[0] ?? '')
  })
  return isWhole ? { name: 'value', value: json, taken: [body] } : undefined
}
