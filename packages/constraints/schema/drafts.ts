import { JsonNumber } from '../../json/index.ts'
import { countOf, isRecord } from './keywords.ts'

/** The drafts of JSON Schema by number; the last two are 2019-09 and 2020-12. */
export type Draft = 3 | 4 | 6 | 7 | 2019 | 2020

type Schema = Readonly<Record<string, unknown>>

const published: readonly (readonly [name: RegExp, draft: Draft])[] = [
  [/\/draft-03\//, 3],
  [/\/draft-04\//, 4],
  [/\/draft-0[56]\//, 6],
  [/\/draft-07\//, 7],
  [/\/draft\/2019-09\//, 2019],
  [/\/draft\/2020-12\//, 2020],
]

/** The draft that a `$schema` names. */
export function namedDraft(name: unknown): Draft | undefined {
  if (typeof name !== 'string') return undefined
  return published.find(([pattern]) => pattern.test(`${name}/`.replace(/#?\/$/, '/')))?.[1]
}

/** The draft that the way a schema is written suggests, if none is named. */
export function guessedDraft(schema: Schema): Draft | undefined {
  const { required, id, exclusiveMinimum, exclusiveMaximum } = schema
  if (typeof required === 'boolean' || 'divisibleBy' in schema || 'disallow' in schema) return 3
  if (typeof id === 'string' || [exclusiveMinimum, exclusiveMaximum].some(isBoolean)) return 4
  if ('definitions' in schema || 'dependencies' in schema || Array.isArray(schema.items)) return 7
  return undefined
}

const counts = [
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'],
  ...['minContains', 'maxContains'],
]

/** A schema with its keywords translated, and the original locations of the schemas in it. */
interface Translation {
  /** In the keywords of the latest draft, except that lists of `items` stay as they are. */
  schema: Schema
  /** Schemas that have moved, with the steps of their original path. */
  moved: readonly { schema: unknown; steps: readonly (string | number)[] }[]
}

/**
 * Translates a schema of any draft to the keywords that the compiler knows. Keywords of later drafts mean the same in
 * earlier ones, unless they could mean something else there.
 */
export function translateSchema(schema: Schema, draft: Draft): Translation {
  const copy: Record<string, unknown> = { ...schema }
  const all: unknown[] = []
  const moved: { schema: unknown; steps: readonly (string | number)[] }[] = []
  bounds(copy, 'minimum', 'exclusiveMinimum')
  bounds(copy, 'maximum', 'exclusiveMaximum')
  required(copy)
  for (const keyword of counts)
    if (copy[keyword] instanceof JsonNumber) copy[keyword] = countOf(copy[keyword])
  if (isRecord(copy.dependencies)) {
    copy.dependencies = mapped(copy.dependencies, (then) => (typeof then === 'string' ? [then] : then))
  }
  if (draft === 3) {
    if ('divisibleBy' in copy) copy.multipleOf ??= copy.divisibleBy
    delete copy.divisibleBy
    for (const [i, inner] of [copy.extends ?? []].flat().entries()) {
      all.push(inner)
      moved.push({ schema: inner, steps: Array.isArray(copy.extends) ? ['extends', i] : ['extends'] })
    }
    delete copy.extends
    if ('disallow' in copy) all.push({ not: { type: copy.disallow } })
    delete copy.disallow
    const types = [copy.type ?? []].flat()
    if (types.includes('any')) delete copy.type
    else if (types.some(isRecord)) {
      all.push({ anyOf: types.map((type) => (isRecord(type) ? type : { type })) })
      for (const [i, type] of types.entries()) moved.push({ schema: type, steps: ['type', i] })
      delete copy.type
    }
  }
  if (draft < 2020 && 'prefixItems' in copy && isRecord(copy.items)) {
    // In these drafts `items` applies to all items.
    all.push({ items: copy.items })
    moved.push({ schema: copy.items, steps: ['items'] })
    delete copy.items
  }
  for (const keyword of ['$dynamicRef', '$recursiveRef']) {
    if (!(keyword in copy)) continue
    if ('$ref' in copy) all.push({ $ref: copy[keyword] })
    else copy.$ref = copy[keyword]
    delete copy[keyword]
  }
  if (all.length > 0) {
    copy.allOf = [...(Array.isArray(copy.allOf) ? copy.allOf : []), ...all]
  }
  return { schema: copy, moved }
}

/** Until draft 4 a boolean specified whether the bound is exclusive. */
function bounds(schema: Record<string, unknown>, bound: string, exclusive: string): void {
  if (!isBoolean(schema[exclusive])) return
  if (schema[exclusive] === true && bound in schema) {
    schema[exclusive] = schema[bound]
    delete schema[bound]
  } else delete schema[exclusive]
}

/** In draft 3 a member itself specifies that it is required. */
function required(schema: Record<string, unknown>): void {
  if (isBoolean(schema.required)) delete schema.required
  if (!isRecord(schema.properties)) return
  const names = Object.entries(schema.properties)
    .filter(([, member]) => isRecord(member) && member.required === true)
    .map(([name]) => name)
  if (names.length > 0) {
    schema.required = [...new Set([...(Array.isArray(schema.required) ? schema.required : []), ...names])]
  }
}

/** An own member even if the name is `__proto__`. */
function mapped(schemas: Schema, change: (member: unknown) => unknown): Schema {
  return Object.fromEntries(Object.entries(schemas).map(([name, member]) => [name, change(member)]))
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean'
}
