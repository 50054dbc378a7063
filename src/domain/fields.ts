import { z } from 'zod'
import { described } from './described.ts'
import { digestOfJson } from './digests.ts'
import { callIdPattern, traceIdPattern } from './ids.ts'
import { JsonText } from './json/text.ts'
import { parseTime } from './time.ts'

/** Field types that the contracts of the record share. */

/**
 * What a contract declares about a schema besides its type. Copies of the schema, such as those made by `.meta()`, keep
 * it.
 */
export const traits = z.registry<{
  /** Its value reaches the rules as the text that was sent. */
  verbatim?: true
  /** A list that may be the bulk of a body. */
  isLong?: true
  /** Its leading transform looks at no other members than its contract has. */
  isTransparent?: true
  /** It accepts the raw bytes of a body, which are not JSON. */
  isBytes?: true
  /** Other names of its fields. */
  aliases?: Readonly<Record<string, string>>
  /** Of a body in one of several forms, the option of the union that it has to fit. */
  optionOf?: (body: object) => number
  /** Not in the OpenAPI document. */
  isHidden?: true
}>()

/** Marks a schema whose value reaches the rules as the text that was sent. */
function verbatim(accepts: (value: JsonText) => boolean, expected: string, json: Record<string, unknown>) {
  const schema = z.custom<JsonText>((value) => value instanceof JsonText && accepts(value), {
    error: (issue) => `expected ${expected}, received ${described(issue.input)}`,
  })
  traits.add(schema, { verbatim: true })
  return schema.meta(json)
}

/** Any JSON object, with the digits of its numbers preserved. */
export const jsonObject = () =>
  verbatim((value) => value.text.startsWith('{'), 'an object', { type: 'object', additionalProperties: true })

/** The same with its digest, which is computed where the body is read. */
export const digestedObject = () => jsonObject().transform((val) => ({ digest: digestOfJson(val.text), val }))

/** Any JSON value, with the digits of its numbers preserved. */
export const jsonValue = (expected = 'a JSON value') => verbatim(() => true, expected, {})

const largest = 2n ** 63n - 1n
const smallest = -(2n ** 63n)

/**
 * The ends of the range as doubles write them. Clients that count in doubles send values between these and the true
 * ends.
 */
const roundedEnd = 9223372036854776000n

const decimal = /^([+-]?\d{1,40})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,3}))?$/

/** The digits of a number that is whole in any notation: 5.0 and 1e3 are, 5.5 is not. */
function wholeNumber(token: string): bigint | undefined {
  const [, whole, fraction = '', exponent = '0'] = decimal.exec(token) ?? []
  if (whole === undefined) return undefined
  const scale = Number(exponent) - fraction.length
  const digits = BigInt(whole + fraction)
  if (digits === 0n) return 0n
  // Far outside 64 bits either way.
  if (scale > 40 || scale < -120) return undefined
  if (scale >= 0) return digits * 10n ** BigInt(scale)
  const divisor = 10n ** BigInt(-scale)
  return digits % divisor === 0n ? digits / divisor : undefined
}

/** A text may have white space around it, as for other numbers. */
function int64Of({ text }: JsonText): bigint | undefined {
  const isText = text.startsWith('"') && text.length <= 100
  const number = wholeNumber(isText ? (JSON.parse(text) as string).trim() : text)
  if (number === undefined || number > roundedEnd || number < -roundedEnd) return undefined
  if (number > largest) return largest
  return number < smallest ? smallest : number
}

/** An integer of 64 bits with all its digits; the rules get a bigint. */
export const int64 = () =>
  verbatim(
    (value) => int64Of(value) !== undefined,
    'a whole number from -9223372036854776000 to 9223372036854776000',
    { type: 'integer', format: 'int64' },
  ).transform((value) => int64Of(value) as bigint)

/**
 * A list with at most `most` items; the rules refuse a list with a few more. For a longer list no item is read: there
 * may be millions.
 */
export function shortList<Item extends z.ZodType>(item: Item, most: number): z.ZodArray<Item> {
  return z.array(item).max(2 * most, `expected at most ${most} entries`)
}

/**
 * An object with `min` to `most` members, whose names the client chooses. The members are counted before they are read.
 */
