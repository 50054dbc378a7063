import { printedWith } from './printf.ts'
import { shown } from './printing.ts'
import { compared, isIn } from './tests.ts'
import {
  boolean,
  float,
  type Held,
  isEqual,
  isFloat,
  isList,
  isMissing,
  isNumber,
  isNumeric,
  isText,
  list,
  number,
  text,
  tuple,
} from './values.ts'

/** Operators as in Python, where the library's differ. */

const orders: Readonly<Record<string, (order: number) => boolean>> = {
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
}

/** Undefined where the library combines these values as Python does, or refuses to. */
export function combined(operator: string, left: Held, right: Held): Held | undefined {
  switch (operator) {
    case '==':
      return boolean(isEqual(left, right))
    case '!=':
      return boolean(!isEqual(left, right))
    case '~':
      return text(shown(left) + shown(right))
    case 'in':
      return boolean(isIn(left, right))
    case 'not in':
      return boolean(!isIn(left, right))
    case '+':
      return added(left, right)
    case '%':
      return isText(left) ? printedWith(left.value, right) : remainder(left, right)
    case '*':
      return repeated(left, right) ?? repeated(right, left)
  }
  const order = orders[operator]
  return order && boolean(order(compared(left, right)))
}

function added(left: Held, right: Held): Held | undefined {
  if (isText(left) && isText(right)) return text(left.value + right.value)
  if (isMissing(left) && isText(right)) return right
  if (isMissing(right) && isText(left)) return left
  if (isText(left) || isText(right)) {
    // Python refuses numbers, too; templates that were tried only here rely on them.
    if (isNumeric(isText(left) ? right : left)) return text(shown(left) + shown(right))
    throw new Error('only a text can be added to a text')
  }
  if (left.isTuple && right.isTuple && isList(left) && isList(right))
    return tuple(left.value.concat(right.value))
  if (isNumeric(left) && isNumeric(right) && !(isNumber(left) && isNumber(right))) {
    return numberLike(left, right, Number(left.value) + Number(right.value))
  }
  return undefined
}

/** With the sign of the divisor. */
function remainder(left: Held, right: Held): Held | undefined {
  if (!isNumber(left) || !isNumber(right)) return undefined
  if (right.value === 0) throw new Error('division by zero')
  return numberLike(left, right, ((left.value % right.value) + right.value) % right.value)
}

const numberLike = (left: Held, right: Held, value: number) =>
  isFloat(left) || isFloat(right) ? float(value) : number(value)

/** Refused before it takes the memory: longer lists are beyond the bounds of every server. */
const maxRepeated = 10_000_000

function repeated(value: Held, times: Held): Held | undefined {
  if (!isNumber(times)) return undefined
  const count = Math.max(0, times.value)
  if (isText(value)) return text(value.value.repeat(count))
  if (!isList(value)) return undefined
  if (count * value.value.length > maxRepeated) throw new RangeError('Invalid array length')
  return list(Array.from({ length: count }, () => value.value).flat())
}
