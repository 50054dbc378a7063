import {
  allHolding,
  type Comparator,
  type Expression,
  type Literal,
} from '../../domain/expressions/expression.ts'
import type { CallsFilter } from '../calls/filter.ts'
import { rawSql } from '../sql/sql.ts'

/** What is read of every call that ends in a project with rules. */
export interface EndedCall {
  id: string
  trace_id: string
  op_name: string
  op: string | null
  status: string
  model: string | null
  latency_ms: number
  input_tokens: number | null
  output_tokens: number | null
}

export const endedColumns = rawSql(
  'id, trace_id, op_name, op, status, coalesce(model, asked_model) AS model, (ended_at - started_at) / 1000 AS latency_ms, input_tokens, output_tokens',
)

/** What is true of every call that a rule picks, and cheap to compute. */
export type Guard =
  | { kind: 'text'; name: 'op_name' | 'op' | 'model' | 'status'; values: ReadonlySet<string> }
  /** Names of ops that end in `:*`, and perhaps others. */
  | { kind: 'starts'; values: ReadonlySet<string>; starts: readonly string[] }
  | { kind: 'min' | 'max' | 'equal'; name: 'latency_ms' | 'input_tokens' | 'output_tokens'; bound: number }

export function holds(guard: Guard, call: EndedCall): boolean {
  if (guard.kind === 'starts') {
    return guard.values.has(call.op_name) || guard.starts.some((start) => call.op_name.startsWith(start))
  }
  if (guard.kind === 'text') return guard.values.has(call[guard.name] ?? '')
  const value = call[guard.name]
  if (value === null) return false
  if (guard.kind === 'equal') return Number(value) === guard.bound
  return guard.kind === 'min' ? Number(value) >= guard.bound : Number(value) <= guard.bound
}

/** The fields of queries that the row answers, as in storage/calls/fields.ts. */
const numbers: Readonly<Record<string, 'latency_ms' | 'input_tokens' | 'output_tokens'>> = {
  'summary.weave.latency_ms': 'latency_ms',
  input_tokens: 'input_tokens',
  output_tokens: 'output_tokens',
}
const texts: Readonly<Record<string, 'op_name' | 'op' | 'model' | 'status'>> = {
  op_name: 'op_name',
  op: 'op',
  model: 'model',
  'summary.weave.status': 'status',
}

/**
 * Sorts out nearly all calls before a statement is run. Whether a rule picks a call is decided by its condition in SQL
 * alone: a guard may let through too many, and never too few.
 */
export function guardsOf(filter: CallsFilter, query: Expression | undefined): Guard[] {
  const guards = query === undefined ? [] : allHolding(query).flatMap((operand) => guardOf(operand) ?? [])
  const ops = filter.op_names
  return ops?.length ? [ofOps(ops), ...guards] : guards
}

/** As in storage/calls/filter.ts. */
function ofOps(names: readonly string[]): Guard {
  const values = new Set(names.filter((name) => !name.endsWith(':*')))
  const starts = names.filter((name) => name.endsWith(':*')).map((name) => name.slice(0, -1))
  return starts.length > 0 ? { kind: 'starts', values, starts } : { kind: 'text', name: 'op_name', values }
}

function guardOf(operand: Expression): Guard | undefined {
  if (operand.op === 'in') {
    const literals = operand.list.flatMap((item) => (item.op === 'literal' ? item.literal : []))
    return literals.length === operand.list.length ? isOneOf(operand.operand, literals) : undefined
  }
  if (operand.op !== 'compare') return undefined
  const { by, left, right } = operand
  if (left.op === 'field' && right.op === 'literal') return comparison(left, by, right.literal)
  if (left.op === 'literal' && right.op === 'field') return comparison(right, mirrored[by], left.literal)
  return undefined
}

const mirrored: Record<Comparator, Comparator> = { eq: 'eq', gt: 'lt', gte: 'lte', lt: 'gt', lte: 'gte' }

type Field = Extract<Expression, { op: 'field' }>

function comparison(operand: Field, by: Comparator, literal: Literal): Guard | undefined {
  const name = numbers[operand.field]
  if (name === undefined || literal.kind !== 'number') {
    return by === 'eq' ? isOneOf(operand, [literal]) : undefined
  }
  return { kind: kindBy[by], name, bound: Number(literal.value) }
}

/** A bound itself is let through: numbers beyond what a double counts exactly are decided by the statement. */
const kindBy = { eq: 'equal', gt: 'min', gte: 'min', lt: 'max', lte: 'max' } as const

function isOneOf(operand: Expression, literals: readonly Literal[]): Guard | undefined {
  const name = operand.op === 'field' ? texts[operand.field] : undefined
  if (name === undefined || !literals.every(({ kind }) => kind === 'text')) return undefined
  const values = new Set(literals.map(({ text }) => text))
  // What failed below a root is known only to the statement.
  if (name === 'status' && values.has('descendant_error')) values.add('success')
  return { kind: 'text', name, values }
}
