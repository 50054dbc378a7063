import { createRequire } from 'node:module'
import { isRecord } from './keywords.ts'

const read = createRequire(import.meta.url)

/** A schema of JSON Schema itself, from the copies in ajv. */
export function publishedSchema(uri: string): unknown {
  const [, old] = /^https?:\/\/json-schema\.org\/draft-0([3467])\/schema$/.exec(uri) ?? []
  if (old === '3') return draft3
  if (old === '4') return draft4
  if (old !== undefined) return read(`ajv/dist/refs/json-schema-draft-0${old}.json`)
  const [whole, year, file] =
    /^https:\/\/json-schema\.org\/draft\/(2019-09|2020-12)\/(schema|meta\/[a-z-]+)$/.exec(uri) ?? []
  if (whole === undefined || !vocabularies.has(`${file}`)) return undefined
  return settled(
    read(`ajv/dist/refs/json-schema-${year}/${file}.json`),
    `https://json-schema.org/draft/${year}/schema`,
  )
}

const vocabularies = new Set([
  'schema',
  'meta/core',
  'meta/applicator',
  'meta/unevaluated',
  'meta/validation',
  'meta/meta-data',
  'meta/format',
  'meta/format-annotation',
  'meta/content',
])

/** Nothing extends these schemas, so where they allow for extensions, the schema itself is meant. */
function settled(schema: unknown, whole: string): unknown {
  if (Array.isArray(schema)) return schema.map((item) => settled(item, whole))
  if (!isRecord(schema)) return schema
  const dynamic = schema.$dynamicRef === '#meta' || schema.$recursiveRef === '#'
  if (dynamic) return { $ref: whole }
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([name]) => name !== '$dynamicAnchor' && name !== '$recursiveAnchor')
      .map(([name, value]) => [name, settled(value, whole)]),
  )
}

const itself = { $ref: '#' }
const byName = { type: 'object', additionalProperties: itself }
const count = { type: 'integer', minimum: 0 }
const strings = { type: 'array', minItems: 1, items: { type: 'string' }, uniqueItems: true }
const schemas = { type: 'array', minItems: 1, items: itself }
const typeName = { enum: ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'] }

const text = { type: 'string' }
const yes = { type: 'boolean' }
const oneOrMore = { anyOf: [itself, { type: 'array', items: itself }] }
const orBoolean = { anyOf: [itself, yes] }
/** Names only: whether two schemas in a list are equal is not remembered within schemas. */
const namesOfTypes = { anyOf: [text, { type: 'array', items: text, uniqueItems: true }] }

const draft3 = {
  $schema: 'http://json-schema.org/draft-03/schema#',
  id: 'http://json-schema.org/draft-03/schema#',
  type: 'object',
  properties: {
    type: namesOfTypes,
    properties: byName,
    patternProperties: byName,
    additionalProperties: orBoolean,
    items: oneOrMore,
    additionalItems: orBoolean,
    required: yes,
    dependencies: {
      type: 'object',
      additionalProperties: { anyOf: [text, { type: 'array', items: text }, itself] },
    },
    minimum: { type: 'number' },
    maximum: { type: 'number' },
    exclusiveMinimum: yes,
    exclusiveMaximum: yes,
    minItems: count,
    maxItems: count,
    uniqueItems: yes,
    pattern: { type: 'string', format: 'regex' },
    minLength: count,
    maxLength: { type: 'integer' },
    enum: { type: 'array', minItems: 1, uniqueItems: true },
    default: {},
    title: text,
    description: text,
    format: text,
    divisibleBy: { type: 'number', minimum: 0, exclusiveMinimum: true },
    disallow: namesOfTypes,
    extends: oneOrMore,
    id: text,
    $ref: { type: 'string', format: 'uri' },
    $schema: { type: 'string', format: 'uri' },
  },
  dependencies: { exclusiveMinimum: 'minimum', exclusiveMaximum: 'maximum' },
}

const draft4 = {
  $schema: 'http://json-schema.org/draft-04/schema#',
  id: 'http://json-schema.org/draft-04/schema#',
  type: 'object',
  properties: {
    id: { type: 'string' },
    $schema: { type: 'string' },
    title: { type: 'string' },
    description: { type: 'string' },
    default: {},
    multipleOf: { type: 'number', minimum: 0, exclusiveMinimum: true },
    maximum: { type: 'number' },
    exclusiveMaximum: { type: 'boolean' },
    minimum: { type: 'number' },
    exclusiveMinimum: { type: 'boolean' },
    maxLength: count,
    minLength: count,
    pattern: { type: 'string', format: 'regex' },
    additionalItems: { anyOf: [{ type: 'boolean' }, itself] },
    items: { anyOf: [itself, schemas] },
    maxItems: count,
    minItems: count,
    uniqueItems: { type: 'boolean' },
    maxProperties: count,
    minProperties: count,
    required: strings,
    additionalProperties: { anyOf: [{ type: 'boolean' }, itself] },
    definitions: byName,
    properties: byName,
    patternProperties: byName,
    dependencies: { type: 'object', additionalProperties: { anyOf: [itself, strings] } },
    enum: { type: 'array', minItems: 1, uniqueItems: true },
    type: { anyOf: [typeName, { type: 'array', items: typeName, minItems: 1, uniqueItems: true }] },
    format: { type: 'string' },
    allOf: schemas,
    anyOf: schemas,
    oneOf: schemas,
    not: itself,
  },
  dependencies: { exclusiveMaximum: ['maximum'], exclusiveMinimum: ['minimum'] },
}