export function shortRecord<Key extends z.ZodString, Value extends z.ZodType>(
  key: Key,
  value: Value,
  { min = 1, most, things, name }: { min?: number; most: number; things: string; name: string },
) {
  const schema = z.preprocess(
    (value, context) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
      const refused = (input: unknown, path: string[], message: string) =>
        context.issues.push({ code: 'custom', input, path, message })
      const count = Object.keys(value).length
      if (count < min || count > most) refused(value, [], `expected ${min} to ${most} ${things}`)
      // zod's record silently drops this key.
      else if (Object.hasOwn(value, '__proto__'))
        refused('__proto__', ['__proto__'], `expected another ${name}`)
      return value
    },
    z.record(key, value),
  )
  traits.add(schema, { isTransparent: true })
  return schema
}

/**
 * A list that may be the bulk of a body. It is validated in steps, so limits on the list as a whole are up to the
 * rules.
 */
export function longList<Item extends z.ZodType>(item: Item): z.ZodArray<Item> {
  const schema = z.array(item)
  traits.add(schema, { isLong: true })
  return schema
}

/** Text that every engine can store: no U+0000, no half of a surrogate pair. */
export const plainText = (longest: number) =>
  z
    .string()
    .max(longest)
    .refine(
      (text) => !text.includes('\0') && text.isWellFormed(),
      'expected text without U+0000 and without lone surrogates',
    )

/**
 * Text for people to read. Characters that no engine can store are replaced: an exception quotes whatever a program
 * choked on, often cut in the middle of a surrogate pair, and if it were refused its client would send the batch for
 * ever.
 */
export const repairedText = (longest: number) =>
  z
    .string()
    .max(longest)
    .transform((text) => text.replaceAll('\0', '\ufffd').toWellFormed())
    .describe('U+0000 and lone surrogates are replaced by U+FFFD.')

/** As a segment of a URL these mean the folder or its parent, so nothing with that name could be linked to. */
export function isStep(name: string): boolean {
  return name === '.' || name === '..'
}

export const noSteps = 'expected a name other than . and .., which cannot be part of a URL'

/** One of the entities that a user may use; `*` means all of them. */
export const entityName = z
  .string()
  .min(1)
  .max(128)
  .refine(
    (name) => /^[^\s/,+:\0]*$/.test(name) && !isStep(name),
    'expected the name of an entity, or * for all',
  )
  .describe('The name of an entity, or `*` for all.')

export const otherUser = z
  .string()
  .min(1)
  .max(64)
  .optional()
  .describe('Another user than the caller; only for admins.')

// Projects of W&B may have spaces within their names, and their clients send them as they are.
const entityForm = /[^/\s\0]+/.source
const projectForm = /[^/\s\0]+(?: +[^/\s\0]+)*/.source

export const projectId = z
  .string()
  .max(256, { abort: true })
  .regex(new RegExp(`^${entityForm}/${projectForm}$`), {
    error: 'expected the form <entity>/<project>',
    abort: true,
  })
  .refine((id) => !id.split('/').some(isStep), noSteps)
  .refine((id) => id.isWellFormed(), 'expected text without lone surrogates')
  .meta({
    description: 'The project, as <entity>/<project>. It is created by the first write.',
    example: 'acme/qa',
  })

const projectPart = (form: string, expected: string) =>
  z
    .string()
    .max(254, { abort: true })
    .regex(new RegExp(`^${form}$`), { error: expected, abort: true })
    .refine((name) => !isStep(name), noSteps)

/** The same project as two segments of a URL. */
export const projectPath = z
  .object({
    entity: projectPart(entityForm, 'expected text without spaces and slashes').describe(
      'The entity that the project belongs to.',
    ),
    project: projectPart(
      projectForm,
      'expected text without slashes and without spaces at its ends',
    ).describe('The name of the project. It is created by the first write.'),
  })
  .refine(({ entity, project }) => entity.length + project.length <= 255, {
    error: 'expected at most 255 characters together with the entity',
    path: ['project'],
  })

export function projectOf({ entity, project }: z.output<typeof projectPath>): string {
  return `${entity}/${project}`
}

export const callId = z
  .string()
  .regex(callIdPattern, 'expected a UUID or 16 hexadecimal digits')
  .describe('A UUID or an OpenTelemetry span id.')

export const traceId = z
  .string()
  .regex(traceIdPattern, 'expected a UUID or 32 hexadecimal digits')
  .describe('A UUID or an OpenTelemetry trace id.')

const beyondMicroseconds = /:\d{2}[.,]\d{6}\d*[1-9]/

/** The range of microseconds that a double can count ends in the middle of these years. */
const [firstYear, lastYear] = [1684, 2255]

