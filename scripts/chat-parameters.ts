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
  return tableOf(rowsOf(body))
}

/** The same, but fields that are in every respect those of chat completions are only named. */
export function fieldTableBesideChat(body: z.ZodObject): string {
  const ofChat = rowsOf(ChatBody)
  const rows = rowsOf(body)
  const own = [...rows].filter(([name, row]) => ofChat.get(name) !== row)
  const same = [...rows.keys()].filter((name) => ofChat.get(name) === rows.get(name))
  return `${tableOf(new Map(own))}

These are [the fields of chat completions](chat-parameters.md): ${same.map((name) => `\`${name}\``).join(', ')}.`
}

/** Fields without effect are only named: what there is to say of each is in the API reference. */
function tableOf(rows: ReadonlyMap<string, string>): string {
  const isUnused = (row: string) => row.includes(`| ${effects.none}`)
  const unused = [...rows].filter(([, row]) => isUnused(row)).map(([name]) => `\`${name}\``)
  const table = `| Field | Type, default | What it does |
|---|---|---|
${[...rows.values()].filter((row) => !isUnused(row)).join('\n')}`
  return unused.length === 0 ? table : `${table}\n\nChecked, but without effect: ${unused.join(', ')}.`
}

function rowsOf(body: z.ZodObject): Map<string, string> {
  const { fields, required } = fieldsOf(body)
  return new Map(
    fields.map(({ name, schema }) => {
      const initial = required.includes(name)
        ? ', required'
        : schema.default === undefined
          ? ''
          : `, \`${JSON.stringify(schema.default)}\``
      const effect = effects[effectOf(schema)] ?? ''
      const type = effectOf(schema) === 'refused' ? '' : `${cell(shortTypeOf(schema))}${initial}`
      const text = cell(schema.description ?? '').replace(/^Not supported: (.)/, (_, first: string) =>
        first.toUpperCase(),
      )
      return [name, `| \`${name}\` | ${type} | ${effect}${text} |`]
    }),
  )
}

/** The page says once what a number in brackets and a question mark are. */
const shortTypeOf = (schema: Schema) =>
  typeOf(schema)
    .replace(/ of at most (\d+) (?:characters|entries)/g, ' ($1)')
    .replace(/ or null$/, '?')

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

The fields of \`POST /v1/chat/completions\` are those of OpenAI and vLLM, with vLLM's meaning:

\`\`\`sh
curl -s localhost:8080/v1/chat/completions -H "authorization: Bearer $KEY" -H 'content-type: application/json' -d '{
  "messages": [{"role": "user", "content": "What is the capital of Mali?"}], "max_tokens": 20, "temperature": 0}'
\`\`\`

## Fields

Every field is honoured, or refused by name with a 400. One that is not in the table is named in \`x-heddle-ignored-fields\`, or refused
(HEDDLE_UNKNOWN_FIELDS). Numbers may be sent as text, booleans as 0, 1 or a word such as \`"true"\`. In brackets: the most characters or
entries. \`?\`: \`null\` is accepted.

${fieldTable(ChatBody)}

So it is on models of this machine: [other servers](gateway.md#what-goes-there) get those that they know. \`user\`, \`safety_identifier\` and
\`prompt_cache_key\` also choose among [versions of a prompt](prompts.md#shares).

## Answers

| Field | Value |
|---|---|
| \`choices[].finish_reason\` | \`stop\`, \`length\` (the limit of tokens, or the end of the context), \`repetition\`, \`tool_calls\` (\`stop\` if the request names the tool), \`function_call\` (for \`functions\`), or \`content_filter\` of another server |
| \`choices[].stop_reason\` | the stop text or token that ended the answer, \`repetition_detected\`, or null |
| \`usage.prompt_tokens_details.cached_tokens\` | tokens of the prompt that an earlier request had computed |
| \`usage.completion_tokens_details\` | [\`reasoning_tokens\`](reasoning.md#in-an-answer), and \`accepted_prediction_tokens\` and \`rejected_prediction_tokens\` ([a prediction](speculation.md#a-prediction)), summed over the choices |
| \`bytes\` of a log-probability | the exact bytes of the token. Part of a character has an empty \`token\` |

## Streams

Each chunk has one choice. The first of a choice has \`delta.role\`, its last \`finish_reason\`, and \`data: [DONE]\` ends the stream, after
\`data: {"error": …}\` if it failed. A comment comes every 15 seconds while there is nothing else to send.

## Order of checks

The first that fails decides:

1. credentials (401), size and type of the body (413, 415)
2. JSON and schema, fields that contradict each other (400; \`param\` is the path of the field)
3. a model is loaded (503) and has this name (404)
4. fields that this server does not support; constraint, messages, template; a text far too long for the context (400)
5. room in the queue (429)
6. what depends on the model: prompt length, token ids (400)
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
