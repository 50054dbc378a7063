import type { Dialect, DocumentCondition, JsonReading } from '../../sql/dialect.ts'
import type { Sorting } from '../../sql/readings.ts'
import { join, type Sql, sql, trusted } from '../../sql/sql.ts'

type ValueIn = (document: Sql, path: readonly string[]) => Sql

type Step = 'unpacked' | 'value' | 'reading' | 'derived'

/** In the order in which one is made of the other. */
const steps: readonly Step[] = ['unpacked', 'value', 'reading', 'derived']

/**
 * Each reading once for a row. PostgreSQL keeps what a function returns, and what it unpacks for one, until it comes to the
 * next row, so that a condition which reads the same large value many times would hold it as many times.
 */
function readOnce(dialect: Dialect, valueIn: ValueIn) {
  const named = new Map<Step, Map<string, { name: Sql; value: Sql }>>(steps.map((step) => [step, new Map()]))
  const texts = new Set<string>()
  let uses = 0

  function once(step: Step, value: Sql): Sql {
    const known = named.get(step) as Map<string, { name: Sql; value: Sql }>
    const key = JSON.stringify([value.text, value.values])
    let one = known.get(key)
    if (one === undefined) {
      one = { name: trusted(`read_${step}_${known.size}`), value }
      known.set(key, one)
    }
    return one.name
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
    }
  }

  return {
    /** Readings by the names that `source` gives them. */
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
    /** How often JSON was read. */
    uses: () => uses,
    /** The query that the names come from; it stands where the columns of the row are known. */
    source(): Sql {
      // OFFSET keeps the planner from putting a value wherever its name stands.
      return steps.reduce<Sql | undefined>((below, step) => {
        const columns = [...(named.get(step)?.values() ?? [])].map(
          ({ name, value }) => sql`${value} AS ${name}`,
        )
        if (below === undefined) return sql`SELECT ${join(columns, ', ')} OFFSET 0`
        if (columns.length === 0) return below
        return sql`SELECT *, ${join(columns, ', ')} FROM (${below}) AS ${trusted(`below_${step}`)} OFFSET 0`
      }, undefined) as Sql
    },
  }
}

/** So few readings are left where they stand: what they would share is not worth a query of its own for each row. */
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
