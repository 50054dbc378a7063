import type { ValueType } from '../call-format.ts'

const all: readonly ValueType[] = ['string', 'number', 'boolean', 'null', 'object', 'array']
const mostDepth = 16

/** The types that the value of an argument may have by the schema of the arguments. */
export function typesOfArgument(parameters: unknown, key: string): ReadonlySet<ValueType> {
  return typesOf(schemaOfArgument(parameters, key), parameters)
}

/** The schema of a property of an object. Undefined where the schema says nothing about it. */
export function schemaOfArgument(schema: unknown, key: string, root = schema, depth = 0): unknown {
  if (!isObject(schema) || depth > mostDepth) return undefined
  const own = isObject(schema.properties) ? ownOf(schema.properties, key) : undefined
  if (own !== undefined) return own
  const referred = referredTo(schema, root)
  const parts = [referred, ...listOf(schema.allOf), ...listOf(schema.anyOf), ...listOf(schema.oneOf)]
  for (const part of parts) {
    const found = schemaOfArgument(part, key, root, depth + 1)
    if (found !== undefined) return found
  }
  return isObject(schema.additionalProperties) ? schema.additionalProperties : undefined
}

export function typesOf(schema: unknown, root: unknown, depth = 0): ReadonlySet<ValueType> {
  const types = new Set(all)
  if (!isObject(schema) || depth > mostDepth) return types
  const keep = (others: ReadonlySet<ValueType>) => {
    for (const type of all) if (!others.has(type)) types.delete(type)
  }
  const given = typeof schema.type === 'string' ? [schema.type] : listOf(schema.type)
  if (given.length > 0)
    keep(new Set(given.map((type) => (type === 'integer' ? 'number' : (type as ValueType)))))
  if (Array.isArray(schema.enum)) keep(new Set(schema.enum.map(typeOf)))
  if ('const' in schema) keep(new Set([typeOf(schema.const)]))
  const referred = referredTo(schema, root)
  if (referred !== undefined) keep(typesOf(referred, root, depth + 1))
  for (const part of listOf(schema.allOf)) keep(typesOf(part, root, depth + 1))
  for (const either of [listOf(schema.anyOf), listOf(schema.oneOf)]) {
    if (either.length > 0) keep(new Set(either.flatMap((part) => [...typesOf(part, root, depth + 1)])))
  }
  return types
}

export function typeOf(value: unknown): ValueType {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  const type = typeof value
  return type === 'string' || type === 'number' || type === 'boolean' ? type : 'object'
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function ownOf(object: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** What a reference inside the same schema names. */
export function referredTo(schema: Record<string, unknown>, root: unknown): unknown {
  const { $ref } = schema
  if (typeof $ref !== 'string' || !$ref.startsWith('#')) return undefined
  let found: unknown = root
  for (const step of $ref.slice(1).split('/').slice(1)) {
    const key = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(found)) found = found[Number(key)]
    else found = isObject(found) ? ownOf(found, key) : undefined
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