function expectedTime(text: string): string {
  if (beyondMicroseconds.test(text))
    return 'expected at most six decimal places (microseconds); any further digits must be zeros'
  const year = Number(/^(\d{4})-/.exec(text)?.[1])
  if (year <= firstYear || year >= lastYear) return `expected a year from ${firstYear + 1} to ${lastYear - 1}`
  return 'expected a date-time such as 2026-01-31T12:00:00Z'
}

/** ISO 8601 with any offset; the rules get integer microseconds. */
export const dateTime = z
  .string()
  .transform((text, context) => {
    const time = parseTime(text)
    if (time !== undefined) return time
    context.issues.push({
      code: 'custom',
      input: text,
      message: expectedTime(text),
    })
    return z.NEVER
  })
  .meta({ format: 'date-time' })

/**
 * The real clients use Weave's names for some fields (design 6.1). Such a name is used if the field of the spec is
 * absent or null. If both names are given, their values must be equal.
 */
export function withAliases<Shape extends z.ZodType>(aliases: Record<string, string>, schema: Shape) {
  const pairs = Object.entries(aliases)
  const isStrict = schema instanceof z.ZodObject && schema.def.catchall instanceof z.ZodNever
  const aliased = z.preprocess((value, context) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const members = value as Record<string, unknown>
    for (const [alias, name] of pairs) {
      const other = members[alias]
      // A schema that refuses unknown names does not know the alias.
      if (isStrict) delete members[alias]
      if (other == null) continue
      if (members[name] == null) {
        members[name] = other
        rememberSpelling(members, name, alias)
      } else if (!isSame(other, members[name])) {
        const message = `expected the same value as ${name}, which is another name of this field, or none`
        context.issues.push({ code: 'custom', input: other, path: [alias], message })
      }
    }
    return members
  }, schema)
  traits.add(aliased, { aliases })
  return aliased
}

const spellings = new WeakMap<object, Map<string, string>>()

function rememberSpelling(holder: object, name: string, alias: string): void {
  const known = spellings.get(holder)
  if (known === undefined) spellings.set(holder, new Map([[name, alias]]))
  else known.set(name, alias)
}

/** The path in the data that a client sent, with the names that it used. */
export function spelledPath(root: unknown, path: readonly (string | number)[]): (string | number)[] {
  let value = root
  return path.map((key) => {
    if (typeof value !== 'object' || value === null) return key
    const spelled = spellings.get(value)?.get(String(key)) ?? key
    value = (value as Record<string | number, unknown>)[key]
    return spelled
  })
}

/** Fields with two names contain a text, a number or a list of those: no object equals another here. */
function isSame(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b
  return a.length === b.length && a.every((item, index) => isSame(item, b[index]))
}

/** Whether an alias was used, for the rules: their refusals name the field as the client spelled it. */
export const isSpelled = () => hidden(z.preprocess((value) => value !== null, z.boolean()).optional())

/** A field that documents do not list. */
export const hidden = <Schema extends z.ZodType>(schema: Schema): Schema =>
  traits.add(schema, { isHidden: true }) && schema

/**
 * For `z.toJSONSchema`: adds the default of a field that has a transform, which it drops, and leaves out hidden fields.
 */
export function describeFields({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: z.core.$ZodType
  jsonSchema: { properties?: Record<string, unknown> }
}) {
  const { default: absent } = z.globalRegistry.get(zodSchema) ?? {}
  if (absent !== undefined) Object.assign(jsonSchema, { default: absent })
  if (!(zodSchema instanceof z.ZodObject)) return
  for (const [name, member] of Object.entries(zodSchema.shape)) {
    if (traits.get(member as z.core.$ZodType)?.isHidden) delete jsonSchema.properties?.[name]
  }
}

/** A switch, with its value when it is absent or null. */
export const flag = (absent: boolean) => z.boolean().nullish().meta({ default: absent })

type ExplainedFields = Readonly<Record<string, readonly [z.ZodType, description: string]>>

/** The fields of an object, each with its description. */
export function explained<Fields extends ExplainedFields>(fields: Fields) {
  const named = Object.entries(fields).map(([name, [field, description]]) => [
    name,
    field.describe(description),
  ])
  return Object.fromEntries(named) as { -readonly [Name in keyof Fields]: Fields[Name][0] }
}

/** An object of such fields. */
export const explainedObject = <Fields extends ExplainedFields>(fields: Fields) => z.object(explained(fields))

/** The answer of a route. OpenAPI shows the description next to the status. */
export const answer = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.object(shape).describe(description)

/** Filled in by the server from the credentials; a client can only leave it empty. */
export const setByServer = z
  .null({ error: 'is set by the server from the credentials; leave it out or send null' })
  .optional()
  .describe('Set by the server; null or absent.')
