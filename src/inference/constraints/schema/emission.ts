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

/** What is written so that equal values have one text, but for white space and for objects that are marked as loose. */
interface Alike {
  /** In which order the members of all objects are written. */
  readonly rankOf: (name: string) => number
  /** The same where order is no matter. */
  readonly plain: Emission
  /** Objects, or lists, of several kinds, for which one value may be written. */
  forks: boolean
  /** Objects with members in any order. */
  loose: boolean
}

/** What remembers its items, and where it stands. */
export interface Remembered {
  readonly keyword: string
  readonly path: string
}

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
  /** Where values are remembered, equal ones are written alike; undefined where it is no matter. */
  readonly alike: Alike | undefined
  /** The same where values are remembered. Throws where nothing remembers them. */
  remembering(what: Remembered): Emission
  /** Any JSON string. */
  readonly string: Expr
  /** One character of a JSON string. */
  readonly character: Expr
  /** The rule of the values for which all of these schemas hold. */
  value(nodes: readonly SchemaNode[]): Expr
  /** The same for values that are not written as JSON. A notation has a name, and says what stands for a value. */
  valueIn(notation: string, nodes: readonly SchemaNode[], write: (nodes: readonly SchemaNode[]) => Expr): Expr
  holds(value: unknown, node: SchemaNode): boolean
  /** A rule of its own for a piece that is used in several places, or would be nested too deeply. */
  named(hint: string, expr: Expr): Expr
  /** The same number for equal pieces. */
  numberOf(expr: Expr): number
  write(automaton: Automaton, encode: (ranges: readonly Range[]) => Expr): Expr
  /** What was asked for so far can be met; a false one is sure, a true one may be wrong. */
  possible(nodes: readonly SchemaNode[], depth: number): boolean
  /** So many different values fit these schemas; a true one is sure, a false one may be wrong. */
  hasAtLeast(nodes: readonly SchemaNode[], count: number): boolean
}
