import { isListIndex } from '../../../domain/expressions/path.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { join, rawSql, type Sql, sql } from '../../sql/sql.ts'
import { type StringSearch, searchIn } from '../../sql/string-search.ts'
import { boundedCondition, boundedSorting, sizeOf } from './row-memory.ts'

/** The document is unpacked once per row. */
function containsStringIn(column: Sql, search: StringSearch): Sql {
  const position = (text: string) => sql`strpos(document, CAST(${text} AS TEXT))`
  const found = searchIn(rawSql('document'), search, foundExactly(search), position)
  return sql`(SELECT ${found} FROM (SELECT ${column} || '' AS document OFFSET 0) AS unpacked)`
}

/** Every second piece between unescaped quotes is a string. */
function foundExactly({ whole, starts }: StringSearch): Sql {
  const list = (texts: readonly string[]) =>
    sql`SELECT json_array_elements_text(CAST(${JSON.stringify(texts.map(withoutQuotes))} AS JSON))`
  const pieces = sql`string_to_table(replace(replace(document, '\\\\', chr(2)), '\\"', chr(1)), '"')
    WITH ORDINALITY AS pieces (piece, place)`
  const alternatives: Sql[] = []
  if (whole.length > 0) alternatives.push(sql`piece IN (${list(whole)})`)
  if (starts.length > 0) alternatives.push(sql`piece ^@ ANY (ARRAY(${list(starts)}))`)
  return sql`EXISTS (SELECT 1 FROM ${pieces} WHERE place % 2 = 0 AND (${join(alternatives, ' OR ')}))`
}

/** JSON never contains raw control characters, so here they stand for the two escapes that involve quotes. */
function withoutQuotes(text: string): string {
  return text.replaceAll('\\\\', '\x02').replaceAll('\\"', '\x01')
}

const text = (value: string) => sql`CAST(${value} AS TEXT)`

/** Orders by code point, whatever the database's own collation. */
const ordered = (value: Sql) => sql`(${value} COLLATE "C")`

/** What `#>` accepts as a list index, as C's strtol parses it: also `-1`, `01` and ` 1`. */
const looksLikeIndex = /^\s*[+-]?\d+$/

/**
 * The steps of a path, in the form in which they are looked up: `#>` reads a number as a list index or a key, depending
 * on the value; `->` with text reads a key only.
 */
function stepsOf(path: readonly string[]): (string | string[])[] {
  const steps: (string | string[])[] = []
  for (const segment of path) {
    const run = steps.at(-1)
    if (!isListIndex(segment) && looksLikeIndex.test(segment)) steps.push(segment)
    else if (Array.isArray(run)) run.push(segment)
    else steps.push([segment])
  }
  return steps
}

const listed = (run: readonly string[]) => sql`ARRAY[${join(run.map(text), ', ')}]`

function valueAt(column: Sql, path: readonly string[]): Sql {
  const steps = stepsOf(path).map((step) =>
    typeof step === 'string' ? sql` -> ${text(step)}` : sql` #> ${listed(step)}`,
  )
  return sql`(heddle_json(${column})${join(steps, '')})`
}

/** The same with functions, for reading many values of one large document. */
export function valueLookedUp(document: Sql, path: readonly string[]): Sql {
  return stepsOf(path).reduce(
    (value, step) =>
      typeof step === 'string'
        ? sql`heddle_member(${value}, ${text(step)})`
        : sql`heddle_value(${value}, ${listed(step)})`,
    document,
  )
}

export const postgresDialect: Dialect = {
  engine: 'postgres',
  cancellable: rawSql('TRUE'),
  callsCancellable: rawSql('TRUE'),
  trialsCancellable: rawSql('TRUE'),
  sortsWholeRows: false,
  stored: (column) => column,
  noLimit: rawSql('ALL'),
  json(column, path) {
    const value = valueAt(column, path)
    const asText = sql`heddle_text(${value})`
    return {
      text: ordered(asText),
      number: sql`heddle_number(${asText})`,
      exists: sql`coalesce(json_typeof(${value}) <> 'null', FALSE)`,
      size: sizeOf(value),
    }
  },
  longText: (value) => value,
  condition: (condition) => boundedCondition(postgresDialect, valueLookedUp, condition),
  sorting: (compile) => boundedSorting(postgresDialect, valueLookedUp, compile),
  token: (column, path) => sql`CAST(${valueAt(column, path)} AS TEXT)`,
  members: (
    object,
  ) => sql`(SELECT key, CAST(value AS TEXT) AS value FROM (SELECT heddle_json(${object}) AS object) AS read,
    json_each(CASE WHEN json_typeof(object) = 'object' THEN object END))`,
  text: (value) => ordered(text(value)),
  // A column of whole numbers can use its index when compared with a BIGINT. Other numbers are handled like stored
  // ones.
  number: (value) =>
    Number.isSafeInteger(Number(value))
      ? sql`CAST(${value} AS BIGINT)`
      : sql`heddle_number(${text(String(value))})`,
  textNumber: (value) => sql`heddle_number(${value})`,
  textWhole: (value) => sql`heddle_whole(${value})`,
  columnNumber: (column) => sql`heddle_number(CAST(${column} AS TEXT))`,
  distinctTexts: (column) =>
    sql`CAST(json_agg(DISTINCT ${column}) FILTER (WHERE ${column} IS NOT NULL) AS TEXT)`,
  numberText: (number) => ordered(sql`heddle_decimal(CAST(${number} AS TEXT))`),
  timeText: (time) => ordered(sql`heddle_time(${time})`),
  timeNumber: (time) => sql`heddle_number(CAST(${time} * 0.000001 AS TEXT))`,
  ordered,
  lower: (value) => ordered(sql`heddle_lower(${value})`),
  position: (value, sought) => sql`strpos(${value}, ${sought})`,
  containsString: containsStringIn,
  quoted: (value) => sql`coalesce(CAST(to_json(${value}) AS TEXT), 'null')`,
  bytes: (value) => sql`octet_length(${value})`,
  percentile: (value, fraction) =>
    sql`percentile_cont(${rawSql(String(fraction))}) WITHIN GROUP (ORDER BY ${value})`,
}
