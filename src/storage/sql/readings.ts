import { refuse } from '../../domain/refusals.ts'
import type { Sql } from './sql.ts'

/**
 * Where a field is read. The SQL of a text compares by code point: columns do, and what is put together from other text
 * goes through `dialect.ordered`. A time is integer microseconds.
 */
export type FieldReading =
  | PlainReading
  | {
      kind: 'json'
      column: Sql
      path: readonly string[]
      /** The bytes that the column can hold, where to ask for its length is to look it up once more. */
      most?: number
      /** What it is a part of, where to ask for the length of that costs less. */
      within?: Sql
      /** As a number, true reads as 1 and false as 0. */
      countsTruth?: boolean
      /** The same number, and the number 1 or 0 of a truth value, where they can be read for less. */
      known?: { number: Sql; truth: Sql }
    }

/** `document` is the column that is read for it, when that may be large. */
export interface PlainReading {
  kind: 'text' | 'number' | 'time'
  sql: Sql
  document?: Sql
  /** Never null: where nothing is missing, an index has the order both ways. */
  isAlways?: boolean
}

/** Refuses a field that is unknown. */
export type FieldResolver = (field: string) => FieldReading

/** A value and the values around it are held at once, each as a text of its own. */
const mostAround = 4

/** Fields that are looked up in another table for each row, such as feedback. */
const mostLookups = 32

/** Refuses a statement that would hold too much of one row at once. `place` names where its fields were given. */
export function boundReadings(readings: readonly FieldReading[], place = 'query'): void {
  const ofJson = readings.filter((reading) => reading.kind === 'json')
  const lookups = ofJson.filter(({ most }) => most !== undefined).length
  if (lookups > mostLookups) {
    throw refuse('invalid_value', {
      field: place,
      given: `${lookups} fields of feedback`,
      accepted: `at most ${mostLookups}`,
    })
  }
  const keyOf = ({ text, values }: Sql, path: readonly string[]) => JSON.stringify([text, values, path])
  const known = new Set(ofJson.map(({ column, path }) => keyOf(column, path)))
  for (const { column, path } of ofJson) {
    const around = path.filter((_, steps) => known.has(keyOf(column, path.slice(0, steps)))).length
    if (around <= mostAround) continue
    throw refuse('invalid_value', {
      field: place,
      given: `a field that lies in ${around} others which are read too`,
      accepted: `at most ${mostAround}`,
    })
  }
}

export interface Sort {
  reading: FieldReading
  direction: 'asc' | 'desc'
}

/** What ORDER BY sorts by. */
export interface Sorting {
  order: readonly Sql[]
  /** What has to stand behind FROM for it. */
  source?: Sql
}
