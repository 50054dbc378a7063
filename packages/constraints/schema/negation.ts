import { SchemaError } from '../grammar/errors.ts'
import { decimalOf, isInteger } from '../numbers/decimals.ts'
import { formats, numberFormats } from './formats/formats.ts'
import { isRecord } from './keywords.ts'
import { derived, type SchemaDocument, type SchemaNode } from './schema-document.ts'

type Raw = Record<string, unknown>

const allTypes = ['null', 'boolean', 'number', 'string', 'array', 'object']

/** What holds exactly where the keyword with this value does not; undefined if it always holds. */
const opposites: Readonly<Record<string, (value: unknown) => Raw | undefined>> = {
  enum: (value) => ({ [derived.notEnum]: value }),
  const: (value) => ({ [derived.notEnum]: [value] }),
  [derived.notEnum]: (value) => ({ enum: value }),
  [derived.notInteger]: () => ({ type: 'integer' }),
  pattern: (value) => ({ type: 'string', [derived.notPattern]: value }),
  [derived.notPattern]: (value) => ({ type: 'string', pattern: value }),
  [derived.notFormat]: (value) => ({ type: 'string', format: value }),
  minimum: (value) => ({ type: 'number', exclusiveMaximum: value }),
  maximum: (value) => ({ type: 'number', exclusiveMinimum: value }),
  exclusiveMinimum: (value) => ({ type: 'number', maximum: value }),
  exclusiveMaximum: (value) => ({ type: 'number', minimum: value }),
  minLength: (value) => atMost('string', 'maxLength', value),
  minItems: (value) => atMost('array', 'maxItems', value),
  minProperties: (value) => atMost('object', 'maxProperties', value),
  maxLength: (value) => ({ type: 'string', minLength: Number(value) + 1 }),
  maxItems: (value) => ({ type: 'array', minItems: Number(value) + 1 }),
  maxProperties: (value) => ({ type: 'object', minProperties: Number(value) + 1 }),
}

function atMost(type: string, keyword: string, least: unknown): Raw | undefined {
  return Number(least) > 0 ? { type, [keyword]: Number(least) - 1 } : undefined
}

/**
 * Schemas of which at least one holds exactly where the given one does not. Throws the error of the first keyword whose
 * negation no schema can express.
 */
export function negations(
  node: SchemaNode,
  document: SchemaDocument,
  overlapping: (left: unknown, right: unknown) => boolean,
): SchemaNode[] {
  if (node.never) return [document.derive({}, node.path)]
  const { schema, path } = node
  const ways: SchemaNode[] = []
  const way = (raw: Raw) => ways.push(document.derive(raw, path))
  for (const [keyword, value] of Object.entries(schema)) {
    const refused = (why: string) => new SchemaError(keyword, path, why)
    const opposite = opposites[keyword]?.(value)
    if (opposite !== undefined) way(opposite)
    switch (keyword) {
      case 'type': {
        const types = typeList(schema)
        const others = allTypes.filter((type) => !types.includes(type))
        if (types.includes('integer') && !types.includes('number')) {
          others.splice(others.indexOf('number'), 1)
          way({ type: 'number', [derived.notInteger]: true })
        }
        if (others.length > 0) way({ type: others })
        break
      }
      case 'not':
        ways.push(twiceNegated(document.node(value, `${path}/not`), document))
        break
      case '$ref':
        ways.push(...negations(document.resolve(node), document, overlapping))
        break
      case 'allOf':
        for (const branch of value as unknown[]) way({ not: branch })
        break
      case 'anyOf':
        way({ allOf: (value as unknown[]).map((branch) => ({ not: branch })) })
        break
      case 'oneOf': {
        const branches = value as unknown[]
        way({ allOf: branches.map((branch) => ({ not: branch })) })
        for (const [i, left] of branches.entries()) {
          for (const right of branches.slice(i + 1)) {
            if (overlapping(left, right)) way({ allOf: [left, right] })
          }
        }
        break
      }
      case 'if':
        if (schema.then !== undefined) way({ allOf: [value, { not: schema.then }] })
        if (schema.else !== undefined) way({ allOf: [{ not: value }, { not: schema.else }] })
        break
      case 'properties':
        for (const [name, inner] of Object.entries(value as Raw)) {
          way({ type: 'object', required: [name], properties: single(name, { not: inner }) })
        }
        break
      case 'required':
        for (const name of value as string[]) way({ type: 'object', properties: single(name, false) })
        break
      case 'dependentRequired':
      case 'dependentSchemas':
      case 'dependencies':
        for (const [name, then] of Object.entries(value as Raw)) {
          if (Array.isArray(then)) {
            for (const other of then) {
              way({ type: 'object', required: [name], properties: single(String(other), false) })
            }
          } else {
            way({ type: 'object', required: [name], not: then })
          }
        }
        break
      case 'format':
        if (Object.hasOwn(numberFormats, String(value))) throw refused('formats of numbers cannot be negated')
        if (Object.hasOwn(formats, String(value))) way({ type: 'string', [derived.notFormat]: value })
        break
      case 'items':
        if (Array.isArray(value) || schema.prefixItems !== undefined) {
          if (!Array.isArray(value)) throw refused('it cannot be negated after prefixItems')
          for (const [i, item] of value.entries()) way(itemFailing(i, item))
        } else {
          way({ type: 'array', contains: { not: value } })
        }
        break
      case 'prefixItems':
        for (const [i, item] of (value as unknown[]).entries()) way(itemFailing(i, item))
        break
      case 'contains':
        if (schema.minContains !== undefined || schema.maxContains !== undefined) {
          throw refused('it cannot be negated together with minContains or maxContains')
        }
        way({ type: 'array', items: { not: value } })
        break
      case 'uniqueItems':
        if (value === true) throw refused('it cannot be negated')
        break
      case 'multipleOf':
        way({ type: 'number', [derived.notMultiple]: value })
        if (isWhole(value)) way({ type: 'number', [derived.notInteger]: true })
        break
      case 'unevaluatedProperties':
        if (alwaysHolds(value)) break
        if (applicators.some((other) => schema[other] !== undefined)) {
          throw refused('it cannot be negated together with other schemas')
        }
        if (schema.additionalProperties === undefined) {
          for (const raw of failingMembers(schema, keyword)) way(raw)
        }
        break
      case 'additionalProperties':
      case 'patternProperties':
      case 'propertyNames':
        if (alwaysHolds(value)) break
        for (const raw of failingMembers(schema, keyword)) way(raw)
        break
      case 'additionalItems':
      case 'unevaluatedItems':
        if (!alwaysHolds(value)) throw refused('it cannot be negated')
        break
    }
  }
  return ways
}

