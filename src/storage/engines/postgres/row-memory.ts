import type { Dialect, DocumentCondition, JsonReading } from '../../sql/dialect.ts'
import type { Sorting } from '../../sql/readings.ts'
import { join, rawSql, type Sql, sql } from '../../sql/sql.ts'

type ValueIn = (document: Sql, path: readonly string[]) => Sql

type Step = 'unpacked' | 'value' | 'reading' | 'derived'

/** The number of items of a list. */
export const sizeOf = (value: Sql) =>
  sql`(CASE WHEN json_typeof(${value}) = 'array' THEN json_array_length(${value}) END)`

/** Ordered so that each is made from an earlier one. */
const steps: readonly Step[] = ['unpacked', 'value', 'reading', 'derived']

/**
 * Computes each reading once per row. PostgreSQL keeps a function's result, and what it unpacked for it, until it
 * reaches the next row, so a condition that reads the same large value many times would hold that many copies of it.
 */
function readOnce(dialect: Dialect, valueIn: ValueIn) {
  const named = new Map<Step, Map<string, { name: Sql; value: Sql }>>(steps.map((step) => [step, new Map()]))
  const texts = new Set<string>()
  let uses = 0

  function once(step: Step, value: Sql): Sql {
    const known = named.get(step) as Map<string, { name: Sql; value: Sql }>
    const key = JSON.stringify([value.text, value.values])
    let reading = known.get(key)
    if (reading === undefined) {
      reading = { name: rawSql(`read_${step}_${known.size}`), value }
      known.set(key, reading)
    }
    return reading.name
  }

  function textOnce(step: Step, value: Sql): Sql {
    const name = once(step, value)
    texts.add(name.text)
    return name
  }

  function json(column: Sql, path: readonly string[]): JsonReading {
    uses++
    const value = once('value', valueIn(once('unpacked', sql`heddle_json(${column})`), path))
    const text = () => textOnce('reading', dialect.ordered(sql`heddle_text(${value})`))
    return {
      get text() {
        return text()
      },
      get number() {
        return once('derived', sql`heddle_number(${text()})`)
      },
      get exists() {
        return once('reading', sql`coalesce(json_typeof(${value}) <> 'null', FALSE)`)
      },
      get size() {
        return once('reading', sizeOf(value))
      },
    }
  }

  return {
    /** A dialect whose readings are the names that `source` provides. */
    dialect: {
      ...dialect,
      json,
      longText(text: Sql) {
        uses++
        return textOnce('unpacked', sql`${text} || ''`)
      },
      lower: (text: Sql) =>
        texts.has(text.text) ? textOnce('derived', dialect.lower(text)) : dialect.lower(text),
    },
    /** How many times JSON was read. */
    uses: () => uses,
    /** The query that provides the names; to be placed where the columns of the row are in scope. */
    source(): Sql {
      // OFFSET keeps the planner from inlining a value at every use of its name.
      return steps.reduce<Sql | undefined>((below, step) => {
        const columns = [...(named.get(step)?.values() ?? [])].map(
          ({ name, value }) => sql`${value} AS ${name}`,
        )
        if (below === undefined) return sql`SELECT ${join(columns, ', ')} OFFSET 0`
        if (columns.length === 0) return below
        return sql`SELECT *, ${join(columns, ', ')} FROM (${below}) AS ${rawSql(`below_${step}`)} OFFSET 0`
      }, undefined) as Sql
    },
  }
}

/** With so few readings they are left in place: sharing is not worth a subquery for each row. */
const fewUses = 2

export function boundedCondition(
  dialect: Dialect,
  valueIn: ValueIn,
  { compile }: DocumentCondition,
  few = fewUses,
): Sql {
  const readings = readOnce(dialect, valueIn)
  const condition = compile(readings.dialect)
  if (readings.uses() <= few) return compile(dialect)
  return sql`(SELECT ${condition} FROM (${readings.source()}) AS readings)`
}

export function boundedSorting(
  dialect: Dialect,
  valueIn: ValueIn,
  compile: (dialect: Dialect) => Sql[],
): Sorting {
  const readings = readOnce(dialect, valueIn)
  const order = compile(readings.dialect)
  return { order, source: sql` CROSS JOIN LATERAL (${readings.source()}) AS readings` }
}
