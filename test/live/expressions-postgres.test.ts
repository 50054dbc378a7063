import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { evaluate } from '../../src/domain/expressions/evaluate.ts'
import { parseExpressionText } from '../../src/domain/expressions/parse.ts'
import { compileCondition, compileOrder } from '../../src/storage/expressions.ts'
import { postgresDialect } from '../../src/storage/postgres/dialect.ts'
import { createStatements } from '../../src/storage/postgres/statements.ts'
import { join, type Sql, sql, trusted } from '../../src/storage/sql.ts'
import {
  fieldAt,
  fieldOf,
  outcome,
  path,
  query,
  type Row,
  readerOf,
  rows,
  sortedBy,
} from '../support/expression-samples.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'

const migration = new URL('../../migrations/postgres/0001_json_functions.sql', import.meta.url)
const statementOf = createStatements()

let server: TestPostgres
let client: pg.Client

before(async () => {
  server = await startPostgres()
  client = new pg.Client({ connectionString: await server.createDatabase() })
  await client.connect()
  await client.query(readFileSync(migration, 'utf8'))
  await client.query(
    `CREATE TABLE sample (id INTEGER PRIMARY KEY, name TEXT COLLATE "C", amount DOUBLE PRECISION, count BIGINT, at BIGINT,
      data TEXT COLLATE "C")`,
  )
})

after(async () => {
  await client?.end()
  await server?.stop()
})

async function column(statement: Sql): Promise<unknown[]> {
  const { rows: found } = await client.query({ ...statementOf(statement), rowMode: 'array' })
  return found.map(([value]: unknown[]) => value)
}

async function fill(table: readonly Row[]): Promise<void> {
  await client.query('TRUNCATE sample')
  const rowsOf = table.map(
    ({ name, amount, count, at, data }, id) => sql`(${id}, ${name}, ${amount}, ${count}, ${at}, ${data})`,
  )
  const { text, values } = statementOf(sql`INSERT INTO sample VALUES ${join(rowsOf, ', ')}`)
  await client.query(text, values)
}

test('every row is judged in PostgreSQL as in memory', async () => {
  await fc.assert(
    fc.asyncProperty(rows, fc.array(query, { minLength: 10, maxLength: 10 }), async (table, queries) => {
      await fill(table)
      for (const text of queries) {
        const expression = parseExpressionText(text)
        const expected = outcome(() => table.map((row) => evaluate(expression, readerOf(row))))
        const condition = outcome(() => compileCondition(expression, fieldOf, postgresDialect))
        const actual =
          typeof condition === 'string' ? condition : await column(sql`SELECT ${condition} FROM sample ORDER BY id`)
        assert.deepEqual(actual, expected, text)
      }
    }),
    { seed: 20260131, numRuns: 100 },
  )
})

test('rows are sorted in PostgreSQL as in memory', async () => {
  await fc.assert(
    fc.asyncProperty(rows, path, fc.constantFrom('asc', 'desc'), async (table, segments, direction) => {
      await fill(table)
      const field = fieldAt(segments)
      const order = join([...compileOrder(fieldOf(field), direction, postgresDialect), trusted('id')], ', ')
      assert.deepEqual(await column(sql`SELECT id FROM sample ORDER BY ${order}`), sortedBy(table, field, direction))
    }),
    { seed: 20260131, numRuns: 100 },
  )
})
