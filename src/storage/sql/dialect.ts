import type { Expression } from '../../domain/expressions/expression.ts'
import type { Exact } from '../../domain/expressions/numbers.ts'
import type { FieldReading, Sorting } from './readings.ts'
import type { Sql } from './sql.ts'
import type { StringSearch } from './string-search.ts'

export type Engine = 'sqlite' | 'postgres'

/** What a JSON value reads as, see domain/expressions/json-value.ts. */
export interface JsonReading {
  /** Never NULL: what is missing reads as the empty text. */
  text: Sql
  /** Exact for 64-bit integers, else the nearest double; NULL when the text is not a number. */
  number: Sql
  /** A condition: there is a value other than null. */
  exists: Sql
}

/** A condition that reads documents. `compile` writes it with the readings of the dialect that it is given. */
export interface DocumentCondition {
  expression: Expression
  /** Of every field of the expression. */
  readings: ReadonlyMap<string, FieldReading>
  compile(dialect: Dialect): Sql
}

/** The few places where the two engines are written differently. Texts that it makes compare by code point. */
export interface Dialect {
  readonly engine: Engine
  /** A condition that always holds and lets a long query be stopped while it looks at rows. */
  readonly going: Sql
  /** The same for calls, of which so many are counted that each look would cost more than the row. */
  readonly callsGoing: Sql
  /** The same for rows of `trial`. */
  readonly trialsGoing: Sql
  /** What is sorted is all that is selected, and not the keys of the rows alone. */
  readonly sortsWholeRows: boolean
  /** LIMIT takes this for all rows. */
  readonly noLimit: Sql
  /** A value inside a JSON text column. Whole-number segments address lists and keys alike. */
  json(column: Sql, path: readonly string[], most?: number): JsonReading
  /**
   * A JSON column as it is stored, to be shown. Where pages have no checksums, a text that a disk has changed is a refusal: it
   * would be put into an answer that nobody can read.
   */
  stored(column: Sql, presence?: 'always'): Sql
  /** The JSON at the path as it is stored; NULL when nothing is there. */
  token(column: Sql, path: readonly string[]): Sql
  /** A text that may be long, where it is looked at several times. */
  longText(text: Sql): Sql
  /** Keeps what a condition holds of a row a small multiple of the row, however often it reads the same. */
  condition(condition: DocumentCondition): Sql
  /** The same for what rows are sorted by. */
  sorting(compile: (dialect: Dialect) => Sql[]): Sorting
  /** A parameter where nothing else tells the engine its type. */
  text(value: string): Sql
  number(value: Exact): Sql
  /** The same reading as of a JSON value, of any text. */
  textNumber(text: Sql): Sql
  /** Digits with or without a sign; NULL for any other text. */
  textWhole(text: Sql): Sql
  /** A number column next to numbers that were read from text. */
  columnNumber(column: Sql): Sql
  /** Decimal digits without an exponent. */
  numberText(number: Sql): Sql
  /** Microseconds as ISO 8601. */
  timeText(time: Sql): Sql
  /** Microseconds as seconds. */
  timeNumber(time: Sql): Sql
  /** A text of our own making among texts that compare by code point. */
  ordered(text: Sql): Sql
  /** Lower case for comparison without regard to case. */
  lower(text: Sql): Sql
  /** Position of a substring, 1-based; 0 when it is not there. */
  position(text: Sql, part: Sql): Sql
  /** One of the strings in the JSON is one of those, or begins with one. */
  containsString(column: Sql, search: StringSearch): Sql
  /** A text column as a JSON string; NULL as null. */
  quoted(text: Sql): Sql
  /** Length of a text in bytes. */
  bytes(text: Sql): Sql
}
