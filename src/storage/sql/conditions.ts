import { allHolding, type Expression, fieldsOf } from '../../domain/expressions/expression.ts'
import { refuse } from '../../domain/refusals.ts'
import type { Dialect } from './dialect.ts'
import { createCompiler } from './expressions.ts'
import { boundReadings, type FieldReading, type FieldResolver } from './readings.ts'
import { joined, type Sql } from './sql.ts'

/** SQLite accepts 32,766 parameters in a statement, of which the rest of the statement needs a few. */
export const maxValues = 30_000

/**
 * A condition for WHERE, in parentheses. It means the same as in domain/expressions/evaluate.ts. Conjuncts that read no
 * document remain separate conditions, so that their indexes are used.
 */
export function compileCondition(expression: Expression, resolve: FieldResolver, dialect: Dialect): Sql {
  const readings = new Map<string, FieldReading>()
  const once: FieldResolver = (field) => {
    const reading = readings.get(field) ?? resolve(field)
    readings.set(field, reading)
    return reading
  }
  const readsDocument = (operand: Expression) => fieldsOf(operand).map(once).some(isOfDocument)
  const operands = allHolding(expression)
  const ofDocuments = new Set(operands.filter(readsDocument))
  boundReadings([...readings.values()])
  const onDocuments: Expression[] = []
  const compiled: Sql[] = []
  for (const operand of operands) {
    const condition = ofDocuments.has(operand)
      ? withoutDocuments(operand, once, dialect)
      : createCompiler(once, dialect)(operand)
    if (condition === undefined) onDocuments.push(operand)
    else compiled.push(condition)
  }
  const [only, ...others] = onDocuments
  if (only !== undefined) {
    const together: Expression = others.length === 0 ? only : { op: 'and', operands: onDocuments }
    compiled.push(
      dialect.condition({
        expression: together,
        readings: new Map(fieldsOf(together).map((field) => [field, once(field)])),
        compile: (own) => createCompiler(once, own)(together),
      }),
    )
  }
  const condition = joined(compiled, ' AND ')
  if (condition.values.length <= maxValues) return condition
  throw refuse('invalid_expression', {
    field: 'query',
    why: `needs ${condition.values.length} parameters for its values and paths`,
    accepted: `at most ${maxValues}`,
  })
}

/** Undefined if a document has to be read after all, because the other columns are not enough. */
function withoutDocuments(operand: Expression, resolve: FieldResolver, dialect: Dialect): Sql | undefined {
  const isKnown = (reading: FieldReading) => reading.kind === 'json' && reading.known !== undefined
  if (!fieldsOf(operand).map(resolve).filter(isOfDocument).every(isKnown)) return undefined
  let isRead = false
  const own: Dialect = {
    ...dialect,
    json(...args) {
      isRead = true
      return dialect.json(...args)
    },
  }
  const condition = createCompiler(resolve, own)(operand)
  return isRead ? undefined : condition
}

function isOfDocument(reading: FieldReading): boolean {
  return reading.kind === 'json' || reading.document !== undefined
}
