/** The control by which a reviewer enters a value that fits a JSON Schema. */
export type Field =
  | { kind: 'choice'; options: readonly Option[] }
  | { kind: 'choices'; options: readonly Option[]; least: number; most: number }
  | { kind: 'number'; isInteger: boolean; min: number | undefined; max: number | undefined }
  | { kind: 'text'; least: number; most: number }
  | { kind: 'group'; members: readonly Member[] }
  | { kind: 'json' }

export interface Option {
  label: string
  /** The value as JSON. */
  json: string
  /** The key that chooses it. */
  key: string | undefined
}

interface Member {
  name: string
  title: string
  isNeeded: boolean
  field: Field
  /** As `isCertain` of the whole. */
  isCertain: boolean
}

interface Shape {
  field: Field
  /** Whether every value of the field fits the schema, so that the server need not be asked first. */
  isCertain: boolean
}

type Schema = Record<string, unknown>

const longestRange = 11
const mostOptions = 100

/** Keywords that only annotate. */
const notes = new Set([
  'title',
  'description',
  'default',
  'examples',
  '$schema',
  '$id',
  '$comment',
  'deprecated',
])

export function shapeOf(given: unknown): Shape {
  const json: Shape = { field: { kind: 'json' }, isCertain: false }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return json
  const schema = withoutNull(given as Schema)
  const { type } = schema
  const only = (...known: string[]) =>
    Object.keys(schema).every((name) => notes.has(name) || name === 'type' || known.includes(name))
  const options = optionsOf(schema)
  if (options !== undefined) {
    return { field: { kind: 'choice', options }, isCertain: only('enum', 'const', 'minimum', 'maximum') }
  }
  switch (type) {
    case 'integer':
    case 'number':
      return {
        field: {
          kind: 'number',
          isInteger: type === 'integer',
          min: numberOr(schema.minimum),
          max: numberOr(schema.maximum),
        },
        isCertain: only('minimum', 'maximum'),
      }
    case 'string':
      return {
        field: {
          kind: 'text',
          least: numberOr(schema.minLength) ?? 0,
          most: numberOr(schema.maxLength) ?? Infinity,
        },
        isCertain: only('minLength', 'maxLength'),
      }
    case 'array': {
      const items = schema.items as Schema | undefined
      const inner = typeof items === 'object' && items !== null ? optionsOf(items) : undefined
      if (inner === undefined) return json
      const least = numberOr(schema.minItems) ?? 0
      const most = numberOr(schema.maxItems) ?? inner.length
      return {
        field: { kind: 'choices', options: inner, least, most },
        isCertain: only('items', 'minItems', 'maxItems', 'uniqueItems'),
      }
    }
    case 'object': {
      const properties = schema.properties
      if (typeof properties !== 'object' || properties === null) return json
      const needed = Array.isArray(schema.required) ? schema.required : []
      const members = Object.entries(properties as Schema).map(([name, member]): Member => {
        const shape = shapeOf(member)
        return { name, title: titleOf(member) ?? name, isNeeded: needed.includes(name), ...shape }
      })
      if (members.length === 0) return json
      return {
        field: { kind: 'group', members },
        isCertain:
          only('properties', 'required', 'additionalProperties') && members.every((one) => one.isCertain),
      }
    }
    default:
      return json
  }
}

/** An optional field is often written as one that may be null. */
function withoutNull(schema: Schema): Schema {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf)) return schema
  const others = anyOf.filter((one) => (one as Schema | null)?.type !== 'null') as Schema[]
  const [only] = others
  return others.length === 1 && anyOf.length === 2 && typeof only === 'object' ? { ...rest, ...only } : schema
}

function optionsOf(schema: Schema): Option[] | undefined {
  if ('const' in schema) return [optionOf(schema.const, '1')]
  if (Array.isArray(schema.enum) && schema.enum.length > 0 && schema.enum.length <= mostOptions) {
    return schema.enum.map((value, index) => optionOf(value, index < 9 ? String(index + 1) : undefined))
  }
  if (schema.type === 'boolean') {
    return [
      { label: 'Yes', json: 'true', key: '1' },
      { label: 'No', json: 'false', key: '2' },
    ]
  }
  if (schema.type !== 'integer') return undefined
  const [min, max] = [numberOr(schema.minimum), numberOr(schema.maximum)]
  if (min === undefined || max === undefined || !Number.isInteger(min) || !Number.isInteger(max))
    return undefined
  if (max < min || max - min + 1 > longestRange) return undefined
  return Array.from({ length: max - min + 1 }, (_, index) => {
    const value = min + index
    // The key is the number itself; 10 is on the key 0, right of 9.
    const key = value >= 0 && value <= 9 ? String(value) : value === 10 && min > 0 ? '0' : undefined
    return { label: String(value), json: String(value), key }
  })
}

const optionOf = (value: unknown, key: string | undefined): Option => ({
  label: typeof value === 'string' ? value : value === null ? 'none' : JSON.stringify(value),
  json: JSON.stringify(value),
  key,
})

const numberOr = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)

function titleOf(schema: unknown): string | undefined {
  const title = (schema as Schema | null)?.title
  return typeof title === 'string' && title !== '' ? title : undefined
}

/** A short description, for lists. */
export function hintOf({ kind, ...field }: Field): string {
  if ('options' in field) {
    const labels = field.options.map(({ label }) => label)
    const shown = labels.length > 5 ? [...labels.slice(0, 4), `${labels.length - 4} more`] : labels
    return `${kind === 'choices' ? 'any of ' : ''}${shown.join(', ')}`
  }
  if ('isInteger' in field) {
    const { min, max, isInteger } = field
    const range = min !== undefined && max !== undefined ? ` from ${min} to ${max}` : ''
    return `${isInteger ? 'whole number' : 'number'}${range}`
  }
  if ('members' in field) return field.members.map(({ title }) => title).join(', ')
  return kind === 'text' ? 'text' : 'any value, as JSON'
}
