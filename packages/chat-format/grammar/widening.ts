import { isRecord, type SchemaError } from '../../constraints/index.ts'

type Schema = Readonly<Record<string, unknown>>

/** A schema that allows everything that the given one does, and what was dropped: the path and the keyword. */
interface Widened {
  schema: Schema
  what: string
}

/** Keywords whose value has schemas by name, or a list of them. */
const several = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
  'allOf',
  'anyOf',
  'oneOf',
  'prefixItems',
])
const single = new Set([
  'not',
  'if',
  'then',
  'else',
  'items',
  'additionalItems',
  'additionalProperties',
  'propertyNames',
  'contains',
  'unevaluatedProperties',
  'unevaluatedItems',
])
/** Keywords that only make sense together. */
const together = [
  ['if', 'then', 'else'],
  ['contains', 'minContains', 'maxContains'],
]
const ofOthers = new Set([
  'patternProperties',
  'propertyNames',
  'unevaluatedProperties',
  'additionalProperties',
])

/**
 * Drops the keyword that cannot be kept, and nothing else. Below `not`, `if` or `oneOf`, where a wider schema would
 * narrow the whole, that keyword is dropped instead.
 */
export function widened(root: Schema, { keyword, path }: SchemaError): Widened {
  const steps = stepsOf(path)
  let at: unknown = root
  const passed: string[] = []
  while (steps.length > passed.length && isRecord(at)) {
    const step = steps[passed.length] as string
    const isMany = several.has(step) || (step === 'items' && Array.isArray(at.items))
    const inner = isMany
      ? childOf(at[step], steps[passed.length + 1])
      : single.has(step)
        ? at[step]
        : undefined
    const isNegated = step === 'not' || step === 'if' || (step === 'contains' && at.maxContains !== undefined)
    if (isNegated || step === 'oneOf') return without(root, passed, step)
    if (!isRecord(inner)) break
    passed.push(...steps.slice(passed.length, passed.length + (isMany ? 2 : 1)))
    at = inner
  }
  // If the path continues below a keyword without a schema of its own, that keyword is the one to drop.
  const step = steps[passed.length]
  return without(root, passed, step !== undefined && isRecord(at) && Object.hasOwn(at, step) ? step : keyword)
}

function without(root: Schema, path: readonly string[], keyword: string): Widened {
  const changed = replaced(root, path, (schema) => withoutKeyword(schema, keyword))
  // The schema that changes may be referred to from below `not` or `oneOf`.
  const schema = JSON.stringify(root).includes('"$ref"') ? positive(changed) : changed
  return { schema, what: `#${path.map((step) => `/${escaped(step)}`).join('')} ${keyword}` }
}

/** The schema without the keyword, and without losing anything that the keyword allowed. */
function withoutKeyword(schema: Schema, keyword: string): Schema {
  // If another keyword led to this one, only the type is certain.
  if (!Object.hasOwn(schema, keyword)) return schema.type === undefined ? {} : { type: schema.type }
  const others: Record<string, unknown> = { ...schema }
  for (const name of together.find((names) => names.includes(keyword)) ?? [keyword]) delete others[name]
  if (keyword === 'oneOf' && others.anyOf === undefined) others.anyOf = schema.oneOf
  if (ofOthers.has(keyword)) others.additionalProperties = true
  return others
}

/** Without references below keywords that negate. */
function positive(schema: unknown): Schema {
  if (!isRecord(schema)) return schema as Schema
  let own: Schema = schema
  for (const keyword of ['not', 'if', 'oneOf']) {
    if (Object.hasOwn(own, keyword) && JSON.stringify(own[keyword]).includes('"$ref"'))
      own = withoutKeyword(own, keyword)
  }
  return Object.fromEntries(
    Object.entries(own).map(([keyword, value]) => {
      if (single.has(keyword) && isRecord(value)) return [keyword, positive(value)]
      if (!several.has(keyword) && !(keyword === 'items' && Array.isArray(value))) return [keyword, value]
      if (Array.isArray(value)) return [keyword, value.map(positive)]
      if (!isRecord(value)) return [keyword, value]
      return [keyword, Object.fromEntries(Object.entries(value).map(([name, sub]) => [name, positive(sub)]))]
    }),
  )
}

/** Given names may be `__proto__`, so objects are built from entries. */
function replaced(at: Schema, path: readonly string[], change: (schema: Schema) => Schema): Schema {
  const [step, ...further] = path
  if (step === undefined) return change(at)
  return Object.fromEntries(
    Object.entries(at).map(([name, value]) => {
      if (name !== step) return [name, value]
      if (!Array.isArray(value)) return [name, replaced(value as Schema, further, change)]
      const [index, ...rest] = further
      return [
        name,
        value.map((sub, number) => (String(number) === index ? replaced(sub as Schema, rest, change) : sub)),
      ]
    }),
  )
}

function childOf(value: unknown, step: string | undefined): unknown {
  if (step === undefined) return undefined
  if (Array.isArray(value)) return value[Number(step)]
  return isRecord(value) && Object.hasOwn(value, step) ? value[step] : undefined
}

function stepsOf(path: string): string[] {
  return path
    .split('/')
    .slice(1)
    .map((step) => decoded(step).replaceAll('~1', '/').replaceAll('~0', '~'))
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}

function escaped(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1')
}
