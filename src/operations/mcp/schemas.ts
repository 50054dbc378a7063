import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { z } from 'zod'

/** Checks values as the schema does, and is listed as JSON Schema without what goes without saying. */
export function listedSchema<Value extends object>(
  schema: z.ZodType<Value>,
): StandardSchemaWithJSON<Value, Value> {
  const input = shortened(z.toJSONSchema(schema, { io: 'input' }))
  const output = shortened(z.toJSONSchema(schema, { io: 'output' }), ofInputs)
  const standard = { ...schema['~standard'], jsonSchema: { input: () => input, output: () => output } }
  return { '~standard': standard } as StandardSchemaWithJSON<Value, Value>
}

/** Those who call a tool need them; those who read its answer do not. */
const ofInputs = new Set(['additionalProperties', 'required'])
const unneeded = new Set(['$schema', 'maxLength', 'minLength', 'minimum'])
const isEmpty = (value: unknown) =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

function shortened(schema: unknown, without: ReadonlySet<string> = new Set<string>()): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map((item) => shortened(item, without))
  const members = Object.entries(schema)
    .filter(([name, value]) => !unneeded.has(name) && !without.has(name) && value !== Number.MAX_SAFE_INTEGER)
    .filter(
      ([name, value]) =>
        !(/^(?:additionalProperties|items|properties|default)$/.test(name) && isEmpty(value)),
    )
  return Object.fromEntries(members.map(([name, value]) => [name, shortened(value, without)]))
}
