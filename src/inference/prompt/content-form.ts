import type { Node } from './jinja.ts'

/**
 * How a template wants the content of messages: `list` when it goes through the parts of one. `both` when it asks first
 * whether the content is a text.
 */
export type ContentForm = 'text' | 'list' | 'both'

/** Found in the template itself, since nothing else says so. */
export function contentFormOf(program: Node): ContentForm {
  const names = new Set(['content'])
  let goesThrough = false
  let asksForText = false
  // Twice, because a name may be given to the content after a macro has used it.
  for (let round = 0; round < 2; round++) {
    for (const node of nodesOf(program)) {
      if (node.type === 'Set' && isContent(node.value, names)) addName(names, node.assignee)
      else if (node.type === 'For' && isContent(node.iterable, names)) goesThrough = true
      else if (node.type === 'TestExpression' && isNode(node.test) && node.test.value === 'string') {
        asksForText ||= isContent(node.operand, names)
      }
    }
  }
  if (!goesThrough) return 'text'
  return asksForText ? 'both' : 'list'
}

function* nodesOf(root: unknown): Generator<Node> {
  const waiting: unknown[] = [root]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (value instanceof Map) waiting.push(...value.keys(), ...value.values())
    else if (Array.isArray(value)) waiting.push(...value)
    else if (isNode(value)) {
      yield value
      waiting.push(...Object.values(value))
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

function addName(names: Set<string>, assignee: unknown): void {
  if (isNode(assignee) && assignee.type === 'Identifier') names.add(String(assignee.value))
}

/** `message.content`, `message['content']`, a name that was given to it, and these with a filter or a condition. */
function isContent(value: unknown, names: ReadonlySet<string>): boolean {
  if (!isNode(value)) return false
  switch (value.type) {
    case 'Identifier':
      return names.has(String(value.value))
    case 'MemberExpression':
      return isNode(value.property) && value.property.value === 'content'
    case 'FilterExpression':
      return isContent(value.operand, names)
    case 'SelectExpression':
      return isContent(value.lhs, names)
    default:
      return false
  }
}
