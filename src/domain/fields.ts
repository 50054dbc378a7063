import { z } from 'zod'
import { callIdPattern, traceIdPattern } from './ids.ts'
import { JsonText } from './json-text.ts'
import { parseTime } from './time.ts'

/** Field types that the contracts of the record share. */

/** By definition, which a schema shares with its copies. */
const keptDefinitions = new WeakSet<object>()

/** Marks a schema whose value reaches the rules as the text that was sent. */
function kept(accepts: (value: JsonText) => boolean, expected: string, json: Record<string, unknown>) {
  const schema = z.custom<JsonText>((value) => value instanceof JsonText && accepts(value), {
    error: (issue) => `expected ${expected}, received ${described(issue.input)}`,
  })
  keptDefinitions.add(schema.def)
  return schema.meta(json)
}

export function isKept(schema: z.ZodType): boolean {
  return keptDefinitions.has(schema.def)
}

export function described(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (value instanceof JsonText) return described(value.value)
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  const text = JSON.stringify(value)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

/** Any JSON object, kept digit by digit. */
export const jsonObject = () =>
  kept((value) => value.text.startsWith('{'), 'an object', { type: 'object', additionalProperties: true })

/** Any JSON value, kept digit by digit. */
export const jsonValue = () => kept(() => true, 'a JSON value', {})

const longDefinitions = new WeakSet<object>()

/** A list that may be the bulk of a body. It is checked in steps, so what it may hold beside its items is up to the rules. */
export function longList<Item extends z.ZodType>(item: Item): z.ZodArray<Item> {
  const schema = z.array(item)
  longDefinitions.add(schema.def)
  return schema
}

export function isLong(schema: z.ZodType): boolean {
  return longDefinitions.has(schema.def)
}

/** Text that every engine can hold: no U+0000, no half of a surrogate pair. */
export const plainText = (longest: number) =>
  z
    .string()
    .max(longest)
    .refine(
      (text) => !text.includes('\0') && text.isWellFormed(),
      'expected text without U+0000 and without lone surrogates',
    )

/**
 * Text for people to read. What no engine can hold is shown as what it is, unreadable: an exception quotes whatever a
 * program choked on, often cut in the middle of a surrogate pair, and its client would send a refused batch for ever.
 */
export const mendedText = (longest: number) =>
  z
    .string()
    .max(longest)
    .transform((text) => text.replaceAll('\0', '\ufffd').toWellFormed())
    .meta({ description: 'U+0000 and halves of surrogate pairs are kept as U+FFFD.' })

export const projectId = z
  .string()
  .max(256)
  .regex(/^[^/\s\0]+\/[^/\s\0]+$/, 'expected the form <entity>/<project>')
  .refine((id) => id.isWellFormed(), 'expected text without lone surrogates')
  .meta({ description: 'The project, as <entity>/<project>. The first write makes it.', example: 'acme/qa' })

export const callId = z
  .string()
  .regex(callIdPattern, 'expected a UUID or 16 hexadecimal digits')
  .meta({ description: 'A UUID, or a span id of OpenTelemetry.' })

export const traceId = z
  .string()
  .regex(traceIdPattern, 'expected a UUID or 32 hexadecimal digits')
  .meta({ description: 'A UUID, or a trace id of OpenTelemetry.' })

/** ISO 8601 with any offset; the rules see integer microseconds. */
export const dateTime = z
  .string()
  .transform((text, context) => {
    const time = parseTime(text)
    if (time !== undefined) return time
    context.issues.push({
      code: 'custom',
      input: text,
      message: 'expected a date-time such as 2026-01-31T12:00:00Z',
    })
    return z.NEVER
  })
  .meta({ format: 'date-time' })

/** The real clients use the names of Weave for some fields (design 6.1); the spec's name wins when both are there. */
export function withAliases<Shape extends z.ZodType>(aliases: Record<string, string>, schema: Shape) {
  const pairs = Object.entries(aliases)
  return z.preprocess((value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const given = value as Record<string, unknown>
    for (const [alias, name] of pairs) {
      if (given[alias] !== undefined && given[name] === undefined) given[name] = given[alias]
    }
    return given
  }, schema)
}

/** Filled in by the server from the credentials; a client may only leave it empty. */
export const setByServer = z
  .null({ error: 'is set by the server from the credentials; leave it out or send null' })
  .optional()
  .meta({ description: 'Set by the server; null or absent.' })
