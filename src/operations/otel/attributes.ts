import { type Attributes, SpanError, shown, type Value } from './span.ts'

type Node = { [key: string]: Value }

const maxPathSteps = 100
const atSign = /@|%40/

/**
 * Turns attributes into nested objects: `a.b` becomes `b` within `a`. If one name is both a value and the prefix of
 * another, no such object exists and the span is malformed. A name with an at sign stays whole: redaction would not find
 * an e-mail address in its pieces.
 */
export function nested(attributes: Attributes): Node {
  const root: Node = Object.create(null)
  const branches = new Set<Value>([root])
  for (const [name, value] of attributes) {
    const path = atSign.test(name) ? [name] : name.split('.', maxPathSteps + 1)
    if (path.length > maxPathSteps) {
      throw new SpanError(`attribute ${shown(name)} has more than ${maxPathSteps} steps`)
    }
    const last = path.pop() as string
    let node = root
    for (const [index, step] of path.entries()) {
      let next = node[step]
      if (next === undefined) {
        next = Object.create(null) as Node
        node[step] = next
        branches.add(next)
      }
      if (!branches.has(next)) throw conflict(name, path.slice(0, index + 1).join('.'))
      node = next as Node
    }
    if (node[last] !== undefined) throw conflict(name, `${name}.…`)
    node[last] = value
  }
  return root
}

function conflict(name: string, other: string): SpanError {
  return new SpanError(`attribute ${shown(name)} conflicts with attribute ${shown(other)}`)
}

/**
 * Turns objects whose members are numbers in a row into lists, because messages are flattened that way. The first may be
 * missing: an SDK that has more attributes than its limit drops them.
 */
export function withLists(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== null) return value
  const node = value as Node
  const keys = Object.keys(node)
  for (const key of keys) node[key] = withLists(node[key] as Value)
  const isList = keys.length > 0 && keys.every((key, index) => key === String(Number(keys[0]) + index))
  return isList ? keys.map((key) => node[key] as Value) : node
}
