import type { Exact } from '../domain/expressions/numbers.ts'
import type { Sql } from './sql.ts'

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

/** The few places where the two engines are written differently. Texts that it makes compare by code point. */
export interface Dialect {
  readonly engine: Engine
  /** A condition that always holds and lets a long query be stopped while it looks at rows. */
  readonly going: Sql
  /** A LIMIT that is none. */
  readonly noLimit: Sql
  /** A value inside a JSON text column. Whole-number segments address lists and keys alike. */
  json(column: Sql, path: readonly string[]): JsonReading
  /** The JSON at the same place as it is stored; NULL when nothing is there. */
  token(column: Sql, path: readonly string[]): Sql
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
  /** A text column as a JSON string; NULL as null. */
  quoted(text: Sql): Sql
  /** Length of a text in bytes. */
  bytes(text: Sql): Sql
}
