import { JsonNumber } from '../../../domain/json/lossless.ts'
import { decimalOf } from '../numbers/decimals.ts'

/** What a keyword's value has to look like before anything is made of it. */
export type ValueKind =
  | 'any'
  | 'boolean'
  | 'count'
  | 'names'
  | 'number'
  | 'schema'
  | 'schema or list'
  | 'schemas'
  | 'schemas by name'
  | 'names or schema by name'
  | 'names by name'
  | 'text'
  | 'type'
  | 'values'

export type Keyword =
  | { standing: 'honoured'; takes: ValueKind; note: string }
  | { standing: 'annotation' }
  | { standing: 'refused'; why: string }

/**
 * Every keyword that the compiler knows, and what it does with it; `docs/structured-output.md` is generated from this
 * list. A keyword that is not here is refused by name: it may be a mistyped one, and would not hold.
 */
export const keywords: Readonly<Record<string, Keyword>> = {
  $ref: honoured(
    'text',
    'Inside the schema: a JSON Pointer or an anchor. May be recursive. Keywords beside it apply too.',
  ),
  $defs: honoured('schemas by name', 'Read where a `$ref` refers to it.'),
  definitions: honoured('schemas by name', 'As `$defs`.'),
  $anchor: honoured('text', 'A name to refer to.'),
  $id: honoured('text', 'At the root only.'),
  $schema: honoured('text', 'Drafts 6 to 2020-12.'),
  type: honoured('type', 'One or a list.'),
  nullable: honoured('boolean', 'OpenAPI 3.0: adds `null` to the `type` beside it.'),
  enum: honoured('values', 'Written as given; values that other keywords rule out are left out.'),
  const: honoured('any', 'Written as given.'),
  allOf: honoured('schemas', 'Merged with the keywords beside it.'),
  anyOf: honoured('schemas', 'Merged branch by branch with the keywords beside it.'),
  oneOf: honoured(
    'schemas',
    'Exactly one branch: branches that could hold at the same time are separated, which needs keywords that can be negated.',
  ),
  not: honoured('schema', 'Where the negation can be expressed; see below.'),
  if: honoured('schema', 'As `not`, because `else` needs its negation.'),
  // biome-ignore lint/suspicious/noThenProperty: the keyword is called that; nothing awaits this object.
  then: honoured('schema', 'Beside `if`.'),
  else: honoured('schema', 'Beside `if`.'),
  properties: honoured(
    'schemas by name',
    'In the order of the schema. They close the object, unless the schema says something about others.',
  ),
  required: honoured('names', 'Names that are not in `properties` come after those that are.'),
  additionalProperties: honoured(
    'schema',
    'These members come last, and never under a declared name. `true` opens an object that lists properties.',
  ),
  patternProperties: honoured('schemas by name', 'Up to four patterns that overlap.'),
  propertyNames: honoured('schema', 'A schema of strings.'),
  minProperties: honoured('count', 'Where it needs at most one undeclared name, because those could repeat.'),
  maxProperties: honoured('count', ''),
  dependentRequired: honoured('names by name', ''),
  dependentSchemas: honoured('schemas by name', ''),
  dependencies: honoured('names or schema by name', 'Draft 7: as the two above.'),
  unevaluatedProperties: honoured('schema', 'At the root of the object that it closes; not inside a branch.'),
  items: honoured('schema or list', 'A list, as in draft 7, means `prefixItems`.'),
  prefixItems: honoured('schemas', ''),
  additionalItems: honoured('schema', 'Draft 7: beside a list of `items`.'),
  minItems: honoured('count', ''),
  maxItems: honoured('count', ''),
  contains: honoured('schema', 'One per array, together with small counts.'),
  minContains: honoured('count', ''),
  maxContains: honoured('count', 'Where `contains` can be negated.'),
  uniqueItems: honoured(
    'boolean',
    'Where the items are one of at most eight values, or there is at most one.',
  ),
  minLength: honoured('count', 'In code points.'),
  maxLength: honoured('count', 'In code points.'),
  pattern: honoured(
    'text',
    'Anywhere in the string unless anchored. No look-around, back-references or word boundaries.',
  ),
  format: honoured('text', 'The formats listed below; others are refused.'),
  minimum: honoured('number', ''),
  maximum: honoured('number', ''),
  exclusiveMinimum: honoured('number', 'A number, as from draft 6 on.'),
  exclusiveMaximum: honoured('number', 'A number, as from draft 6 on.'),
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

  unevaluatedItems: refused('which items are evaluated depends on the branch that is taken'),
  $dynamicRef: refused('only references within the schema are followed'),
  $dynamicAnchor: refused('only references within the schema are followed'),
  $recursiveRef: refused('only references within the schema are followed'),
  $recursiveAnchor: refused('only references within the schema are followed'),
  id: refused('the schema must be of draft 6 or later'),
}

function honoured(takes: ValueKind, note: string): Keyword {
  return { standing: 'honoured', takes, note }
}

function refused(why: string): Keyword {
  return { standing: 'refused', why }
}

/** Says what is wrong with the value of a keyword, or nothing. */
export function flawOf(kind: ValueKind, value: unknown): string | undefined {
  return tests[kind](value) ? undefined : `it takes ${kindNames[kind]}`
}

const typeNames = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object']

const isSchema = (value: unknown) => typeof value === 'boolean' || isRecord(value)
const isSchemas = (value: unknown) => Array.isArray(value) && value.length > 0 && value.every(isSchema)
const isNames = (value: unknown) => Array.isArray(value) && value.every((name) => typeof name === 'string')
const byName = (test: (value: unknown) => boolean) => (value: unknown) =>
  isRecord(value) && Object.values(value).every(test)

const tests: Record<ValueKind, (value: unknown) => boolean> = {
  any: () => true,
  boolean: (value) => typeof value === 'boolean',
  count: (value) => Number.isSafeInteger(Number(value)) && Number(value) >= 0 && isNumber(value),
  names: isNames,
  number: isNumber,
  schema: isSchema,
  'schema or list': (value) => isSchema(value) || (Array.isArray(value) && value.every(isSchema)),
  schemas: isSchemas,
  'schemas by name': byName(isSchema),
  'names or schema by name': byName((value) => isSchema(value) || isNames(value)),
  'names by name': byName(isNames),
  text: (value) => typeof value === 'string',
  type: (value) =>
    typeof value === 'string'
      ? typeNames.includes(value)
      : Array.isArray(value) && value.length > 0 && value.every((name) => typeNames.includes(name)),
  values: (value) => Array.isArray(value) && value.length > 0,
}

const kindNames: Record<ValueKind, string> = {
  any: 'anything',
  boolean: 'true or false',
  count: 'a whole number that is not negative',
  names: 'a list of strings',
  number: 'a number',
  schema: 'a schema: an object, true or false',
  'schema or list': 'a schema or a list of schemas',
  schemas: 'a list of schemas that is not empty',
  'schemas by name': 'an object of schemas',
  'names or schema by name': 'an object of schemas or lists of strings',
  'names by name': 'an object of lists of strings',
  text: 'a string',
  type: `one of ${typeNames.join(', ')}, or a list of them`,
  values: 'a list that is not empty',
}

function isNumber(value: unknown): boolean {
  return decimalOf(value) !== undefined
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber)
  )
}
