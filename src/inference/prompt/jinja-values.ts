import { Environment, type Value } from './jinja.ts'

/**
 * The values of the library's interpreter. It does not export their classes, so these are taken from values that it
 * made.
 */

export type Held = NonNullable<Value>

const made = new Environment()
const classOf = (name: string, example: unknown) =>
  made.set(name, example).constructor as new (
    value?: unknown,
  ) => Held
const classes = {
  text: classOf('a', ''),
  integer: classOf('b', 1),
  float: classOf('c', 0.5),
  boolean: classOf('d', true),
  list: classOf('e', []),
  object: classOf('f', {}),
  callable: classOf('g', () => null),
  none: classOf('h', null),
  undefined: classOf('i', undefined),
}

export const text = (value: string) => new classes.text(value)
export const number = (value: number) =>
  Number.isInteger(value) ? new classes.integer(value) : new classes.float(value)
export const boolean = (value: boolean) => new classes.boolean(value)
export const list = (value: Held[]) => new classes.list(value)
export const object = (value: Map<unknown, Held>) => new classes.object(value)
export const callable = (call: (given: Held[]) => Held) => new classes.callable(call)
export const none = new classes.none(null)
export const missing = new classes.undefined(undefined)

/** What JSON.parse returns, as a value of the interpreter. */
export const converted = (value: unknown): Held => new Environment().set('value', value)

export type TextValue = Held & { value: string }
export type ListValue = Held & { value: Held[] }
export type ObjectValue = Held & { value: Map<unknown, Held> }

export const isText = (value: Held): value is TextValue => value.type === 'StringValue'
/** True for tuples, too. */
export const isList = (value: Held): value is ListValue => Array.isArray(value.value)
export const isObject = (value: Held): value is ObjectValue =>
  value.type === 'ObjectValue' || value.type === 'KeywordArgumentsValue'
export const isMissing = (value: Held) => value.type === 'UndefinedValue'
export const isNone = (value: Held) => value.type === 'NullValue'
export const isNumber = (value: Held): value is Held & { value: number } => typeof value.value === 'number'

/** Keys of a mapping in the source of a template may be numbers. */
export const keyValue = (key: unknown): Held => (typeof key === 'number' ? number(key) : text(String(key)))

/**
 * The entries over which a loop iterates; undefined for values that cannot be iterated. None and undefined have no
 * entries, and raise no error.
 */
export function entriesOf(value: Held): Held[] | undefined {
  if (isList(value)) return value.value
  if (isObject(value)) return [...value.value.keys()].map(keyValue)
  if (isText(value)) return [...value.value].map(text)
  if (isMissing(value) || isNone(value)) return []
  return undefined
}

/**
 * A value as text. Lists and mappings are JSON, as the library writes lists, and so are
 * `true`, `false` and `null`.
 */
export function shown(value: Held): string {
  if (isMissing(value)) return ''
  if (isNone(value)) return 'null'
  if (isList(value)) return `[${value.value.map(written).join(', ')}]`
  if (isObject(value)) {
    return `{${[...value.value].map(([key, member]) => `${written(text(String(key)))}: ${written(member)}`).join(', ')}}`
  }
  return String(value)
}

const written = (value: Held) => (isText(value) ? JSON.stringify(value.value) : shown(value))
