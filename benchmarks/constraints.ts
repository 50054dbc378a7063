import type { Constraint, TurnConstraint } from '../packages/chat-format/index.ts'
import { hermes } from '../packages/chat-format/index.ts'
import type { Sampling } from '../packages/engine/index.ts'

const text = (maxLength: number) => ({ type: 'string', maxLength })
const small = {
  type: 'object',
  properties: {
    name: text(40),
    age: { type: 'integer', minimum: 0, maximum: 120 },
    married: { type: 'boolean' },
  },
  required: ['name', 'age', 'married'],
  additionalProperties: false,
}
const large = {
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [
      `member_${i}`,
      [
        text(60),
        { type: 'number' },
        small,
        { type: 'array', items: text(20), maxItems: 5 },
        { enum: ['low', 'high'] },
      ][i % 5],
    ]),
  ),
  required: Array.from({ length: 40 }, (_, i) => `member_${i}`),
  additionalProperties: false,
}
/** The constraints of the answers. */
export const constraints: Record<string, Constraint> = {
  'a small schema': { kind: 'json', schema: small },
  'a large schema': { kind: 'json', schema: large },
  'any object': { kind: 'json_object' },
  'a regular expression': { kind: 'regex', regex: '([A-Z][a-z]{2,9} ){8,20}\\d{4}-\\d{2}' },
  'one of 1,000': {
    kind: 'json',
    schema: {
      type: 'array',
      items: { enum: Array.from({ length: 1000 }, (_, i) => `choice ${(i * 7919) % 100_003}`) },
      minItems: 20,
      maxItems: 40,
    },
  },
}
const tool = (name: string, parameters: unknown) => ({ name, parameters, strict: false })
const calls = (tools: ReturnType<typeof tool>[], choice: 'auto' | 'required'): TurnConstraint => ({
  kind: 'turn',
  thought: 'over',
  calls: { format: hermes, tools, choice, isParallel: true },
})
/** Constraints of a conversation with tools: an answer without a call, and the text inside a call. */
export const turns: Record<string, TurnConstraint> = {
  'free text with 64 tools': calls(
    Array.from({ length: 64 }, (_, i) => tool(`tool_${i}`, i % 2 === 0 ? small : large)),
    'auto',
  ),
  'the text of an argument': calls(
    [
      tool('write', {
        type: 'object',
        properties: { text: { type: 'string' } },
        required: ['text'],
        additionalProperties: false,
      }),
    ],
    'required',
  ),
}
/** The most common settings. */
export const samplings: Record<string, Partial<Sampling>> = {
  'temperature 0': { temperature: 0 },
  'temperature 0.8': { temperature: 0.8 },
  'temperature 1, top_p 0.95': { topP: 0.95 },
}
