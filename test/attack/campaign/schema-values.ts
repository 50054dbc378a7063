import fc from 'fast-check'
import { query } from '../../support/expression-samples.ts'
import type { Schema } from '../../support/openapi.ts'
import { hostileValue, markPlace, Raw } from './json-texts.ts'

/** The part of JSON Schema that the document uses. */
interface Contract extends Schema {
  const?: unknown
  exclusiveMinimum?: number
  minItems?: number
  propertyNames?: Contract
}

/** Placeholder for something that an earlier answer named: the `n`th last text under this member. */
export function knownPlace(name: string, n: number): string {
  return `@known:${name}:${n}@`
}

const known = (name: string) => fc.nat(12).map((n) => knownPlace(name, n))

const ref = fc.oneof(
  known('id').map((id) => `weave:///acme/qa/call/${id}`),
  fc
    .tuple(known('object_id'), known('digest'))
    .map(([name, digest]) => `weave:///acme/qa/object/${name}:${digest}`),
  known('object_id').map((name) => `weave:///acme/qa/object/${name}:latest/attr/val`),
  known('digest').map((digest) => `weave:///acme/qa/table/${digest}`),
)

/** Fields whose content is a language of its own. */
const languages: Record<string, fc.Arbitrary<unknown>> = {
  project_id: fc.constant('acme/qa'),
  entity: fc.constant('acme'),
  project: fc.constant('qa'),
  model: fc.oneof(fc.constant('scripted'), ref),
  query: fc.oneof(
    query.map((text) => new Raw(text)),
    fc.constantFrom('id', 'svc_ref', 'created_at', 'inputs.a', 'op_name').chain((field) =>
      fc.oneof(known('id'), fc.constant(markPlace)).map((value) => ({
        $expr: { $eq: [{ $getField: field }, { $literal: value }] },
      })),
    ),
  ),
  field: fc.constantFrom(
    'id',
    'created_at',
    'started_at',
    'inputs.a',
    'output.b.0',
    'scores.x',
    'summary.weave.status',
  ),
  chat_template: fc.constantFrom(
    '{{ messages[0].content }}',
    '{% for m in messages %}{{ m }}{% endfor %}',
    '{{',
    '{{ a.b.c }}',
  ),
  regex: fc.constantFrom('[a-c]+', '(a|b)*', '(', '\\p{L}{1,3}', '(?=a)'),
  grammar: fc.constantFrom('root ::= "a" | "b"', 'root ::= root', 'root ::=', 'x ::= "a"'),
  annotation_state: fc.constantFrom('unstarted', 'in_progress', 'completed', 'skipped'),
  feedback_type: fc.constantFrom(
    'thumbs',
    'wandb.note.1',
    'wandb.reaction.1',
    'wandb.annotation.rating',
    'wandb.runnable.x',
  ),
}

/** JSON Schemas that a caller sends. */
const userSchema = fc.constantFrom<unknown>(
  { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
  { enum: ['yes', 'no'] },
  { type: 'array', items: { type: 'integer' }, maxItems: 3 },
  { $ref: '#' },
  { type: 'nonsense' },
  { pattern: '(' },
)

const anything = fc.oneof(
  fc.constantFrom<unknown>({ a: 1, text: markPlace }, markPlace, 1, null, [1, 'b'], { b: [{ c: 1.5 }] }),
  known('id'),
  ref,
  hostileValue,
)

const text = (name: string) =>
  fc.oneof(
    { arbitrary: known(name), weight: 6 },
    { arbitrary: known('id'), weight: 2 },
    { arbitrary: ref, weight: /ref|dataset|scorer|model|evaluation/.test(name) ? 6 : 1 },
    { arbitrary: fc.constantFrom('name', 'a', 'latest', markPlace, `x ${markPlace}`), weight: 3 },
    { arbitrary: fc.string({ maxLength: 12 }), weight: 1 },
  )

/** Values that mostly fit a schema of the document; `name` is the field that has it. */
export function valuesOf(schema: Contract, name = ''): fc.Arbitrary<unknown> {
  const language = languages[name]
  if (language && schema.anyOf === undefined) return language
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives) return fc.oneof(...alternatives.map((one) => valuesOf(one, name)))
  if (Array.isArray(schema.type))
    return fc.oneof(...schema.type.map((type) => valuesOf({ ...schema, type }, name)))
  switch (schema.type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.oneof(
        fc.constantFrom(...boundsOf(schema)),
        fc.integer({ min: Math.max(schema.minimum ?? 0, 0), max: Math.max(schema.minimum ?? 0, 20) }),
      )
    case 'number':
      return fc.oneof(fc.constantFrom(...boundsOf(schema)), fc.constantFrom(0.5, 1, 1.5))
    case 'string':
      return textsOf(schema, name)
    case 'array':
      return fc.array(valuesOf(schema.items ?? {}, name), {
        minLength: Math.min(schema.minItems ?? 0, 3),
        maxLength: 3,
      })
    case 'object':
      return objectsOf(schema, name)
    default:
      return schema.properties ? objectsOf(schema, name) : anything
  }
}

function boundsOf({ minimum = 0, maximum = 100, exclusiveMinimum }: Contract): number[] {
  return [
    exclusiveMinimum ?? minimum,
    exclusiveMinimum === undefined ? minimum : exclusiveMinimum + 0.5,
    maximum,
  ]
}

function textsOf(schema: Contract, name: string): fc.Arbitrary<unknown> {
  if (schema.format === 'date-time' || /_at$|_date$/.test(name))
    return fc.constantFrom(
      '2026-01-02T03:04:05Z',
      '2026-01-02T03:04:05.123456Z',
      '1969-12-31T23:59:59Z',
      '2200-01-01T00:00:00Z',
    )
  if (schema.pattern?.includes('[0-9a-f]')) return fc.oneof(known('id'), fc.uuid())
  if (schema.pattern)
    return fc.oneof({ arbitrary: known(name), weight: 4 }, fc.constantFrom('name', 'a.b-c', '1'))
  return text(name)
}

function objectsOf(schema: Contract, name: string): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties } = schema
  if (/schema$|^json$|^parameters$/.test(name) && Object.keys(properties).length === 0) return userSchema
  const fields = Object.entries(properties)
  if (fields.length === 0) {
    const values = typeof additionalProperties === 'object' ? valuesOf(additionalProperties, name) : anything
    return fc.dictionary(fc.constantFrom('a', 'b', '5', 'model', markPlace), values, { maxKeys: 3 })
  }
  return fc.record(Object.fromEntries(fields.map(([field, inner]) => [field, valuesOf(inner, field)])), {
    requiredKeys: required.filter((field) => field in properties),
    noNullPrototype: true,
  })
}
