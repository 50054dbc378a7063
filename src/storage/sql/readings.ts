import { wrong } from '../../domain/refusals.ts'
import type { Sql } from './sql.ts'

/**
 * Where a field is read from. The SQL of a text compares by code point: columns do, and text built from other text is
 * passed through `dialect.ordered`. A time is integer microseconds.
 */
export type FieldReading =
  | PlainReading
  | {
      kind: 'json'
      column: Sql
      path: readonly string[]
      /** The most bytes of the column, for columns whose length could only be found by looking them up again. */
      most?: number
      /** The column that contains it, if the length of that is cheaper to read. */
      within?: Sql
      /** When read as a number, true is 1 and false is 0. */
      countsTruth?: boolean
      /** The same number, and the 1 or 0 of a boolean, if they can be read more cheaply. */
      known?: { number: Sql; truth: Sql }
    }

/** `document` is the column that has to be read for it, if that may be large. */
export interface PlainReading {
  kind: 'text' | 'number' | 'time'
  sql: Sql
  document?: Sql
  /** Never null, so that an index has the order in both directions. */
  isAlways?: boolean
}

/** Refuses an unknown field. */
export type FieldResolver = (field: string) => FieldReading

/** A value and the values that enclose it are in memory at once, each as a text of its own. */
const maxAround = 4

/** Fields that are looked up in another table for each row, such as feedback. */
const maxLookups = 32

/** Refuses a statement that would need too much memory for one row. `requestPath` names where its fields were given. */
export function boundReadings(readings: readonly FieldReading[], requestPath = 'query'): void {
  const ofJson = readings.filter((reading) => reading.kind === 'json')
  const lookups = ofJson.filter(({ most }) => most !== undefined).length
  if (lookups > maxLookups) {
    throw wrong(requestPath, `${lookups} fields of feedback`, `at most ${maxLookups}`)
  }
  const keyOf = ({ text, values }: Sql, path: readonly string[]) => JSON.stringify([text, values, path])
  const known = new Set(
    ofJson.flatMap(({ column, within, path }) => {
      const isWhole = within !== undefined && path.length === 0
      return isWhole ? [keyOf(column, path), keyOf(within, path)] : [keyOf(column, path)]
    }),
  )
  for (const { column, path } of ofJson) {
    const around = path.filter((_, steps) => known.has(keyOf(column, path.slice(0, steps)))).length
    if (around <= maxAround) continue
    throw wrong(
      requestPath,
      `a field inside ${around} other fields that are read too`,
      `at most ${maxAround}`,
    )
  }
}

export interface Sort {
  reading: FieldReading
  direction: 'asc' | 'desc'
}

/** What ORDER BY sorts by. */
export interface Sorting {
  order: readonly Sql[]
  /** What must follow FROM for it. */
  source?: Sql
}
