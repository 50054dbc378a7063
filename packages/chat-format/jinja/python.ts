import type { Given } from './filter.ts'
import { filters } from './filters.ts'
import { type Environment, Interpreter, type Node, type Value } from './jinja.ts'
import { methodOf } from './methods.ts'
import { combined } from './operators.ts'
import { shown } from './printing.ts'
import { testOfFilter } from './syntax.ts'
import { testOf } from './tests.ts'
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
  text,
  tuple,
} from './values.ts'

const emptyText = text('')
const ofTexts = new Set([
  'trim',
  'lower',
  'upper',
  'title',
  'capitalize',
  'string',
  'indent',
  'replace',
  'safe',
  'int',
  'float',
  'escape',
  'e',
])
const ofLists = new Set([
  'list',
  'length',
  'count',
  'join',
  'sort',
  'reverse',
  'unique',
  'map',
  'select',
  'reject',
  'selectattr',
  'rejectattr',
  'first',
  'last',
  'sum',
  'min',
  'max',
  'items',
  'dictsort',
])

/**
 * Jinja2 renders undefined values as nothing and iterates over them as over an empty list, and so do its filters. Here
 * none is an empty list, too: templates made for conversations with tools iterate over `tools` without testing it.
 */
function operandOf(value: Held, filter: string): Held {
  if (isMissing(value) && ofTexts.has(filter)) return emptyText
  if ((isMissing(value) || isNone(value)) && ofLists.has(filter)) {
    return filter === 'items' || filter === 'dictsort' ? object(new Map()) : list([])
  }
  return value
}

/** A node that has been evaluated. */
interface HeldNode extends Node {
  type: 'Held'
  held: Held
}

const held = (value: Held): HeldNode => ({ type: 'Held', held: value })

/** Nodes that write nothing: their value is none, which an expression writes as a word. */
const silent = new Set(['Set', 'Macro', 'Comment'])

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
        return tuple((node.value as Node[]).map((entry) => this.#value(entry, environment)))
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

  override evaluateBlock(nodes: Node[], environment: Environment): Value {
    let written = ''
    for (const node of nodes) {
      const value = this.#value(node, environment)
      if (!silent.has(node.type)) written += shown(value)
    }
    return text(written)
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
    const value = this.#value(node.operand, environment)
    const tested = testOfFilter(name)
    if (tested !== undefined) {
      const [other = missing] = this.#given(filter, environment).positional
      return boolean(testOf(tested.test)(value, other) !== tested.isNegated)
    }
    const operand = operandOf(value, name)
    if (Object.hasOwn(filters, name)) {
      const result = this.#applied(name, operand, this.#given(filter, environment), environment)
      if (result !== undefined) return result
    }
    return super.evaluate({ ...node, operand: held(operand) }, environment)
  }

  /** Undefined if the library's own filter is to be used. */
  #applied(name: string, operand: Held, args: Given, environment: Environment): Held | undefined {
    const own = Object.hasOwn(filters, name) ? filters[name] : undefined
    return own?.(operand, args, (other, value, givenToOther) => {
      const result = this.#applied(other, operandOf(value, other), givenToOther, environment)
      return result ?? this.#ofLibrary(other, value, givenToOther, environment)
    })
  }

  #ofLibrary(name: string, value: Held, { positional, named }: Given, environment: Environment): Held {
    const callee = { type: 'Identifier', value: name }
    const args = [
      ...positional.map(held),
      ...Array.from(named, ([key, value]) => ({
        type: 'KeywordArgumentExpression',
        key: { type: 'Identifier', value: key },
        value: held(value),
      })),
    ]
    const filter = args.length === 0 ? callee : { type: 'CallExpression', callee, args }
    return super.evaluate({ type: 'FilterExpression', operand: held(value), filter }, environment) ?? missing
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
    const operator = String((node.operator as Node).value)
    if (operator === 'and' || operator === 'or') return super.evaluate(node, environment)
    const left = this.#value(node.left, environment)
    const right = this.#value(node.right, environment)
    return (
      combined(operator, left, right) ??
      super.evaluate({ ...node, left: held(left), right: held(right) }, environment)
    )
  }

  #tested(node: Node, environment: Environment): Value {
    const test = testOf(String((node.test as Node).value))
    return boolean(test(this.#value(node.operand, environment), missing) !== (node.negate === true))
  }
}
