import assert from 'node:assert/strict'
import { type Schema, withoutNull } from '../support/openapi.ts'

export type Path = (string | number)[]

export type Field = { path: Path; required: boolean } & ReturnType<typeof withoutNull>

/** Every field of a contract for which its sample has a value. */
export function* fieldsOf(schema: Schema, sample: unknown, path: Path = []): Generator<Field> {
  const place = path.join('.') || 'the body'
  if (Array.isArray(sample)) {
    const list = schema.anyOf?.find(({ type }) => type === 'array')
    if (list) return yield* fieldsOf(list, sample, path)
    for (const [index, item] of sample.entries()) {
      if (index > 0 && schema.items?.oneOf === undefined) break
      yield* fieldsOf(schema.items as Schema, item, [...path, index])
    }
    return
  }
  if (typeof sample !== 'object' || sample === null) return
  const values = sample as Record<string, unknown>
  const { properties, required = [] } = alternativeOf(schema, values)
  if (properties === undefined) {
    if (typeof schema.additionalProperties !== 'object') return
    for (const [name, value] of Object.entries(values)) {
      yield* fieldsOf(schema.additionalProperties, value, [...path, name])
    }
    return
  }
  for (const [name, property] of Object.entries(properties)) {
    assert.ok(name in values, `the sample has no ${name} in ${place}`)
    const inner = withoutNull(property)
    yield { path: [...path, name], required: required.includes(name), ...inner }
    yield* fieldsOf(inner.schema, values[name], [...path, name])
  }
}

/** Of a body in one of several forms, the one that its sample has. */
export function formOf(schema: Schema, sample: Record<string, unknown>): Schema {
  return schema.anyOf?.find(({ required = [] }) => required.every((name) => sample[name] != null)) ?? schema
}

/** The alternative of the schema that the sample belongs to. */
function alternativeOf(schema: Schema, sample: Record<string, unknown>): Schema {
  if (schema.anyOf) {
    // With several object schemas a wrong field belongs to none of them, so the whole value is named.
    const objects = schema.anyOf.filter(({ type }) => type === 'object')
    return objects.length === 1 ? (objects[0] as Schema) : {}
  }
  if (schema.oneOf === undefined) return schema
  const found = schema.oneOf.find(({ properties = {} }) =>
    ['mode', 'kind'].some((name) => properties[name]?.enum?.includes(sample[name])),
  )
  assert.ok(found, 'the sample matches no alternative')
  return found
}

/** Stands for a field that is left out. */
export const missing = Symbol('missing')

export function changed(body: Record<string, unknown>, path: Path, value: unknown): Record<string, unknown> {
  const copy = structuredClone(body)
  let holder = copy as Record<string | number, unknown>
  for (const step of path.slice(0, -1)) holder = holder[step] as Record<string | number, unknown>
  const last = path.at(-1) as string | number
  if (value === missing) delete holder[last]
  else holder[last] = value
  return copy
}
