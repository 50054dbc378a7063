import type { Automaton } from '../automaton/automaton.ts'
import type { Budget } from '../grammar/budget.ts'
import type { Expr, Range } from '../grammar/expressions.ts'
import type { Cases } from './cases.ts'
import type { SchemaDocument, SchemaNode } from './schema-document.ts'
import type { TextLanguages } from './text-languages.ts'

/**
 * Which objects are limited to the members that their schema names (docs/decisions/0012). `silent`: those whose schema
 * says nothing about others; `listing`: those that list members without `additionalProperties`; `told`: only those whose
 * schema says so.
 */
export type Closing = 'silent' | 'listing' | 'told'

/** Writing in which equal values have one text, apart from white space and objects that are marked as loose. */
interface Alike {
  /** The order in which the members of all objects are written. */
  readonly rankOf: (name: string) => number
  /** The same emission without a fixed order. */
  readonly plain: Emission
  /** There are objects or lists of several kinds, which may write the same value differently. */
  forks: boolean
  /** There are objects with members in any order. */
  loose: boolean
}

/** The keyword that needs its items remembered, and its path. */
export interface Remembered {
  readonly keyword: string
  readonly path: string
}

/** What the writers of each type of value need from the compilation that they are part of. */
export interface Emission {
  readonly document: SchemaDocument
  readonly cases: Cases
  readonly texts: TextLanguages
  readonly budget: Budget
  /** Between the parts of an object or a list. */
  readonly space: Expr
  /** After the colon of a member. */
  readonly gap: Expr
  readonly closing: Closing
  /** Members may come in any order, not only in that of the schema. */
  readonly anyOrder: boolean
  /** Present where values are remembered: equal values are written alike. */
  readonly alike: Alike | undefined
  /** The same emission with remembered values. Throws where nothing remembers them. */
  remembering(what: Remembered): Emission
  /** Any JSON string. */
  readonly string: Expr
  /** One character of a JSON string. */
  readonly character: Expr
  /** The rule of the values for which all of these schemas hold. */
  value(nodes: readonly SchemaNode[]): Expr
  /** The same for values that are not written as JSON. The notation has a name, and `write` returns the piece for a value. */
  valueIn(notation: string, nodes: readonly SchemaNode[], write: (nodes: readonly SchemaNode[]) => Expr): Expr
  holds(value: unknown, node: SchemaNode): boolean
  /** Makes a rule of a piece that is used in several places, or that would be nested too deeply. */
  named(hint: string, expr: Expr): Expr
  /** The same number for equal pieces. */
  numberOf(expr: Expr): number
  write(automaton: Automaton, encode: (ranges: readonly Range[]) => Expr): Expr
  /** Whether the demands so far can be met. False is certain, true may be wrong. */
  possible(nodes: readonly SchemaNode[], depth: number): boolean
  /** Whether at least this many different values fit these schemas. True is certain, false may be wrong. */
  hasAtLeast(nodes: readonly SchemaNode[], count: number): boolean
}
