import type { Expression } from '../../domain/expressions/expression.ts'
import { refuse } from '../../domain/refusals.ts'
import type { FieldResolver } from '../sql/readings.ts'
import { isQueued } from './queue-items.ts'

/** A call can be in many queues, so this field is no value: `$eq` asks whether the call is in the queue that is named. */
const queueField = 'annotation_queue_items.queue_id'

const question = (queueId: string) => `${queueField} ${queueId}`

/** The same expression with each `$eq` of the field and a text as a question about that queue. */
export function askingForQueues(expression: Expression): Expression {
  switch (expression.op) {
    case 'and':
    case 'or':
      return { ...expression, operands: expression.operands.map(askingForQueues) }
    case 'not':
      return { ...expression, operand: askingForQueues(expression.operand) }
    case 'compare': {
      const { by, left, right } = expression
      const queueId = by === 'eq' ? (queueNamed(left, right) ?? queueNamed(right, left)) : undefined
      if (queueId === undefined) return expression
      return { op: 'convert', to: 'exists', input: { op: 'field', field: question(queueId) } }
    }
    default:
      return expression
  }
}

function queueNamed(field: Expression, literal: Expression): string | undefined {
  const names = field.op === 'field' && field.field === queueField
  return names && literal.op === 'literal' && literal.literal.kind === 'text'
    ? literal.literal.value
    : undefined
}

/** Resolves such questions, and every other field as before. */
export function withQueues(resolve: FieldResolver): FieldResolver {
  return (field) => {
    if (field === queueField) {
      throw refuse('invalid_expression', {
        field: 'query',
        why: `${queueField} is no value to compare or convert otherwise`,
        accepted: `{"$eq": [{"$getField": "${queueField}"}, {"$literal": "<queue id>"}]}`,
      })
    }
    const prefix = question('')
    return field.startsWith(prefix)
      ? { kind: 'text', sql: isQueued(field.slice(prefix.length)) }
      : resolve(field)
  }
}
