import type { Exact } from './numbers.ts'

export type Comparator = 'eq' | 'gt' | 'gte' | 'lt' | 'lte'

export type ConversionTarget = 'double' | 'string' | 'int' | 'bool' | 'exists'

/** A constant. `text` is how a JSON value written the same way would read. */
export type Literal = { text: string } & (
  | { kind: 'text'; value: string }
  | { kind: 'number'; value: Exact }
  | { kind: 'boolean'; value: boolean }
  | { kind: 'null'; value: null }
)

/** A validated query expression. `path` is its path in the request, for refusals that depend on the fields. */
export type Expression =
  | { op: 'and' | 'or'; operands: Expression[] }
  | { op: 'not'; operand: Expression }
  | { op: 'compare'; by: Comparator; left: Expression; right: Expression; path: string }
  | { op: 'in'; operand: Expression; list: Expression[]; path: string }
  | { op: 'contains'; input: Expression; substring: Expression; ignoreCase: boolean }
  | { op: 'convert'; input: Expression; to: ConversionTarget }
  | { op: 'size'; input: Expression }
  | { op: 'field'; field: string }
  | { op: 'literal'; literal: Literal }

function childrenOf(expression: Expression): Expression[] {
  switch (expression.op) {
    case 'and':
    case 'or':
      return expression.operands
    case 'not':
      return [expression.operand]
    case 'compare':
      return [expression.left, expression.right]
    case 'in':
      return [expression.operand, ...expression.list]
    case 'contains':
      return [expression.input, expression.substring]
    case 'convert':
    case 'size':
      return [expression.input]
    case 'field':
    case 'literal':
      return []
  }
}

/** Conditions that hold together where the expression holds: none if there is no expression. */
export const allHolding = (expression: Expression | undefined): Expression[] =>
  expression?.op === 'and' ? expression.operands.flatMap(allHolding) : expression ? [expression] : []

/** The field and the literals of which it must equal one; undefined of any other expression. */
export function equalityIn(expression: Expression): { field: string; literals: Literal[] } | undefined {
  const { op } = expression
  if (op !== 'in' && (op !== 'compare' || expression.by !== 'eq')) return undefined
  const sides = op === 'in' ? [expression.operand, ...expression.list] : [expression.left, expression.right]
  if (op === 'compare' && expression.left.op !== 'field') sides.reverse()
  const [field, ...values] = sides
  const literals = values.flatMap((value) => (value.op === 'literal' ? [value.literal] : []))
  return field?.op === 'field' && literals.length === values.length ? { ...field, literals } : undefined
}

/** The same if all of them are texts, and there are some. */
export function textsIn(expression: Expression): { field: string; values: string[] } | undefined {
  const { field = '', literals = [] } = equalityIn(expression) ?? {}
  const values = literals.flatMap(({ kind, value }) => (kind === 'text' ? [value] : []))
  return values.length > 0 && values.length === literals.length ? { field, values } : undefined
}

/** How often an expression names a field. */
export function mentionsOf(expression: Expression, field: string): number {
  const own = expression.op === 'field' && expression.field === field ? 1 : 0
  return childrenOf(expression).reduce((sum, child) => sum + mentionsOf(child, field), own)
}

/** Every field that the expression reads, each once, in order of appearance. */
export function fieldsOf(expression: Expression): string[] {
  const fields = new Set<string>()
  const visit = (node: Expression) => {
    if (node.op === 'field') fields.add(node.field)
    for (const child of childrenOf(node)) visit(child)
  }
  visit(expression)
  return [...fields]
}
