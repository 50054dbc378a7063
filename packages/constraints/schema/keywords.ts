import { JsonNumber } from '../../json/index.ts'
import { decimalOf } from '../numbers/decimals.ts'

const typeNames = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object']

const isSchema = (value: unknown) => typeof value === 'boolean' || isRecord(value)
const isSchemas = (value: unknown) => isFilled(value) && value.every(isSchema)
const isNames = (value: unknown) => Array.isArray(value) && value.every((name) => typeof name === 'string')
const isTypes = (value: unknown) =>
  isFilled(value) && value.every((name) => typeNames.includes(name as string))
const isFilled = (value: unknown): value is unknown[] => Array.isArray(value) && value.length > 0
const byName = (test: (value: unknown) => boolean) => (value: unknown) =>
  isRecord(value) && Object.values(value).every(test)

/** The form that the value of a keyword must have before it is used. */
const kinds = {
  any: { name: 'anything', fits: () => true },
  boolean: { name: 'true or false', fits: (value) => typeof value === 'boolean' },
  count: {
    name: 'a whole number that is not negative',
    fits: (value) => isNumber(value) && Number.isSafeInteger(countOf(value)) && countOf(value) >= 0,
  },
  names: { name: 'a list of strings', fits: isNames },
  number: { name: 'a number', fits: isNumber },
  schema: { name: 'a schema: an object, true or false', fits: isSchema },
  'schema or list': {
    name: 'a schema or a list of schemas',
    fits: (value) => isSchema(value) || (Array.isArray(value) && value.every(isSchema)),
  },
  schemas: { name: 'a list of schemas that is not empty', fits: isSchemas },
  'schemas by name': { name: 'an object of schemas', fits: byName(isSchema) },
  'names or schema by name': {
    name: 'an object of schemas or lists of strings',
    fits: byName((value) => isSchema(value) || isNames(value)),
  },
  'names by name': { name: 'an object of lists of strings', fits: byName(isNames) },
  text: { name: 'a string', fits: (value) => typeof value === 'string' },
  type: {
    name: `one of ${typeNames.join(', ')}, or a list of them`,
    fits: (value) => isTypes([value].flat()),
  },
  values: { name: 'a list that is not empty', fits: isFilled },
} satisfies Record<string, { name: string; fits(value: unknown): boolean }>

type ValueKind = keyof typeof kinds

type Keyword = { standing: 'honoured'; takes: ValueKind; note: string } | { standing: 'annotation' }

/**
 * Every keyword that the compiler knows, in the terms of the latest draft, and how it is treated;
 * `docs/structured-output.md` is generated from this list. A keyword that is not listed is an annotation, as the standard
 * defines.
 */
export const keywords: Readonly<Record<string, Keyword>> = {
  $ref: honoured(
    'text',
    'A JSON Pointer, an anchor or an identifier, inside the schema or of a published draft; recursive too. Keywords next to it apply in every draft.',
  ),
  $defs: honoured('schemas by name', ''),
  definitions: honoured('schemas by name', ''),
  $anchor: honoured('text', ''),
  $dynamicRef: honoured('text', 'As `$ref`, where only one schema has the name.'),
  $dynamicAnchor: honoured('text', ''),
  $recursiveRef: honoured('text', 'As `$ref`, where only one schema has `$recursiveAnchor`.'),
  $recursiveAnchor: honoured('boolean', ''),
  $id: honoured('text', ''),
  $schema: honoured('text', ''),
  type: honoured('type', ''),
  nullable: honoured('boolean', 'OpenAPI 3.0: adds `null` to the `type` next to it.'),
  enum: honoured('values', 'Written as given; values that other keywords rule out are left out.'),
  const: honoured('any', 'Written as given.'),
  allOf: honoured('schemas', ''),
  anyOf: honoured('schemas', ''),
  oneOf: honoured(
    'schemas',
    'Exactly one branch: those that could hold at the same time are separated by negation.',
  ),
  not: honoured('schema', 'Where the negation can be expressed.'),
  if: honoured('schema', 'Where the negation can be expressed.'),
  // biome-ignore lint/suspicious/noThenProperty: the keyword is called that; nothing awaits this object.
  then: honoured('schema', ''),
  else: honoured('schema', ''),
  properties: honoured('schemas by name', 'In the order of the schema; they close the object.'),
  required: honoured('names', 'Names that are not in `properties` come after those that are.'),
  additionalProperties: honoured(
    'schema',
    'They come last, never under a declared name. `true` opens an object that lists properties.',
  ),
  patternProperties: honoured('schemas by name', 'Up to six patterns that overlap.'),
  propertyNames: honoured('schema', ''),
  minProperties: honoured('count', ''),
  maxProperties: honoured('count', ''),
  dependentRequired: honoured('names by name', ''),
  dependentSchemas: honoured('schemas by name', ''),
  dependencies: honoured(
    'names or schema by name',
    'Draft 7: as `dependentRequired` and `dependentSchemas`.',
  ),
  unevaluatedProperties: honoured('schema', 'At the root of the object that it closes; not inside a branch.'),
  items: honoured('schema or list', 'A list, as in draft 7, means `prefixItems`.'),
  prefixItems: honoured('schemas', ''),
  unevaluatedItems: honoured(
    'schema',
    'Where this schema alone decides which items are evaluated, without others about items and without `contains`.',
  ),
  additionalItems: honoured('schema', 'Draft 7: next to a list of `items`.'),
  minItems: honoured('count', ''),
  maxItems: honoured('count', ''),
  contains: honoured('schema', 'Up to four per array, together with small counts.'),
  minContains: honoured('count', ''),
  maxContains: honoured('count', 'Where `contains` can be negated.'),
  uniqueItems: honoured('boolean', 'The items that were written are remembered.'),
  minLength: honoured('count', ''),
  maxLength: honoured('count', ''),
  pattern: honoured(
    'text',
    'ECMAScript with the flag `u`, anywhere in the string unless anchored; no back-references.',
  ),
  format: honoured('text', '[The formats](#formats) below.'),
  minimum: honoured('number', ''),
  maximum: honoured('number', ''),
  exclusiveMinimum: honoured('number', ''),
  exclusiveMaximum: honoured('number', ''),
  multipleOf: honoured('number', 'Powers of ten, and steps of up to 1000 units in their last place.'),

  title: { standing: 'annotation' },
  description: { standing: 'annotation' },
  default: { standing: 'annotation' },
  examples: { standing: 'annotation' },
  example: { standing: 'annotation' },
  deprecated: { standing: 'annotation' },
  readOnly: { standing: 'annotation' },
  writeOnly: { standing: 'annotation' },
  $comment: { standing: 'annotation' },
  $vocabulary: { standing: 'annotation' },
  contentEncoding: { standing: 'annotation' },
  contentMediaType: { standing: 'annotation' },
  contentSchema: { standing: 'annotation' },
  discriminator: { standing: 'annotation' },
  externalDocs: { standing: 'annotation' },
  xml: { standing: 'annotation' },
  strict: { standing: 'annotation' },
}

function honoured(takes: ValueKind, note: string): Keyword {
  return { standing: 'honoured', takes, note }
}

/** What is wrong with the value of a keyword; undefined if nothing is. */
export function flawOf(kind: ValueKind, value: unknown): string | undefined {
  return kinds[kind].fits(value) ? undefined : `it takes ${kinds[kind].name}`
}

/** A count, whichever way its number is written: 2.0 is two. */
export function countOf(value: unknown): number {
  return Number(value instanceof JsonNumber ? value.token : value)
}

function isNumber(value: unknown): boolean {
  return decimalOf(value) !== undefined
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber)
  )
}
