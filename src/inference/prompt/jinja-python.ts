import { type Environment, Interpreter, type Node, type Value } from './jinja.ts'
import { filters, operandOf } from './jinja-filters.ts'
import { methodOf } from './jinja-methods.ts'
import {
  boolean,
  entriesOf,
  type Held,
  isMissing,
  isNone,
  isNumber,
  isObject,
  isText,
  list,
  missing,
  object,
  shown,
  text,
} from './jinja-values.ts'

/** A node that has been evaluated. */
interface HeldNode extends Node {
  type: 'Held'
  held: Held
}

const held = (value: Held): HeldNode => ({ type: 'Held', held: value })
const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value

/**
 * The library's interpreter, closer to Jinja2 and Python where chat templates need it: undefined values, methods,
 * filters, tuples, and mappings with numbers as keys. Everything else is left to the library: nodes are partly
 * evaluated here, and passed on with the parts that are known.
 */
export class PythonInterpreter extends Interpreter {
  override evaluate(node: Node | undefined, environment: Environment): Value {
    switch (node?.type) {
      case 'Held':
        return node.held as Held
      case 'TupleLiteral':
        // The library's tuples can be neither unpacked nor tested.
        return super.evaluate({ ...node, type: 'ArrayLiteral' }, environment)
      case 'ObjectLiteral':
        return this.#object(node, environment)
      case 'For':
        return this.#loop(node, environment)
      case 'MemberExpression':
        return this.#member(node, environment)
      case 'FilterExpression':
        return this.#filtered(node, environment)
      case 'BinaryExpression':
        return this.#combined(node, environment)
      case 'TestExpression':
        return this.#tested(node, environment)
      default:
        return super.evaluate(node, environment)
    }
  }

  #value(node: unknown, environment: Environment): Held {
    return this.evaluate(node as Node, environment) ?? missing
  }

  #object(node: Node, environment: Environment): Value {
    const members = [...(node.value as Map<Node, Node>)]
    if (members.every(([key]) => key.type === 'StringLiteral')) return super.evaluate(node, environment)
    return object(
      new Map(
        members.map(([key, member]) => [
          this.#value(key, environment).value,
          this.#value(member, environment),
        ]),
      ),
    )
  }

  #loop(node: Node, environment: Environment): Value {
    const iterable = node.iterable as Node
    const isSelective = iterable.type === 'SelectExpression'
    const value = this.#value(isSelective ? iterable.lhs : iterable, environment)
    const entries = entriesOf(value)
    const known = held(entries ? list(entries) : value)
    return super.evaluate(
      { ...node, iterable: isSelective ? { ...iterable, lhs: known } : known },
      environment,
    )
  }

  #member(node: Node, environment: Environment): Value {
    const self = this.#value(node.object, environment)
    const property = node.property as Node
    if (node.computed && property.type === 'SliceExpression') {
      const sliced = isMissing(self) || isNone(self) ? list([]) : self
      return super.evaluate({ ...node, object: held(sliced) }, environment)
    }
    const key = node.computed ? this.#value(property, environment) : text(String(property.value))
    if (isMissing(key) || isNone(key)) return missing
    if (self.value instanceof Map) {
      // The most frequent expression in templates: a member that exists.
      const member = self.value.get(key.value)
      if (member !== undefined) return member
    }
    if (isObject(self) && isNumber(key)) return missing
    const method = isText(key) ? methodOf(self, key.value) : undefined
    if (method !== undefined) return method
    const known = { ...node, object: held(self), ...(node.computed === true && { property: held(key) }) }
    return super.evaluate(known, environment)
  }

  #filtered(node: Node, environment: Environment): Value {
    const filter = node.filter as Node
    const name = String(filter.type === 'CallExpression' ? (filter.callee as Node).value : filter.value)
    const operand = operandOf(this.#value(node.operand, environment), name)
    const own = Object.hasOwn(filters, name) ? filters[name] : undefined
    if (own !== undefined) {
      const result = own(operand, this.#given(filter, environment))
      if (result !== undefined) return result
    }
    return super.evaluate({ ...node, operand: held(operand) }, environment)
  }

  #given(filter: Node, environment: Environment) {
    const positional: Held[] = []
    const named = new Map<string, Held>()
    for (const argument of filter.type === 'CallExpression' ? (filter.args as Node[]) : []) {
      if (argument.type === 'KeywordArgumentExpression') {
        named.set(String((argument.key as Node).value), this.#value(argument.value, environment))
      } else positional.push(this.#value(argument, environment))
    }
    return { positional, named }
  }

  #combined(node: Node, environment: Environment): Value {
    const operator = (node.operator as Node).value
    if (operator !== '+' && operator !== '~' && operator !== 'in' && operator !== 'not in') {
      return super.evaluate(node, environment)
    }
    const left = this.#value(node.left, environment)
    const right = this.#value(node.right, environment)
    if (operator === '~') return text(shown(left) + shown(right))
    if (operator === '+') {
      if (isText(left) && isText(right)) return text(left.value + right.value)
      if (isMissing(left) && isText(right)) return right
      if (isMissing(right) && isText(left)) return left
      if (isText(left) && isObject(right)) return text(left.value + shown(right))
    } else if (isNone(right)) return boolean(operator === 'not in')
    return super.evaluate({ ...node, left: held(left), right: held(right) }, environment)
  }

  #tested(node: Node, environment: Environment): Value {
    const test = isNode(node.test) ? node.test.value : undefined
    if (test !== 'iterable') return super.evaluate(node, environment)
    const operand = this.#value(node.operand, environment)
    if (!isObject(operand)) return super.evaluate({ ...node, operand: held(operand) }, environment)
    return boolean(node.negate !== true)
  }
}