/** The objects that violate one of the keywords about members that are not named individually. */
function failingMembers(schema: Readonly<Raw>, keyword: string): Raw[] {
  const some = (names: unknown, value: unknown): Raw => ({
    type: 'object',
    [derived.someMember]: { names, value },
  })
  const value = schema[keyword]
  switch (keyword) {
    case 'propertyNames':
      return [some({ not: value }, true)]
    case 'patternProperties':
      return Object.entries(value as Raw).map(([pattern, inner]) => some({ pattern }, { not: inner }))
    default: {
      const declared = Object.keys(schema.properties ?? {})
      const others = [
        ...(declared.length > 0 ? [{ not: { enum: declared } }] : []),
        ...Object.keys(schema.patternProperties ?? {}).map((pattern) => ({ not: { pattern } })),
      ]
      return [some(others.length > 0 ? { allOf: others } : true, value === false ? true : { not: value })]
    }
  }
}

/** What holds where the schema does, but evaluates nothing of a value, as the standard defines below a `not`. */
function twiceNegated(node: SchemaNode, document: SchemaDocument): SchemaNode {
  if (node.never || !document.saysUnevaluated) return node
  const combining = applicators.find((keyword) => node.schema[keyword] !== undefined)
  if (combining !== undefined) {
    throw new SchemaError(
      combining,
      node.path,
      'it cannot be negated twice with unevaluated members or items',
    )
  }
  return document.derive(node.schema, node.path)
}

/** The types of a schema, with the null that `nullable` adds. */
export function typeList(schema: Readonly<Raw>): string[] {
  const types = Array.isArray(schema.type) ? (schema.type as string[]) : [String(schema.type)]
  return schema.nullable === true && !types.includes('null') ? [...types, 'null'] : types
}

/** With one of these keywords, what is evaluated depends on more than the schema itself. */
const applicators = ['$ref', 'allOf', 'anyOf', 'oneOf', 'not', 'if', 'dependentSchemas', 'dependencies']

function alwaysHolds(schema: unknown): boolean {
  return schema === true || (isRecord(schema) && Object.keys(schema).length === 0)
}

function isWhole(value: unknown): boolean {
  const step = decimalOf(value)
  return step !== undefined && isInteger(step)
}

function itemFailing(index: number, schema: unknown): Raw {
  return {
    type: 'array',
    minItems: index + 1,
    prefixItems: [...Array.from({ length: index }, () => true), { not: schema }],
  }
}

/** An own member even if the name is `__proto__`. */
function single(name: string, value: unknown): Raw {
  return Object.fromEntries([[name, value]])
}
