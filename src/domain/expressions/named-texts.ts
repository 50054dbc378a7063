import { wrong } from '../refusals.ts'
import type { Expression } from './expression.ts'

/** The texts that one of these fields is compared with for equality anywhere in the expression. */
export function textsOf(expression: Expression, fields: ReadonlySet<string>): string[] {
  const texts = new Set<string>()
  changed(expression, fields, (text) => {
    texts.add(text)
    return [text]
  })
  return [...texts]
}

/** The same expression, with each of those texts also matched by its other name. */
export function withOtherNames(
  expression: Expression,
  fields: ReadonlySet<string>,
  others: ReadonlyMap<string, string>,
): Expression {
  return changed(expression, fields, (text) => [text, ...[others.get(text) ?? []].flat()])
}

function changed(
  node: Expression,
  fields: ReadonlySet<string>,
  namesOf: (text: string) => string[],
): Expression {
  const isNamed = (operand: Expression) => operand.op === 'field' && fields.has(operand.field)
  switch (node.op) {
    case 'and':
    case 'or':
      return { ...node, operands: node.operands.map((operand) => changed(operand, fields, namesOf)) }
    case 'not':
      return { ...node, operand: changed(node.operand, fields, namesOf) }
    case 'compare': {
      const { by, left, right, path } = node
      if (by !== 'eq' || !isNamed(left)) return node
      const list = literalsOf(right, namesOf)
      return list.length === 1 ? node : { op: 'in', operand: left, list, path }
    }
    case 'in':
      if (!isNamed(node.operand)) return node
      return { ...node, list: node.list.flatMap((item) => literalsOf(item, namesOf)) }
    default:
      return node
  }
}

function literalsOf(operand: Expression, namesOf: (text: string) => string[]): Expression[] {
  if (operand.op !== 'literal' || operand.literal.kind !== 'text') return [operand]
  return namesOf(operand.literal.value).map((value) => ({
    op: 'literal',
    literal: { kind: 'text', value, text: value },
  }))
}

const accepted =
  '{"$eq": [{"$getField": "id"}, {"$literal": "…"}]}, an $or of such, or $in with such an id and texts'

/**
 * Deleting by query is narrow on purpose: only ids by name, nothing that could match more than intended. A well-formed
 * query of another form is a 400, as in Weave.
 */
export function idsNamed(expression: Expression): string[] {
  switch (expression.op) {
    case 'or':
      return expression.operands.flatMap(idsNamed)
    case 'compare':
      if (expression.by === 'eq' && isId(expression.left)) return [textIn(expression.right)]
      break
    case 'in':
      if (isId(expression.operand)) return expression.list.map(textIn)
      break
  }
  throw wrong('query', 'this removes by id only', accepted)
}

function isId(operand: Expression): boolean {
  return operand.op === 'field' && operand.field === 'id'
}

function textIn(operand: Expression): string {
  if (operand.op === 'literal' && operand.literal.kind === 'text') return operand.literal.value
  throw wrong('query', 'only ids as text can be named', accepted)
}
