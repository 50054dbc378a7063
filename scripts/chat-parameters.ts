import { z } from 'zod'
import { describeFields } from '../src/domain/fields.ts'
import { ChatBody } from '../src/operations/chat/contract.ts'
import { cell, generated } from './pages.ts'

export interface Schema {
  type?: string | string[]
  anyOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  items?: Schema
  properties?: Record<string, Schema>
  minimum?: number
  exclusiveMinimum?: number
  maximum?: number
  maxItems?: number
  maxLength?: number
  format?: string
  description?: string
  default?: unknown
  'x-effect'?: string
}

const effects: Record<string, string> = {
  partly: '**In part.** ',
  none: '**No effect.** ',
  refused: '**Refused.** ',
}

/** What each field of a body does in Heddle, from its contract. */
export function fieldTable(body: z.ZodObject): string {
  const { fields, required } = fieldsOf(body)
  const rows = fields.map(({ name, schema }) => {
    const initial = required.includes(name)
      ? 'required'
      : schema.default === undefined
        ? ''
        : `\`${JSON.stringify(schema.default)}\``
    const effect = effects[effectOf(schema)] ?? ''
    return `| \`${name}\` | ${cell(typeOf(schema))} | ${initial} | ${effect}${cell(schema.description ?? '')} |`
  })
  return `| Field | Type | Default | What it does |
|---|---|---|---|
${rows.join('\n')}`
}

export function fieldsOf(body: z.ZodObject): {
  fields: { name: string; schema: Schema }[]
  required: string[]
} {
  const { properties = {}, required = [] } = z.toJSONSchema(body, {
    io: 'input',
    unrepresentable: 'any',
    override: describeFields,
  }) as { properties?: Record<string, Schema>; required?: string[] }
  return { fields: Object.entries(properties).map(([name, schema]) => ({ name, schema })), required }
}

export function effectOf(schema: Schema): 'honoured' | 'partly' | 'none' | 'refused' {
  const effect = schema['x-effect']
  return effect === 'partly' || effect === 'none' || effect === 'refused' ? effect : 'honoured'
}

export function chatParametersPage(): string {
  return `${generated}

# Chat parameters

What each field of \`POST /v1/chat/completions\` does. The fields are those of OpenAI and vLLM, with vLLM's meaning.

Every field is honoured, or refused by name with a 400 before the first byte of the answer. A field that can have no effect here is
marked **No effect**. A field that is not in the table is ignored, and named in the log at level debug. Numbers may also be sent
as text, and booleans as 0, 1 or a word such as \`"true"\`. \`null\` is accepted only where the table says so.

## Fields

${fieldTable(ChatBody)}

## Answers

| Field | Value |
|---|---|
| \`choices[].finish_reason\` | \`stop\`, \`length\` (the limit of tokens, or the end of the context), \`repetition\`, \`tool_calls\` (with whole calls that the model chose to make; \`stop\` if the request names the tool), \`function_call\` (the same for \`functions\`), or \`content_filter\` of another server |
| \`choices[].stop_reason\` | the stop text or the stop token that ended the answer, \`repetition_detected\`, or null |
| \`usage.prompt_tokens_details.cached_tokens\` | tokens of the prompt that were cached from an earlier request |
| \`usage.completion_tokens_details.accepted_prediction_tokens\`, \`rejected_prediction_tokens\` | tokens of \`prediction\` that the answer has where they were predicted, and all other tokens of \`prediction\`; summed over the choices. Unlike at OpenAI, rejected tokens are not part of \`completion_tokens\` |
| \`bytes\` of a log-probability | the exact bytes of the token. A token that is part of a character has an empty \`token\` and its bytes here |

## Streams

Each chunk has one choice. The first chunk of a choice has \`delta.role\`, its last one has \`finish_reason\`, and \`data: [DONE]\` ends
the stream. An error during the stream is sent as \`data: {"error": …}\` before \`[DONE]\`. A comment is sent every 15 seconds while there is
nothing else to send.

## Order of checks

A request is refused for the first of these that fails. A stream is checked in the same way, before its status line is sent.

| Check | Status |
|---|---|
| credentials | 401 |
| size and type of the body | 413, 415 |
| JSON and schema; \`param\` is the path of the field | 400 |
| fields that contradict each other | 400 |
| a model is loaded | 503 |
| the model has this name | 404 |
| fields that this server does not support | 400 |
| constraint, messages and template | 400 |
| a text far too long for the context | 400 |
| room in the queue | 429 |
| what depends on the model: prompt length, token ids | 400 |
`
}

export function typeOf(schema: Schema): string {
  return [...new Set(alternativesOf(schema).map(oneType))].join(' or ')
}

export function alternativesOf({ anyOf, type, ...rest }: Schema): Schema[] {
  if (anyOf) return anyOf.flatMap(alternativesOf)
  return type === undefined ? [rest] : [type].flat().map((one) => ({ ...rest, type: one }))
}

function oneType(schema: Schema): string {
  const { type, maxItems, maxLength, format, items } = schema
  if (schema.enum) return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(', ')
  switch (type) {
    case 'array':
      return `list${items?.type === undefined ? '' : ` of ${items.type}s`}${bounded(maxItems, 'entries')}`
    case 'string':
      return `string${bounded(maxLength, 'characters')}`
    case 'integer':
      return format === 'int64' ? 'integer of 64 bits' : `integer${rangeOf(schema)}`
    case 'number':
      return `number${rangeOf(schema)}`
    default:
      return String(type ?? 'any')
  }
}

const bounded = (most: number | undefined, things: string) =>
  most === undefined ? '' : ` of at most ${most} ${things}`

function rangeOf({ minimum, exclusiveMinimum, maximum }: Schema): string {
  const from =
    exclusiveMinimum === undefined ? (isEnd(minimum) ? '' : ` from ${minimum}`) : ` above ${exclusiveMinimum}`
  return `${from}${isEnd(maximum) ? '' : ` to ${maximum}`}`
}

/** Bounds that say no more than the type does. */
const isEnd = (value: number | undefined) => value === undefined || Math.abs(value) >= 2 ** 31 - 1
