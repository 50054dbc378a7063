import type { Expression } from '../../domain/expressions/expression.ts'
import type { Exact } from '../../domain/expressions/numbers.ts'
import type { FieldReading, Sorting } from './readings.ts'
import type { Sql } from './sql.ts'
import type { StringSearch } from './string-search.ts'

export type Engine = 'sqlite' | 'postgres'

/** How a JSON value is read, see domain/expressions/json-value.ts. */
export interface JsonReading {
  /** Never NULL: a missing value reads as the empty text. */
  text: Sql
  /** Exact for 64-bit integers, otherwise the nearest double; NULL if the text is not a number. */
  number: Sql
  /** A condition: there is a value other than null. */
  exists: Sql
  /** The number of items; NULL if it is no list. */
  size: Sql
}

/** A condition that reads documents. `compile` builds it with the readings of the given dialect. */
export interface DocumentCondition {
  expression: Expression
  /** Of every field of the expression. */
  readings: ReadonlyMap<string, FieldReading>
  compile(dialect: Dialect): Sql
}

/** The few places where the SQL of the two engines differs. Texts built here compare by code point. */
export interface Dialect {
  readonly engine: Engine
  /** A condition that always holds, and allows a long query to be stopped while it scans rows. */
  readonly cancellable: Sql
  /** The same for calls, which are scanned in such numbers that a check on each row would cost more than the row. */
  readonly callsCancellable: Sql
  /** The same for rows of `trial`. */
  readonly trialsCancellable: Sql
  /** Whether sorting carries everything that is selected, and not only the keys of the rows. */
  readonly sortsWholeRows: boolean
  /** The LIMIT that means all rows. */
  readonly noLimit: Sql
  /** A value inside a JSON text column. Whole-number segments address both lists and keys. */
  json(column: Sql, path: readonly string[], most?: number): JsonReading
  /**
   * A stored JSON column, for display. On engines whose pages have no checksums, text that was damaged on disk becomes
   * a refusal; otherwise it would make the whole answer unreadable.
   */
  stored(column: Sql, presence?: 'always'): Sql
  /** The JSON at the path as it is stored; NULL if there is nothing. */
  token(column: Sql, path: readonly string[]): Sql
  /** The members of a JSON object in a text, as a table of `key` and `value`, which is JSON; of anything else none. */
  members(object: Sql): Sql
  /** A text that may be long and is used several times. */
  longText(text: Sql): Sql
  /**
   * Limits the memory that a condition needs for a row to a small multiple of the row, however often it reads the same
   * value.
   */
  condition(condition: DocumentCondition): Sql
  /** The same for the values that rows are sorted by. */
  sorting(compile: (dialect: Dialect) => Sql[]): Sorting
  /** A parameter in a place where the engine cannot infer its type. */
  text(value: string): Sql
  number(value: Exact): Sql
  /** Reads any text as `json` reads a JSON value. */
  textNumber(text: Sql): Sql
  /** Digits with or without a sign; NULL for any other text. */
  textWhole(text: Sql): Sql
  /** A number column compared with numbers that were read from text. */
  columnNumber(column: Sql): Sql
  /** Decimal digits without an exponent. */
  numberText(number: Sql): Sql
  /** An aggregate: the different texts of a column, as JSON. */
  distinctTexts(column: Sql): Sql
  /** Microseconds as ISO 8601. */
  timeText(time: Sql): Sql
  /** Microseconds as seconds. */
  timeNumber(time: Sql): Sql
  /** A text that we built, for comparison with texts that compare by code point. */
  ordered(text: Sql): Sql
  /** Lower case, for case-insensitive comparison. */
  lower(text: Sql): Sql
  /** Position of a substring, 1-based; 0 if it does not occur. */
  position(text: Sql, sought: Sql): Sql
  /** Whether one of the strings in the JSON equals, or begins with, one of those searched. */
  containsString(column: Sql, search: StringSearch): Sql
  /** A text column as a JSON string; NULL as null. */
  quoted(text: Sql): Sql
  /** Length of a text in bytes. */
  bytes(text: Sql): Sql
  /** An aggregate: the value below which this fraction of the numbers lies, between two of them if need be. */
  percentile(value: Sql, fraction: number): Sql
}
