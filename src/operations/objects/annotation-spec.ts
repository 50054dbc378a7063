import { z } from 'zod'
import { membersOf, objectText } from '../../../packages/json/index.ts'
import { plainText } from '../../domain/fields.ts'
import { JsonText } from '../../domain/json/text.ts'
import { type Refusal, refuse, type SchemaIssue } from '../../domain/refusals.ts'
import type { SchemaChecks } from '../../schemas/checks.ts'

/** In characters: a compiled schema takes many times its text, and schemas in use are cached (schemas/compiled.ts). */
export const maxSchemaLength = 64 * 1024

/** In bytes. A larger spec is not parsed. */
export const largestSpec = 512 * 1024

/** The form of annotations of one name. `unique_among_creators` and `op_scope` are stored but not enforced. */
export const AnnotationSpec = z.object({
  name: plainText(1024).nullish(),
  description: plainText(64 * 1024).nullish(),
  field_schema: z
    .union([z.boolean(), z.record(z.string(), z.unknown())], { error: 'expected a JSON Schema' })
    .optional(),
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

/**
 * The value with its defaults and class marks. Refuses what is no annotation spec; `specPath` is its path in the body.
 */
export async function annotationSpecOf(
  schemas: SchemaChecks,
  tenant: string,
  value: JsonText,
  specPath: readonly string[],
): Promise<JsonText> {
  requireFitting(value, specPath)
  const result = AnnotationSpec.safeParse(value.value)
  if (!result.success) {
    throw wrong(
      result.error.issues.map(({ path, message, code }) => ({
        loc: ['body', ...specPath, ...path.map((key) => (typeof key === 'symbol' ? String(key) : key))],
        msg: message.replace(/^Invalid input: /, ''),
        type: code,
      })),
    )
  }
  const members = new Map([...defaults, ...membersOf(value.text), ...marks])
  await checkSchema(schemas, tenant, members.get('field_schema') as string, [...specPath, 'field_schema'])
  const spec = new JsonText(objectText(members))
  requireFitting(spec, specPath)
  return spec
}

function requireFitting(spec: JsonText, path: readonly string[]): void {
  if (spec.bytes <= largestSpec) return
  throw wrong([
    {
      loc: ['body', ...path],
      msg: `expected an annotation spec of at most ${largestSpec} bytes`,
      type: 'custom',
    },
  ])
}

async function checkSchema(
  schemas: SchemaChecks,
  tenant: string,
  schema: string,
  path: readonly string[],
): Promise<void> {
  const wrongSchema = (why: string) =>
    wrong([{ loc: ['body', ...path], msg: `expected a JSON Schema, but ${why}`, type: 'custom' }])
  if (schema.length > maxSchemaLength) throw wrongSchema(`it is longer than ${maxSchemaLength} characters`)
  const result = await schemas.check(tenant, schema)
  if (result.kind === 'schema_error') throw wrongSchema(result.why)
  if (result.kind === 'over_budget') throw wrongSchema(`reading it takes more than ${result.limit}`)
}

function wrong(detail: readonly SchemaIssue[]): Refusal {
  const [first] = detail
  const field = first?.loc.slice(1).join('.') ?? ''
  return refuse('invalid_request', { origin: 'body', what: `${field}: ${first?.msg}`, field }, detail)
}
