import type { Automaton } from '../automaton/automaton.ts'
import type { Budget } from '../grammar/budget.ts'
import type { Expr, Range } from '../grammar/expressions.ts'
import type { Cases } from './cases.ts'
import type { SchemaDocument, SchemaNode } from './schema-document.ts'
import type { TextLanguages } from './text-languages.ts'

/**
 * Which objects have no members but those that their schema names (docs/decisions/0012): those whose schema says nothing of
 * others, those that list members without `additionalProperties`, or none but those whose schema says so.
 */
export type Closing = 'silent' | 'listing' | 'told'

/** What those who write one type of value need of the compilation that they are a part of. */
export interface Emission {
  readonly document: SchemaDocument
  readonly cases: Cases
  readonly texts: TextLanguages
  readonly budget: Budget
  /** Between what belongs together in an object or a list. */
  readonly space: Expr
  /** Behind the colon of a member. */
  readonly gap: Expr
  readonly closing: Closing
  /** Members come in any order, not only in that of the schema. */
  readonly anyOrder: boolean
  /** Any JSON string. */
  readonly string: Expr
  /** One character of a JSON string. */
  readonly character: Expr
  /** The rule of the values for which all of these schemas hold. */
  value(nodes: readonly SchemaNode[]): Expr
  holds(value: unknown, node: SchemaNode): boolean
  /** A rule of its own for a piece that is used in several places, or would be nested too deeply. */
  named(hint: string, expr: Expr): Expr
  write(automaton: Automaton, encode: (ranges: readonly Range[]) => Expr): Expr
  /** What was asked for so far can be met; a false one is sure, a true one may be wrong. */
  possible(nodes: readonly SchemaNode[], depth: number): boolean
}
