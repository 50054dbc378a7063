import { isListIndex } from '../../../domain/expressions/path.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { join, rawSql, type Sql, sql } from '../../sql/sql.ts'
import { boundedCondition, boundedSorting } from './row-memory.ts'
import { containsStringIn } from './string-search.ts'

/**
 * Names a value that is used several times, so that it is computed once and appears in the statement once. SQLite runs
 * such a subquery as a coroutine, which costs next to nothing.
 */
function once(value: Sql, name: string, result: string | Sql): Sql {
  return sql`(SELECT ${typeof result === 'string' ? rawSql(result) : result} FROM (SELECT ${value} AS ${rawSql(name)}))`
}

/** Text with \u escapes may contain what an SQL text cannot; trailing zeros are cut off only after a whole number. */
const textOfToken = `CASE
  WHEN j IS NULL OR j = 'null' THEN ''
  WHEN instr(j, '\\u') > 0 THEN heddle_json_text(j)
  WHEN j GLOB '"*' THEN j ->> '$'
  WHEN j GLOB '[-0-9]*.*0' AND rtrim(j, '0') GLOB '*.' THEN rtrim(rtrim(j, '0'), '.')
  ELSE j END`

/**
 * SQLite rounds as JavaScript does, so the function is needed only for values that may be out of range and for strings
 * that look like numbers.
 */
const numberOfToken = `CASE
  WHEN j GLOB '"*' THEN CASE
    WHEN instr(j, '\\u') > 0 OR j GLOB '*[0-9]*' AND j NOT GLOB '"*[^0-9eE+.-]*"' THEN heddle_json_number(j) END
  WHEN j GLOB '[tfn{[]*' THEN NULL
  WHEN length(j) > 17 OR j GLOB '*[eE]*' THEN heddle_json_number(j)
  ELSE CAST(j AS NUMERIC) END`

/**
 * Both readings (index or key) of every whole-number segment; at most one of them exists. `invalidPathReason` bounds how many
 * there are.
 */
function pathsOf(path: readonly string[]): string[] {
  let paths = ['$']
  for (const segment of path) {
    const steps = [`.${JSON.stringify(segment)}`]
    if (isListIndex(segment)) steps.push(`[${segment}]`)
    paths = steps.flatMap((step) => paths.map((start) => start + step))
  }
  return paths
}

/** The JSON token at the path as it is stored. `->>` would lose digits of numbers. */
function tokenAt(column: Sql, path: readonly string[]): Sql {
  const [first = '$', ...others] = pathsOf(path)
  if (others.length === 0) return sql`(${column} -> ${first})`
  // A column expression that is itself a lookup would be evaluated for each of them.
  const tokens = [first, ...others].map((token) => sql`d -> ${token}`)
  return once(column, 'd', sql`coalesce(${join(tokens, ', ')})`)
}

/**
 * The most bytes of a text that is validated before it is shown: 1 MiB takes 2 ms, during which the read of one row
 * blocks all others.
 */
const maxCheckedBytes = rawSql(String(4 * 1024 * 1024))

export const sqliteDialect: Dialect = {
  engine: 'sqlite',
  cancellable: rawSql('heddle_going() = 1'),
  // Every index contains the rowid, so fifteen of sixteen rows skip the call.
  callsCancellable: rawSql('((calls.rowid & 15) <> 0 OR heddle_going() = 1)'),
  trialsCancellable: rawSql('((trial.rowid & 15) <> 0 OR heddle_going() = 1)'),
  sortsWholeRows: true,
  noLimit: rawSql('-1'),
  json(column, path) {
    const token = tokenAt(column, path)
    return {
      text: once(token, 'j', textOfToken),
      number: once(token, 'j', numberOfToken),
      exists: sql`coalesce(${token} <> 'null', FALSE)`,
      size: once(token, 'j', "CASE WHEN j GLOB '[[]*' THEN json_array_length(j) END"),
    }
  },
  stored: (column, presence) => {
    const isText = sql`typeof(${column}) = 'text' AND (octet_length(${column}) > ${maxCheckedBytes} OR json_valid(${column}))`
    const isSound = presence === 'always' ? isText : sql`${column} IS NULL OR ${isText}`
    return sql`CASE WHEN ${isSound} THEN ${column} ELSE heddle_damaged() END`
  },
  longText: (text) => text,
  condition: (condition) => boundedCondition(sqliteDialect, condition),
  sorting: (compile) => boundedSorting(sqliteDialect, compile),
  token: tokenAt,
  members: (object) => sql`(SELECT key, CASE type WHEN 'object' THEN value END AS value
    FROM json_each(CASE WHEN json_valid(${object}) THEN ${object} ELSE '{}' END))`,
  text: (value) => sql`${value}`,
  // A bigint would only be slower than a plain number here.
  number: (value) => sql`${Number.isSafeInteger(Number(value)) ? Number(value) : value}`,
  textNumber: (text) =>
    once(text, 't', "CASE WHEN t GLOB '*[0-9]*' AND t NOT GLOB '*[^0-9eE+.-]*' THEN heddle_number(t) END"),
  textWhole: (text) =>
    once(text, 't', "CASE WHEN t GLOB '*[0-9]*' AND t NOT GLOB '*[^0-9+-]*' THEN heddle_number(t) END"),
  columnNumber: (column) => column,
  distinctTexts: (column) => sql`json_group_array(DISTINCT ${column}) FILTER (WHERE ${column} IS NOT NULL)`,
  numberText: (number) =>
    once(
      number,
      'n',
      "CASE typeof(n) WHEN 'integer' THEN CAST(n AS TEXT) WHEN 'real' THEN heddle_decimal(n) END",
    ),
  timeText: (time) => sql`heddle_time(${time})`,
  timeNumber: (time) => sql`(${time} / 1000000.0)`,
  ordered: (text) => text,
  lower: (text) =>
    once(text, 't', 'CASE WHEN length(t) = octet_length(t) THEN lower(t) ELSE heddle_lower(t) END'),
  position: (text, sought) => sql`instr(${text}, ${sought})`,
  containsString: containsStringIn,
  quoted: (text) => sql`json_quote(${text})`,
  bytes: (text) => sql`octet_length(${text})`,
  percentile: (value, fraction) => sql`percentile_cont(${value}, ${rawSql(String(fraction))})`,
}
