import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Asking } from './asking.ts'

export interface Tool<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodObject = z.ZodObject> {
  name: string
  title: string
  description: string
  input: Input
  /** Rows are loose: they leave out what has no value. */
  output: Output
  /** Absent if it only reads. */
  changes?: { isRepeatable: boolean }
  run(asking: Asking, args: z.output<Input>): Promise<z.input<Output>>
}

/** Lets the function of a tool see its arguments as its schema reads them. */
export const tool = <Input extends z.ZodObject, Output extends z.ZodObject>(
  described: Tool<Input, Output>,
): Tool => described as unknown as Tool

const text = (maxLength: number) => z.string().min(1).max(maxLength)

/** What was found; its members differ from row to row. */
export const rows = z.array(z.unknown())

export const project = text(256).refine((name) => /^[^/]+\/[^/]+$/.test(name), 'expected entity/project')
export const callId = text(1024)
export const filter = z
  .string()
  .max(4_096)
  .optional()
  .describe('As status:error latency:>2s inputs.user:"ann" (describe_record)')
export const since = text(40).optional().describe('24h, 7d or 2026-01-31T12:00Z')
export const until = text(40).optional()
export const cursor = text(200).optional().describe('`next` of the previous answer')
export const limit = (max: number, initial: number) => z.int().min(1).max(max).default(initial)

/** Where to go on: absent at the end. */
export const next = z.string().optional()
/** What is missing from the answer, in words. */
export const cut = z.string().optional()

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
