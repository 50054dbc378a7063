import { z } from 'zod'
import { plainText } from '../../domain/fields.ts'
import { flawOfSchema } from '../../domain/json-schemas.ts'
import { JsonText, membersOf } from '../../domain/json-text.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'

/** A schema is compiled whenever a value is checked against it. */
const longestSchema = 64 * 1024

/** What annotations of one name look like. `unique_among_creators` and `op_scope` are kept and not enforced. */
export const AnnotationSpec = z.object({
  name: plainText(1024).nullish(),
  description: plainText(64 * 1024).nullish(),
  field_schema: z
    .unknown()
    .optional()
    .transform((schema, context) => {
      const given = schema ?? {}
      const flaw =
        JSON.stringify(given).length > longestSchema
          ? `it is longer than ${longestSchema} characters`
          : flawOfSchema(given)
      if (flaw === undefined) return given as Record<string, unknown> | boolean
      context.issues.push({ code: 'custom', input: schema, message: `expected a JSON Schema, but ${flaw}` })
      return z.NEVER
    }),
  unique_among_creators: z.boolean().optional(),
  op_scope: z.array(plainText(2048)).max(1000).nullish(),
})
export type AnnotationSpec = z.output<typeof AnnotationSpec>

const defaults = new Map([
  ['name', 'null'],
  ['description', 'null'],
  ['field_schema', '{}'],
  ['unique_among_creators', 'false'],
  ['op_scope', 'null'],
])

const marks = new Map([
  ['_type', '"AnnotationSpec"'],
  ['_class_name', '"AnnotationSpec"'],
  ['_bases', '["BaseObject","BaseModel"]'],
])

/** The value with its defaults and class marks; refuses what is no annotation spec. `place` is where it was given. */
export function annotationSpecOf(given: JsonText, place: readonly string[]): JsonText {
  const value: unknown = given.value ?? JSON.parse(given.text)
  const result = AnnotationSpec.safeParse(value)
  if (!result.success) throw wrong(result.error, place)
  const members = new Map([...defaults, ...membersOf(given.text), ...marks])
  const text = `{${[...members].map(([name, member]) => `${JSON.stringify(name)}:${member}`).join(',')}}`
  return new JsonText(text, JSON.parse(text))
}

function wrong(error: z.ZodError, place: readonly string[]): Refusal {
  const detail = error.issues.map(({ path, message, code }) => ({
    loc: ['body', ...place, ...path.map((key) => (typeof key === 'symbol' ? String(key) : key))],
    msg: message.replace(/^Invalid input: /, ''),
    type: code,
  }))
  const [first] = detail
  const field = first?.loc.slice(1).join('.') ?? place.join('.')
  return refuse('invalid_request', { what: `${field}: ${first?.msg}`, field }, detail)
}
