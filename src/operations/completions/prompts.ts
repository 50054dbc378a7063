import { described } from '../../domain/described.ts'
import type { Input } from '../../inference/model.ts'
import { wrong } from '../generation/checks.ts'
import type { CompletionBody } from './contract.ts'

/** Each prompt is queued on its own, with all its answers. */
const maxPrompts = 128
const maxTokens = 262_144

const accepted = 'a string, a list of strings, a list of token ids, or a list of such lists'

/** The prompts of a request, in the four forms that clients send. */
export function promptsOf({ prompt: { value }, add_special_tokens }: CompletionBody): Input[] {
  const textInput = (text: string): Input => ({ text, addSpecial: add_special_tokens ?? true })
  if (typeof value === 'string') return [textInput(value)]
  if (!Array.isArray(value)) throw wrong('prompt', described(value), accepted)
  if (value.length === 0) throw wrong('prompt', 'an empty list', accepted)
  if (typeof value[0] === 'number') return [{ tokens: tokensOf(value, 'prompt') }]
  if (value.length > maxPrompts) throw wrong('prompt', `${value.length} prompts`, `at most ${maxPrompts}`)
  return value.map((prompt: unknown, index) => {
    const path = `prompt.${index}`
    if (typeof prompt === 'string') return textInput(prompt)
    if (Array.isArray(prompt)) return { tokens: tokensOf(prompt, path) }
    throw wrong(path, described(prompt), 'a string or a list of token ids')
  })
}

function tokensOf(list: unknown[], path: string): number[] {
  if (list.length > maxTokens) throw wrong(path, `${list.length} tokens`, `at most ${maxTokens}`)
  const odd = list.findIndex((token) => !Number.isSafeInteger(token) || (token as number) < 0)
  if (odd !== -1) throw wrong(`${path}.${odd}`, described(list[odd]), 'a token id')
  return list as number[]
}
