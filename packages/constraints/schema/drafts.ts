import { isExactNumber } from '../exact-number.ts'
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
  const given: Record<string, unknown> = { ...schema }
  const all: unknown[] = []
  const moved: { schema: unknown; steps: readonly (string | number)[] }[] = []
  bounds(given, 'minimum', 'exclusiveMinimum')
  bounds(given, 'maximum', 'exclusiveMaximum')
  required(given)
  for (const keyword of counts) if (isExactNumber(given[keyword])) given[keyword] = countOf(given[keyword])
  if (isRecord(given.dependencies)) {
    given.dependencies = mapped(given.dependencies, (then) => (typeof then === 'string' ? [then] : then))
  }
  if (draft === 3) {
    if ('divisibleBy' in given) given.multipleOf ??= given.divisibleBy
    delete given.divisibleBy
    for (const [i, part] of [given.extends ?? []].flat().entries()) {
      all.push(part)
      moved.push({ schema: part, steps: Array.isArray(given.extends) ? ['extends', i] : ['extends'] })
    }
    delete given.extends
    if ('disallow' in given) all.push({ not: { type: given.disallow } })
    delete given.disallow
    const types = [given.type ?? []].flat()
    if (types.includes('any')) delete given.type
    else if (types.some(isRecord)) {
      all.push({ anyOf: types.map((type) => (isRecord(type) ? type : { type })) })
      for (const [i, type] of types.entries()) moved.push({ schema: type, steps: ['type', i] })
      delete given.type
    }
  }
  if (draft < 2020 && 'prefixItems' in given && isRecord(given.items)) {
    // In these drafts `items` applies to all items.
    all.push({ items: given.items })
    moved.push({ schema: given.items, steps: ['items'] })
    delete given.items
  }
  for (const keyword of ['$dynamicRef', '$recursiveRef']) {
    if (!(keyword in given)) continue
    if ('$ref' in given) all.push({ $ref: given[keyword] })
    else given.$ref = given[keyword]
    delete given[keyword]
  }
  if (all.length > 0) {
    given.allOf = [...(Array.isArray(given.allOf) ? given.allOf : []), ...all]
  }
  return { schema: given, moved }
}

/** Until draft 4 a boolean specified whether the bound is exclusive. */
function bounds(given: Record<string, unknown>, bound: string, exclusive: string): void {
  if (!isBoolean(given[exclusive])) return
  if (given[exclusive] === true && bound in given) {
    given[exclusive] = given[bound]
    delete given[bound]
  } else delete given[exclusive]
}

/** In draft 3 a member itself specifies that it is required. */
function required(given: Record<string, unknown>): void {
  if (isBoolean(given.required)) delete given.required
  if (!isRecord(given.properties)) return
  const names = Object.entries(given.properties)
    .filter(([, part]) => isRecord(part) && part.required === true)
    .map(([name]) => name)
  if (names.length > 0) {
    given.required = [...new Set([...(Array.isArray(given.required) ? given.required : []), ...names])]
  }
}

/** An own member even if the name is `__proto__`. */
function mapped(schemas: Schema, change: (part: unknown) => unknown): Schema {
  return Object.fromEntries(Object.entries(schemas).map(([name, part]) => [name, change(part)]))
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean'
}
