import { accepts } from '../automaton/automaton.ts'
import type { Budget } from '../grammar/budget.ts'
import { SchemaError } from '../grammar/errors.ts'
import { compareDecimals, type Decimal, decimalOf, isInteger, isMultiple } from '../numbers/decimals.ts'
import { numberFormats } from './formats/formats.ts'
import { isRecord } from './keywords.ts'
import { typeList } from './negation.ts'
import {
  countsOf,
  derived,
  requiredBy,
  type SchemaDocument,
  type SchemaNode,
  stepped,
} from './schema-document.ts'
import type { TextLanguages } from './text-languages.ts'
import { canonicalOf } from './values.ts'

/** Schemas that apply to the same value in a row before a cycle is assumed. */
const maxChain = 100

/**
 * Whether a value that the schema itself lists fits a schema. With it, `enum` and `const` keep only the values that the
 * other keywords allow.
 */
export function createValueCheck(document: SchemaDocument, texts: TextLanguages, budget: Budget) {
  const child = (schema: unknown, node: SchemaNode, ...keys: (string | number)[]) =>
    document.node(schema, stepped(node.path, ...keys))

  const listed = new WeakMap<readonly unknown[], ReadonlySet<string>>()

  const among = (list: readonly unknown[], value: unknown): boolean => {
    let values = listed.get(list)
    if (values === undefined) {
      budget.spend(list.length)
      values = new Set(list.map(canonicalOf))
      listed.set(list, values)
    }
    return values.has(canonicalOf(value))
  }

  const holds = (value: unknown, node: SchemaNode, chain = 0): boolean => {
    budget.spend(1)
    if (chain > maxChain) {
      throw new SchemaError(
        '$ref',
        node.path,
        'it refers back to itself without anything in between',
        'invalid',
      )
    }
    if (node.never) return false
    const { schema } = node
    const same = (inner: unknown, ...keys: (string | number)[]) =>
      holds(value, child(inner, node, ...keys), chain + 1)
    const list = (keyword: string) => (schema[keyword] as unknown[] | undefined) ?? []

    if (schema.$ref !== undefined && !holds(value, document.resolve(node), chain + 1)) return false
    if (schema.type !== undefined && !typeList(schema).some((type) => isOf(value, type))) return false
    if (Object.hasOwn(schema, 'const') && canonicalOf(schema.const) !== canonicalOf(value)) return false
    if (schema.enum !== undefined && !among(list('enum'), value)) return false
    if (schema[derived.notEnum] !== undefined && among(list(derived.notEnum), value)) return false
    if (!list('allOf').every((inner, i) => same(inner, 'allOf', i))) return false
    if (schema.anyOf !== undefined && !list('anyOf').some((inner, i) => same(inner, 'anyOf', i))) return false
    if (
      schema.oneOf !== undefined &&
      list('oneOf').filter((inner, i) => same(inner, 'oneOf', i)).length !== 1
    ) {
      return false
    }
    if (schema.not !== undefined && same(schema.not, 'not')) return false
    if (schema.if !== undefined) {
      const keyword = same(schema.if, 'if') ? 'then' : 'else'
      if (schema[keyword] !== undefined && !same(schema[keyword], keyword)) return false
    }
    if (typeof value === 'string') return textHolds(value, node)
    if (Array.isArray(value)) return listHolds(value, node)
    if (isRecord(value)) return recordHolds(value, node, chain)
    const decimal = decimalOf(value)
    return decimal === undefined || numberHolds(decimal, node)
  }

  const textHolds = (text: string, node: SchemaNode): boolean => {
    const { schema, path } = node
    if (!counted([...text].length, node, 'Length')) return false
    const fits = (keyword: string, demanded: boolean) => {
      const source = schema[keyword]
      if (typeof source !== 'string') return true
      const automaton = keyword.endsWith('attern') ? texts.pattern(source, path) : texts.format(source)
      return automaton === undefined || accepts(automaton, text) === demanded
    }
    return (
      fits('pattern', true) &&
      fits('format', true) &&
      fits(derived.notPattern, false) &&
      fits(derived.notFormat, false)
    )
  }

  const numberHolds = (value: Decimal, { schema }: SchemaNode): boolean => {
    const against = (keyword: string, test: (order: number) => boolean) => {
      const bound = decimalOf(schema[keyword])
      return bound === undefined || test(compareDecimals(value, bound))
    }
    const [least, most] = numberFormats[String(schema.format)] ?? []
    const step = decimalOf(schema.multipleOf)
    const avoided = decimalOf(schema[derived.notMultiple])
    return (
      against('minimum', (order) => order >= 0) &&
      against('maximum', (order) => order <= 0) &&
      against('exclusiveMinimum', (order) => order > 0) &&
      against('exclusiveMaximum', (order) => order < 0) &&
      !(schema[derived.notInteger] === true && isInteger(value)) &&
      (avoided === undefined || !isMultiple(value, avoided)) &&
      (step === undefined || step.units <= 0n || isMultiple(value, step)) &&
      (least === undefined || compareDecimals(value, { units: BigInt(least), scale: 0 }) >= 0) &&
      (most === undefined || compareDecimals(value, { units: BigInt(most), scale: 0 }) <= 0)
    )
  }

  const listHolds = (items: readonly unknown[], node: SchemaNode): boolean => {
    const { schema } = node
    if (!counted(items.length, node, 'Items')) return false
    if (schema.unevaluatedItems !== undefined && schema.unevaluatedItems !== true) {
      throw new SchemaError(
        'unevaluatedItems',
        node.path,
        'it is not supported together with arrays in enum or const',
      )
    }
    const { prefix, rest } = itemSchemas(schema)
    for (const [i, item] of items.entries()) {
      const inner = i < prefix.length ? prefix[i] : rest
      if (inner !== undefined && !holds(item, child(inner, node, 'items', i))) return false
    }
    if (schema.contains !== undefined) {
      const found = items.filter((item) => holds(item, child(schema.contains, node, 'contains'))).length
      if (found < Number(schema.minContains ?? 1) || found > Number(schema.maxContains ?? Infinity))
        return false
    }
    if (schema.uniqueItems !== true) return true
    return new Set(items.map(canonicalOf)).size === items.length
  }

  const recordHolds = (
    record: Readonly<Record<string, unknown>>,
    node: SchemaNode,
    chain: number,
  ): boolean => {
    const { schema, path } = node
    if (schema.unevaluatedProperties !== undefined && schema.unevaluatedProperties !== true) {
      throw new SchemaError(
        'unevaluatedProperties',
        path,
        'it is not supported together with objects in enum or const',
      )
    }
    if (!counted(Object.keys(record).length, node, 'Properties')) return false
    if (!requiredBy(node).every((name) => Object.hasOwn(record, name))) return false
    for (const keyword of ['dependentRequired', 'dependentSchemas', 'dependencies']) {
      for (const [name, then] of Object.entries(schema[keyword] ?? {})) {
        if (!Object.hasOwn(record, name)) continue
        const isMet = Array.isArray(then)
          ? then.every((other) => Object.hasOwn(record, String(other)))
          : holds(record, child(then, node, keyword, name), chain + 1)
        if (!isMet) return false
      }
    }
    const asked = schema[derived.someMember]
    if (isRecord(asked)) {
      const names = child(asked.names, node, 'not')
      const values = child(asked.value, node, 'not')
      if (!Object.entries(record).some(([name, value]) => holds(name, names) && holds(value, values)))
        return false
    }
    const propertyNames = schema.propertyNames
    for (const [name, value] of Object.entries(record)) {
      if (propertyNames !== undefined && !holds(name, child(propertyNames, node, 'propertyNames')))
        return false
      for (const member of memberSchemas(node, name, texts)) {
        if (!holds(value, child(member.schema, node, ...member.keys))) return false
      }
    }
    return true
  }

  return (value: unknown, node: SchemaNode): boolean => holds(value, node)
}

