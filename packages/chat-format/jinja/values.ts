import { JsonNumber, parseLossless } from '../../json/index.ts'
import { Environment, type Value } from './jinja.ts'

/**
 * The values of the library's interpreter. It does not export their classes, so these are taken from values that it
 * made.
 */

export type Held = NonNullable<Value> & {
  /** Of an integer that a double cannot hold. */
  digits?: string
  /** The library's own tuples can be neither unpacked nor tested, so tuples are lists with this. */
  isTuple?: true
}

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
export const callable = (call: (args: Held[]) => Held) => new classes.callable(call)
export const none = new classes.none(null)
export const missing = new classes.undefined(undefined)

export const float = (value: number) => new classes.float(value)
export const tuple = (value: Held[]): Held => Object.assign(list(value), { isTuple: true as const })

/** A JSON text as a value of the interpreter: 1.0 is a float, and integers keep all their digits. */
export const converted = (json: string): Held => heldOf(parseLossless(json))

/** What `parseLossless` returns, as a value of the interpreter. */
export function heldOf(value: unknown): Held {
  if (value instanceof JsonNumber) return ofToken(value.token)
  if (Array.isArray(value)) return list(value.map(heldOf))
  if (typeof value === 'string') return text(value)
  if (typeof value === 'number') return number(value)
  if (typeof value === 'boolean') return boolean(value)
  if (value === null) return none
  if (value === undefined) return missing
  return object(new Map(Object.entries(value).map(([name, member]) => [name, heldOf(member)])))
}

function ofToken(token: string): Held {
  if (!/^-?\d+$/.test(token)) return float(Number(token))
  const held = number(Number(token))
  return token === '-0' ? number(0) : Object.assign(held, { digits: token })
}

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
export const isFlag = (value: Held) => value.type === 'BooleanValue'
export const isFloat = (value: Held) => value.type === 'FloatValue'
/** A flag is a number, too. */
export const isNumeric = (value: Held) => isNumber(value) || isFlag(value)
export const isNumber = (value: Held): value is Held & { value: number } => typeof value.value === 'number'

/** Keys of a mapping in the source of a template may be numbers. */
export const keyValue = (key: unknown): Held => (typeof key === 'string' ? text(key) : heldOf(key))

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

/** As in Python, numbers and flags are equal by value, and lists and mappings by what they contain. */
export function isEqual(a: Held, b: Held): boolean {
  if (isList(a) && isList(b)) {
    const others = b.value
    return (
      a.value.length === others.length && a.value.every((entry, at) => isEqual(entry, others[at] as Held))
    )
  }
  if (isObject(a) && isObject(b)) {
    const others = b.value
    if (a.value.size !== others.size) return false
    return [...a.value].every(([key, member]) => {
      const other = others.get(key)
      return other !== undefined && isEqual(member, other)
    })
  }
  if (isNumeric(a) && isNumeric(b)) {
    return a.digits !== undefined && b.digits !== undefined
      ? a.digits === b.digits
      : Number(a.value) === Number(b.value)
  }
  // The library gives none another value than JSON does.
  return a.type === b.type && (isNone(a) || a.value === b.value)
}

export function isTrue(value: Held): boolean {
  if (isList(value)) return value.value.length > 0
  return isObject(value) ? value.value.size > 0 : Boolean(value.value)
}
