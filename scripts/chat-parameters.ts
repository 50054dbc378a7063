import { z } from 'zod'
import { ChatBody } from '../src/operations/chat/contract.ts'
import { cell, generated } from './pages.ts'

interface Schema {
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
  'x-default'?: unknown
  'x-effect'?: string
}

const effects: Record<string, string> = {
  partly: '**In part.** ',
  none: '**No effect.** ',
  refused: '**Refused.** ',
}

/** What every field of a chat completion does here, from its contract. */
export function chatParametersPage(): string {
  const { properties = {}, required = [] } = z.toJSONSchema(ChatBody, {
    io: 'input',
    unrepresentable: 'any',
  }) as { properties?: Record<string, Schema>; required?: string[] }
  const rows = Object.entries(properties).map(([name, schema]) => {
    const initial = required.includes(name)
      ? 'required'
      : schema['x-default'] === undefined
        ? ''
        : `\`${JSON.stringify(schema['x-default'])}\``
    const effect = effects[schema['x-effect'] ?? ''] ?? ''
    return `| \`${name}\` | ${cell(typeOf(schema))} | ${initial} | ${effect}${cell(schema.description ?? '')} |`
  })
  return `${generated}

# Fields of POST /v1/chat/completions

Every field is honoured, or refused by name with a 400 before the first byte of an answer; those that can have no effect here say
so. A field that is not in this table is ignored, and named in the log at level debug. Numbers may also come as their text, and
flags as 0, 1 or a word such as \`"true"\`; \`null\` is taken where the table says so and nowhere else. The meaning is that of
vLLM, from which these fields come.

| Field | Type | Default | What it does |
|---|---|---|---|
${rows.join('\n')}

## Order of the checks

A request is refused for the first of these that is wrong: credentials (401), size and type of the body (413, 415), JSON and schema
(400, \`param\` is the path of the field), fields that do not fit together (400), whether a model is there (503) and has this name (404), fields
that this server does not offer (400), constraint, messages and template (400), a text that is far too long (400), whether there is room in
the model's queue (429), then what only the model knows: length, token ids (400). A stream is refused in the same way; its head is sent when the request has its place.

## Answers

\`choices[].finish_reason\` is \`stop\`, \`length\` (the limit of tokens, or the end of the context) or \`repetition\`.
\`choices[].stop_reason\` is the stop text or the stop token that ended the answer, \`repetition_detected\`, or null.
\`usage.prompt_tokens_details.cached_tokens\` says how much of the prompt was still there from an earlier request. \`bytes\` of a
log-probability are the true bytes of the token, also of one that is half a character, whose \`token\` is then empty.

In a stream each chunk has one choice. The first chunk of a choice has \`delta.role\`, its last one \`finish_reason\`; the stream ends with
\`data: [DONE]\`. A failure in the middle is \`data: {"error": …}\` before that. While nothing comes, a comment is sent every 15 seconds.
`
}

function typeOf(schema: Schema): string {
  return [...new Set(alternativesOf(schema).map(oneType))].join(' or ')
}

function alternativesOf({ anyOf, type, ...rest }: Schema): Schema[] {
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

/** Ends that say no more than the type does. */
const isEnd = (value: number | undefined) => value === undefined || Math.abs(value) >= 2 ** 31 - 1
