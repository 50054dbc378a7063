import type { Dialect, DocumentCondition, JsonReading } from '../../sql/dialect.ts'
import type { FieldReading, Sorting } from '../../sql/readings.ts'
import { emptySql, join, rawSql, type Sql, sql } from '../../sql/sql.ts'
import { type ConditionField, writeCondition } from './row-condition.ts'

/**
 * The most document bytes that the readings of one condition may process in SQLite itself, which keeps some six copies
 * for each reading until it reaches the next row. For larger rows the condition is evaluated in memory.
 */
const readAtOnce = 16 << 20

/** For each value that rows are sorted by; there are few of these. */
const sortedAtOnce = 256 << 10

export function boundedCondition(dialect: Dialect, condition: DocumentCondition, atOnce = readAtOnce): Sql {
  const { expression, readings, compile } = condition
  let uses = 0
  let lookedUp = 0
  const counting: Dialect = {
    ...dialect,
    json(column, path, most) {
      if (most === undefined) uses++
      else lookedUp += most
      return dialect.json(column, path, most)
    },
    longText(text) {
      uses++
      return text
    },
  }
  const inSqlite = compile(counting)
  if (uses === 0 && lookedUp === 0) return inSqlite
  const most = Math.floor((atOnce - lookedUp) / Math.max(1, uses))
  const inMemory = conditionInMemory(expression, readings)
  if (most <= 0) return inMemory
  const columns = distinct([...readings.values()].flatMap(documentOf))
  if (columns.length === 0) return inSqlite
  const size = columns.map((column) => sql`coalesce(octet_length(${column}), 0)`)
  return sql`(CASE WHEN ${join(size, ' + ')} <= ${most} THEN ${inSqlite} ELSE ${inMemory} END)`
}

/** Columns whose length is cheap to read. */
function documentOf(reading: FieldReading): Sql[] {
  if (reading.kind !== 'json') return reading.document === undefined ? [] : [reading.document]
  return reading.most === undefined ? [reading.within ?? reading.column] : []
}

function distinct(columns: readonly Sql[]): Sql[] {
  return [...new Map(columns.map((column) => [keyOf(column), column])).values()]
}

const keyOf = ({ text, values }: Sql) => JSON.stringify([text, values])

function conditionInMemory(
  expression: DocumentCondition['expression'],
  readings: DocumentCondition['readings'],
): Sql {
  const positions = new Map<string, number>()
  const row: Sql[] = []
  const fields = [...readings].map(([name, reading]): [string, ConditionField] => {
    const column = reading.kind === 'json' ? reading.column : reading.sql
    const argument = positions.get(keyOf(column)) ?? row.push(column) - 1
    positions.set(keyOf(column), argument)
    const { kind } = reading
    if (kind !== 'json') return [name, { kind, path: [], argument, countsTruth: false }]
    return [name, { kind, path: reading.path, argument, countsTruth: reading.countsTruth ?? false }]
  })
  const written = writeCondition(expression, fields)
  return sql`heddle_condition(${join([written, ...row], ', ')})`
}

export function boundedSorting(
  dialect: Dialect,
  compile: (own: Dialect) => Sql[],
  atOnce = sortedAtOnce,
): Sorting {
  const bounded = (column: Sql, path: readonly string[], most?: number): JsonReading => {
    const reading = dialect.json(column, path, most)
    if (most !== undefined) return reading
    const way = JSON.stringify(path)
    const either = (here: Sql, inMemory: string) =>
      sql`(CASE WHEN octet_length(${column}) > ${rawSql(String(atOnce))}
        THEN ${rawSql(inMemory)}(${column}, ${way}) ELSE ${here} END)`
    return {
      ...reading,
      text: either(reading.text, 'heddle_text_at'),
      number: either(reading.number, 'heddle_number_at'),
      exists: either(reading.exists, 'heddle_exists_at'),
    }
  }
  return { order: compile({ ...dialect, json: bounded }), source: emptySql }
}
