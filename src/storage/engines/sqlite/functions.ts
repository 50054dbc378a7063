import type { Database } from 'better-sqlite3'
import { isPresent, textOfJson, valueAt } from '../../../domain/expressions/json-value.ts'
import { decimalText, type Exact, parseNumber } from '../../../domain/expressions/numbers.ts'
import { foldCase } from '../../../domain/text.ts'
import { formatTime } from '../../../domain/time.ts'
import { registerRowCondition } from './row-condition.ts'
import { registerStringSearch } from './string-search.ts'

/**
 * What SQLite cannot say itself. The dialect calls these for the rare rows that need them, never for every row. `going` is
 * called while a condition on one row is evaluated; it throws to stop that.
 */
export function registerFunctions(db: Database, going: () => void): void {
  const pure = { deterministic: true, directOnly: true }
  const ofText = (call: (text: string) => string | Exact | null) => (text: unknown) =>
    typeof text === 'string' ? call(text) : null

  db.function('heddle_json_text', pure, ofText(textOfJson))
  db.function(
    'heddle_json_number',
    pure,
    ofText((json) => parseNumber(textOfJson(json))),
  )
  db.function('heddle_number', pure, ofText(parseNumber))
  db.function('heddle_lower', pure, ofText(foldCase))
  db.function('heddle_decimal', pure, (value: unknown) =>
    typeof value === 'number' ? decimalText(value) : null,
  )
  db.function('heddle_time', pure, (time: unknown) => (typeof time === 'number' ? formatTime(time) : null))

  const ofValueAt =
    (call: (json: string | undefined) => string | Exact | null) => (json: unknown, path: unknown) =>
      call(typeof json === 'string' ? valueAt(json, JSON.parse(path as string) as string[]) : undefined)
  db.function('heddle_text_at', pure, ofValueAt(textOfJson))
  db.function(
    'heddle_number_at',
    pure,
    ofValueAt((json) => parseNumber(textOfJson(json))),
  )
  db.function(
    'heddle_exists_at',
    pure,
    ofValueAt((json) => Number(isPresent(json))),
  )

  registerRowCondition(db, going)
  registerStringSearch(db, going)
}
