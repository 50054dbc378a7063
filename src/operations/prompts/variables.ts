import { z } from 'zod'
import { compactJson } from '../../../packages/json/index.ts'
import { Value } from '../objects/values.ts'

/** What a prompt declares about a variable. One that it does not declare is a text. */
export const VariableType = z.strictObject({
  type: z.enum(['string', 'number', 'integer', 'boolean', 'json']).default('string'),
  description: z.string().max(4096).optional(),
  enum: z
    .array(z.union([z.string(), z.number()]))
    .min(1)
    .max(1000)
    .optional(),
  default: z.unknown().optional(),
})
export type VariableType = z.output<typeof VariableType>

export const plainVariable: VariableType = { type: 'string' }

const accepted: Record<VariableType['type'], string> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  json: 'a JSON value',
}

/** The text that a value of a variable stands for; undefined if it does not have the type. */
export function textOfValue({ type, enum: among }: VariableType, json: string): string | undefined {
  const text = typedText(type, json)
  if (text === undefined || among === undefined) return text
  return among.some((value) => String(value) === text) ? text : undefined
}

function typedText(type: VariableType['type'], json: string): string | undefined {
  if (type === 'json') return compactJson(json)
  if (type === 'string') return ownText(json)
  if (type === 'boolean') return json === 'true' || json === 'false' ? json : undefined
  if (!/^-?\d/.test(json)) return undefined
  return type === 'number' || Number.isInteger(Number(json)) ? json : undefined
}

/** OpenAI's clients also send a text as a part of a message. */
function ownText(json: string): string | undefined {
  const value = new Value(json)
  return value.member('type')?.string === 'input_text' ? value.member('text')?.string : value.string
}

/** The values that a variable accepts, in words. */
export function expectedOf({ type, enum: among }: VariableType): string {
  return accepted[type] + (among === undefined ? '' : ` among ${JSON.stringify(among).slice(1, -1)}`)
}

export const fieldOf = (variable: string) => `prompt.variables.${variable}`
