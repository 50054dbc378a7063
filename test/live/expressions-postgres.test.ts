import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { evaluate } from '../../src/domain/expressions/evaluate.ts'
import { parseExpressionText } from '../../src/domain/expressions/parse.ts'
import { postgresDialect, valueLookedUp } from '../../src/storage/engines/postgres/dialect.ts'
import { boundedCondition } from '../../src/storage/engines/postgres/row-memory.ts'
import { createStatements } from '../../src/storage/engines/postgres/statements.ts'
import { compileCondition } from '../../src/storage/sql/conditions.ts'
import type { Dialect } from '../../src/storage/sql/dialect.ts'
import { compileOrder, compileSorting } from '../../src/storage/sql/sorting.ts'
import { emptySql, join, rawSql, type Sql, sql } from '../../src/storage/sql/sql.ts'
import {
  constantQueries,
  everyColumn,
  everyContainer,
  everyPair,
  everyValue,
  fieldAt,
  fieldOf,
  fieldQueries,
  outcome,
  path,
  pathQueries,
  query,
  type Row,
  readerOf,
  rows,
  sortedBy,
} from '../support/expression-samples.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'

const migrations = ['0001_json_functions', '0008_json_values'].map(
  (name) => new URL(`../../migrations/postgres/${name}.sql`, import.meta.url),
)
const statementOf = createStatements()

let server: TestPostgres
let client: pg.Client

before(async () => {
  server = await startPostgres()
  client = new pg.Client({ connectionString: await server.createDatabase() })
  await client.connect()
  for (const migration of migrations) await client.query(readFileSync(migration, 'utf8'))
  await client.query(
    `CREATE TABLE sample (id INTEGER PRIMARY KEY, name TEXT COLLATE "C", amount DOUBLE PRECISION, count BIGINT, at BIGINT,
      data TEXT COLLATE "C")`,
  )
})

after(async () => {
  await client?.end()
  await server?.stop()
})

async function read(statement: Sql): Promise<unknown[][]> {
  const { rows: found } = await client.query<unknown[]>({ ...statementOf(statement), rowMode: 'array' })
  return found
}

async function fill(table: readonly Row[]): Promise<void> {
  await client.query('TRUNCATE sample')
  const columns = (['name', 'amount', 'count', 'at', 'data'] as const).map((name) =>
    table.map((row) => row[name]),
  )
  await client.query(
    `INSERT INTO sample SELECT row_number() OVER () - 1, given.* FROM unnest(
      CAST($1 AS TEXT[]), CAST($2 AS DOUBLE PRECISION[]), CAST($3 AS BIGINT[]), CAST($4 AS BIGINT[]), CAST($5 AS TEXT[])
    ) AS given`,
    columns,
  )
}

/** The most columns of one query. */
const mostColumns = 1_000

/** Looks up every value once per row, however few there are. */
const gathered: Dialect = {
  ...postgresDialect,
  condition: (condition) => boundedCondition(postgresDialect, valueLookedUp, condition, 0),
}

/** Compares all three truth values, not only which rows match. */
async function judge(table: readonly Row[], texts: readonly string[]): Promise<void> {
  const conditions: Sql[] = []
  const judged: { text: string; expected: (boolean | null)[] }[] = []
  for (const text of texts) {
    const expression = parseExpressionText(text)
    const expected = outcome(() => table.map((row) => evaluate(expression, readerOf(row))))
    for (const dialect of [postgresDialect, gathered]) {
      const condition = outcome(() => compileCondition(expression, fieldOf, dialect))
      if (typeof expected === 'string' || typeof condition === 'string')
        assert.equal(condition, expected, text)
      else {
        conditions.push(condition)
        judged.push({ text, expected })
      }
    }
  }
  for (let from = 0; from < conditions.length; from += mostColumns) {
    const some = conditions.slice(from, from + mostColumns)
    const found = await read(sql`SELECT ${join(some, ', ')} FROM sample ORDER BY id`)
    for (const [index, { text, expected }] of judged.slice(from, from + mostColumns).entries()) {
      assert.deepEqual(
        found.map((row) => row[index]),
        expected,
        text,
      )
    }
  }
}

test('every comparison of every value gives the same result in PostgreSQL as in memory', async () => {
  await fill(everyValue)
  for (const texts of constantQueries('data')) await judge(everyValue, texts)
  await fill(everyContainer)
  await judge(everyContainer, pathQueries())
  await fill(everyPair)
  await judge(everyPair, fieldQueries('data.a', 'data.b'))
  await fill(everyColumn)
  for (const left of ['name', 'amount', 'count', 'at']) {
    for (const texts of constantQueries(left)) await judge(everyColumn, texts)
    for (const right of ['name', 'amount', 'count', 'at', 'data.a']) {
      await judge(everyColumn, fieldQueries(left, right))
    }
  }
})

test('random expressions on random rows give the same results in PostgreSQL as in memory', async () => {
  await fc.assert(
    fc.asyncProperty(rows, fc.array(query, { minLength: 8, maxLength: 8 }), async (table, queries) => {
      await fill(table)
      await judge(table, queries)
    }),
    { seed: 20260131, numRuns: 150 },
  )
})

test('rows are sorted in PostgreSQL as in memory', async () => {
  const sorted = async (table: readonly Row[], field: string, direction: 'asc' | 'desc') => {
    const reading = fieldOf(field)
    const sortings = [
      { order: compileOrder(reading, direction, postgresDialect) },
      compileSorting([{ reading, direction }], postgresDialect),
    ]
    for (const { order, source = emptySql } of sortings) {
      const found = await read(
        sql`SELECT id FROM sample${source} ORDER BY ${join([...order, rawSql('id')], ', ')}`,
      )
      assert.deepEqual(
        found.map(([id]) => id),
        sortedBy(table, field, direction),
      )
    }
  }
  await fill(everyValue)
  for (const direction of ['asc', 'desc'] as const) await sorted(everyValue, 'data', direction)
  await fc.assert(
    fc.asyncProperty(rows, path, fc.constantFrom('asc', 'desc'), async (table, segments, direction) => {
      await fill(table)
      await sorted(table, fieldAt(segments), direction)
    }),
    { seed: 20260131, numRuns: 100 },
  )
})
