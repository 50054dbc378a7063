import { described } from '../../domain/described.ts'
import type { Input } from '../../inference/model.ts'
import { wrong } from '../generation/checks.ts'
import type { CompletionBody } from './contract.ts'

/** Each prompt is queued on its own, with all its answers. */
const mostPrompts = 128
const mostTokens = 262_144

const accepted = 'a string, a list of strings, a list of token ids, or a list of such lists'

/** The prompts of a request, in the four forms that clients send. */
export function promptsOf({ prompt: { value }, add_special_tokens }: CompletionBody): Input[] {
  const textInput = (text: string): Input => ({ text, addSpecial: add_special_tokens ?? true })
  if (typeof value === 'string') return [textInput(value)]
  if (!Array.isArray(value)) throw wrong('prompt', described(value), accepted)
  if (value.length === 0) throw wrong('prompt', 'an empty list', accepted)
  if (typeof value[0] === 'number') return [{ tokens: tokensOf(value, 'prompt') }]
  if (value.length > mostPrompts) throw wrong('prompt', `${value.length} prompts`, `at most ${mostPrompts}`)
  return value.map((one: unknown, index) => {
    const path = `prompt.${index}`
    if (typeof one === 'string') return textInput(one)
    if (Array.isArray(one)) return { tokens: tokensOf(one, path) }
    throw wrong(path, described(one), 'a string or a list of token ids')
  })
}

function tokensOf(list: unknown[], path: string): number[] {
  if (list.length > mostTokens) throw wrong(path, `${list.length} tokens`, `at most ${mostTokens}`)
  const odd = list.findIndex((token) => !Number.isSafeInteger(token) || (token as number) < 0)
  if (odd !== -1) throw wrong(`${path}.${odd}`, described(list[odd]), 'a token id')
  return list as number[]
}
