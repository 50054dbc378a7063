import {
  entriesOf,
  type Held,
  isEqual,
  isFlag,
  isFloat,
  isList,
  isMissing,
  isNone,
  isNumber,
  isNumeric,
  isObject,
  isText,
} from './values.ts'

type Test = (value: Held, other: Held) => boolean

const cased = /\p{Cased}/u

/** The tests of Jinja2: after `is`, and by name in select, reject, selectattr and rejectattr. */
const tests: Readonly<Record<string, Test>> = {
  defined: (value) => !isMissing(value),
  undefined: isMissing,
  none: isNone,
  boolean: isFlag,
  true: (value) => isFlag(value) && value.value === true,
  false: (value) => isFlag(value) && value.value === false,
  integer: (value) => isNumber(value) && !isFloat(value),
  float: isFloat,
  number: isNumeric,
  string: isText,
  mapping: isObject,
  iterable: isSequence,
  sequence: isSequence,
  callable: (value) => value.type === 'FunctionValue',
  odd: (value) => Math.abs(Number(value.value) % 2) === 1,
  even: (value) => Number(value.value) % 2 === 0,
  divisibleby: (value, other) => Number(value.value) % Number(other.value) === 0,
  lower: isLower,
  upper: isUpper,
  sameas: isSame,
  eq: isEqual,
  ne: (value, other) => !isEqual(value, other),
  lt: (value, other) => compared(value, other) < 0,
  le: (value, other) => compared(value, other) <= 0,
  gt: (value, other) => compared(value, other) > 0,
  ge: (value, other) => compared(value, other) >= 0,
  in: isIn,
}

const otherNames: Readonly<Record<string, string>> = {
  equalto: 'eq',
  '==': 'eq',
  '!=': 'ne',
  lessthan: 'lt',
  '<': 'lt',
  '<=': 'le',
  greaterthan: 'gt',
  '>': 'gt',
  '>=': 'ge',
}

export function testOf(name: string): Test {
  const own = otherNames[name] ?? name
  const test = Object.hasOwn(tests, own) ? tests[own] : undefined
  if (test === undefined) throw new Error(`Unknown test: ${name}`)
  return test
}

function isSequence(value: Held): boolean {
  return isMissing(value) || isText(value) || isList(value) || isObject(value)
}

export function isLower(value: Held): boolean {
  return isText(value) && cased.test(value.value) && value.value === value.value.toLowerCase()
}

export function isUpper(value: Held): boolean {
  return isText(value) && cased.test(value.value) && value.value === value.value.toUpperCase()
}

/** The same object in Python: texts and numbers are constants there, lists and mappings are what they are. */
function isSame(value: Held, other: Held): boolean {
  return isList(value) || isObject(value)
    ? value.value === other.value
    : value.type === other.type && isEqual(value, other)
}

export function isIn(value: Held, container: Held): boolean {
  if (isText(container)) return isText(value) && container.value.includes(value.value)
  return (entriesOf(container) ?? []).some((entry) => isEqual(entry, value))
}

/** The order of Python: numbers, texts, and lists of these. */
export function compared(a: Held, b: Held): number {
  if (isNumeric(a) && isNumeric(b)) return Number(a.value) - Number(b.value)
  if (isText(a) && isText(b)) return a.value < b.value ? -1 : a.value > b.value ? 1 : 0
  if (isList(a) && isList(b)) {
    for (const [at, entry] of a.value.entries()) {
      const other = b.value[at]
      if (other === undefined) return 1
      const order = compared(entry, other)
      if (order !== 0) return order
    }
    return a.value.length - b.value.length
  }
  throw new Error(`${a.type} and ${b.type} have no order`)
}