/** The schemas of the items at the front, and the schema of the items after them, in the keywords of either draft. */
export function itemSchemas(schema: Readonly<Record<string, unknown>>): { prefix: unknown[]; rest: unknown } {
  if (Array.isArray(schema.items)) return { prefix: schema.items, rest: schema.additionalItems }
  return { prefix: (schema.prefixItems as unknown[] | undefined) ?? [], rest: schema.items }
}

/** All that one schema says about the member of a name, or about undeclared names that match these patterns. */
export function memberSchemas(
  { schema, path }: SchemaNode,
  name: string | ReadonlySet<string>,
  texts: TextLanguages,
): { schema: unknown; keys: string[] }[] {
  const properties = (schema.properties ?? {}) as Record<string, unknown>
  const found: { schema: unknown; keys: string[] }[] = []
  if (typeof name === 'string' && Object.hasOwn(properties, name)) {
    found.push({ schema: properties[name], keys: ['properties', name] })
  }
  const matches = (pattern: string) =>
    typeof name === 'string'
      ? accepts(texts.pattern(pattern, stepped(path, 'patternProperties')), name)
      : name.has(pattern)
  for (const [pattern, inner] of Object.entries(schema.patternProperties ?? {})) {
    if (matches(pattern)) {
      found.push({ schema: inner, keys: ['patternProperties', pattern] })
    }
  }
  if (found.length > 0) return found
  if (schema.additionalProperties === undefined) return []
  return [{ schema: schema.additionalProperties, keys: ['additionalProperties'] }]
}

function counted(count: number, node: SchemaNode, what: 'Length' | 'Items' | 'Properties'): boolean {
  const { min, max } = countsOf([node], what)
  return count >= min && count <= max
}

function isOf(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isRecord(value)
    case 'number':
      return decimalOf(value) !== undefined
    case 'integer': {
      const decimal = decimalOf(value)
      return decimal !== undefined && isInteger(decimal)
    }
    case 'string':
      return typeof value === 'string'
    default:
      return typeof value === 'boolean'
  }
}
