import { described } from '../../domain/fields.ts'
import type { JsonText } from '../../domain/json/text.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'

/** A text, or tokens as they are. */
export type Prompt = { text: string } | { tokens: number[] }

/** Each takes a place in the engine's queue, with all its answers. */
const mostPrompts = 128
const mostTokens = 262_144

const accepted = 'a text, a list of texts, a list of token ids, or a list of such lists'

/** The prompts of a request, in the four forms that clients send. */
export function promptsOf({ value }: JsonText): Prompt[] {
  if (typeof value === 'string') return [{ text: value }]
  if (!Array.isArray(value)) throw wrong('prompt', described(value), accepted)
  if (value.length === 0) throw wrong('prompt', 'an empty list', accepted)
  if (typeof value[0] === 'number') return [{ tokens: tokensOf(value, 'prompt') }]
  if (value.length > mostPrompts) throw wrong('prompt', `${value.length} prompts`, `at most ${mostPrompts}`)
  return value.map((one: unknown, index) => {
    const place = `prompt.${index}`
    if (typeof one === 'string') return { text: one }
    if (Array.isArray(one)) return { tokens: tokensOf(one, place) }
    throw wrong(place, described(one), 'a text or a list of token ids')
  })
}

function tokensOf(list: unknown[], place: string): number[] {
  if (list.length > mostTokens) throw wrong(place, `${list.length} tokens`, `at most ${mostTokens}`)
  const odd = list.findIndex((token) => !Number.isSafeInteger(token) || (token as number) < 0)
  if (odd !== -1) throw wrong(`${place}.${odd}`, described(list[odd]), 'a token id')
  return list as number[]
}

function wrong(field: string, given: string, what: string): Refusal {
  return refuse('invalid_value', { field, given, accepted: what })
}
