import type { Node } from '../jinja/jinja.ts'

/**
 * The form of content that a template expects: `list` when it loops over the parts of a content, `both` when it first tests
 * whether the content is a text.
 */
export type ContentForm = 'text' | 'list' | 'both'

/** Read from the syntax tree, since models state it nowhere else. */
export function contentFormOf(program: Node): ContentForm {
  const names = new Set(['content'])
  let loops = false
  let testsForText = false
  // Twice, because a macro may use a name before the content is assigned to it.
  for (let round = 0; round < 2; round++) {
    for (const node of nodesOf(program)) {
      if (node.type === 'Set' && isContent(node.value, names)) {
        if (isNode(node.assignee) && node.assignee.type === 'Identifier')
          names.add(String(node.assignee.value))
      } else if (node.type === 'For' && isContent(node.iterable, names)) loops = true
      else if (node.type === 'TestExpression' && isNode(node.test) && node.test.value === 'string') {
        testsForText ||= isContent(node.operand, names)
      }
    }
  }
  if (!loops) return 'text'
  return testsForText ? 'both' : 'list'
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

/** `message.content`, `message['content']`, a name to which it is assigned, and these with a filter or a condition. */
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
