import type { RequestField } from './field.ts'
import { requestFields } from './request-fields.ts'

export interface FieldGroup {
  name: string
  fields: readonly RequestField[]
  /** Closed until something is searched for or set in it. */
  isRare: boolean
}

const named: [name: string, fields: string][] = [
  ['Model', 'model'],
  ['Sampling', 'temperature top_p top_k min_p seed n frequency_penalty presence_penalty repetition_penalty'],
  [
    'Length and stopping',
    'max_completion_tokens min_tokens stop stop_token_ids ignore_eos include_stop_str_in_output',
  ],
  ['Probabilities', 'logprobs top_logprobs prompt_logprobs'],
  ['Structured output', 'response_format structured_outputs'],
  ['Tools', 'tools tool_choice parallel_tool_calls functions function_call'],
  ['Thinking', 'reasoning_effort thinking_token_budget include_reasoning'],
]

const usual = new Set(['Model', 'Sampling', 'Length and stopping', 'Probabilities'])

/** Every field is in one group; fields that are named above nowhere come last. */
export const fieldGroups: readonly FieldGroup[] = (() => {
  const left = new Map(requestFields.map((field) => [field.name, field]))
  const groups: FieldGroup[] = []
  const add = (name: string, fields: readonly RequestField[]) => {
    for (const field of fields) left.delete(field.name)
    if (fields.length > 0) groups.push({ name, fields, isRare: !usual.has(name) })
  }
  for (const [name, fields] of named)
    add(
      name,
      fields.split(' ').flatMap((one) => left.get(one) ?? []),
    )
  const rest = [...left.values()]
  add(
    'More',
    rest.filter(({ effect }) => effect === 'honoured' || effect === 'partly'),
  )
  add(
    'No effect here',
    rest.filter(({ effect }) => effect === 'none'),
  )
  add(
    'Refused here',
    rest.filter(({ effect }) => effect === 'refused'),
  )
  return groups
})()
