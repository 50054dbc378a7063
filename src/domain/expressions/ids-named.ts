import { refuse } from '../refusals.ts'
import type { Expression } from './expression.ts'

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
      if (expression.by === 'eq' && isId(expression.left)) return [text(expression.right)]
      break
    case 'in':
      if (isId(expression.operand)) return expression.list.map(text)
      break
  }
  throw refuse('invalid_value', { field: 'query', received: 'this removes by id only', accepted })
}

function isId(operand: Expression): boolean {
  return operand.op === 'field' && operand.field === 'id'
}

function text(operand: Expression): string {
  if (operand.op === 'literal' && operand.literal.kind === 'text') return operand.literal.value
  throw refuse('invalid_value', { field: 'query', received: 'only ids as text can be named', accepted })
}
