import { JsonNumber } from '../../json/index.ts'
import type { ValueType } from '../call-format.ts'

const all: readonly ValueType[] = ['string', 'number', 'boolean', 'null', 'object', 'array']
const maxDepth = 16

/** The schema of a property of an object; undefined if it is not described. */
export function propertyOf(schema: unknown, key: string, root: unknown): unknown {
  return firstIn(schema, root, ({ properties, additionalProperties }) => {
    if (isObject(properties) && Object.hasOwn(properties, key)) return properties[key]
    return isObject(additionalProperties) ? additionalProperties : undefined
  })
}

/** The schema of the items of an array; undefined if it is not described. */
export function itemOf(schema: unknown, root: unknown): unknown {
  return firstIn(schema, root, ({ items }) => items)
}

/** The result of `pick` for the schema, or else for one that it refers to or is composed of. */
function firstIn(
  schema: unknown,
  root: unknown,
  pick: (schema: Record<string, unknown>) => unknown,
  depth = 0,
): unknown {
  if (!isObject(schema) || depth > maxDepth) return undefined
  const own = pick(schema)
  if (own !== undefined) return own
  const { allOf, anyOf, oneOf } = schema
  for (const branch of [referredTo(schema, root), ...listOf(allOf), ...listOf(anyOf), ...listOf(oneOf)]) {
    const found = firstIn(branch, root, pick, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

/** The types that a value may have. */
export function typesOf(schema: unknown, root: unknown, depth = 0): ReadonlySet<ValueType> {
  const types = new Set(all)
  if (!isObject(schema) || depth > maxDepth) return types
  const keep = (others: ReadonlySet<ValueType>) => {
    for (const type of all) if (!others.has(type)) types.delete(type)
  }
  const listed = typeof schema.type === 'string' ? [schema.type] : listOf(schema.type)
  if (listed.length > 0)
    keep(new Set(listed.map((type) => (type === 'integer' ? 'number' : (type as ValueType)))))
  if (Array.isArray(schema.enum)) keep(new Set(schema.enum.map(typeOf)))
  if ('const' in schema) keep(new Set([typeOf(schema.const)]))
  const referred = referredTo(schema, root)
  if (referred !== undefined) keep(typesOf(referred, root, depth + 1))
  for (const branch of listOf(schema.allOf)) keep(typesOf(branch, root, depth + 1))
  for (const either of [listOf(schema.anyOf), listOf(schema.oneOf)]) {
    if (either.length > 0) keep(new Set(either.flatMap((branch) => [...typesOf(branch, root, depth + 1)])))
  }
  return types
}

export function typeOf(value: unknown): ValueType {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (value instanceof JsonNumber) return 'number'
  const type = typeof value
  return type === 'string' || type === 'number' || type === 'boolean' ? type : 'object'
}

function isObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber)
  )
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The target of a reference inside the same schema. */
function referredTo(schema: Record<string, unknown>, root: unknown): unknown {
  const { $ref } = schema
  if (typeof $ref !== 'string' || !$ref.startsWith('#')) return undefined
  let found: unknown = root
  for (const step of $ref.slice(1).split('/').slice(1)) {
    const key = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(found)) found = found[Number(key)]
    else found = isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined
  }
  return found
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}
