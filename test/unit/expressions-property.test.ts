import assert from 'node:assert/strict'
import { test } from 'node:test'
import Sqlite from 'better-sqlite3'
import fc from 'fast-check'
import { evaluate } from '../../src/domain/expressions/evaluate.ts'
import { parseExpressionText } from '../../src/domain/expressions/parse.ts'
import { registerFunctions } from '../../src/storage/engines/sqlite/connection.ts'
import { sqliteDialect } from '../../src/storage/engines/sqlite/dialect.ts'
import { boundedCondition, boundedSorting as sortedIn } from '../../src/storage/engines/sqlite/row-memory.ts'
import { compileCondition } from '../../src/storage/sql/conditions.ts'
import type { Dialect } from '../../src/storage/sql/dialect.ts'
import { compileOrder, compileSorting } from '../../src/storage/sql/sorting.ts'
import { join } from '../../src/storage/sql/sql.ts'
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

const db = new Sqlite(':memory:')
registerFunctions(db, () => undefined)
db.exec(
  'CREATE TABLE sample (id INTEGER PRIMARY KEY, name TEXT, amount REAL, count INTEGER, at INTEGER, data TEXT)',
)
const insert = db.prepare('INSERT INTO sample VALUES (?, ?, ?, ?, ?, ?)')

const fill = db.transaction((table: readonly Row[]) => {
  db.exec('DELETE FROM sample')
  for (const [id, { name, amount, count, at, data }] of table.entries()) {
    insert.run(id, name, amount, count, at, data)
  }
})

/** Treats every row as too large for SQLite itself, so that it is evaluated in memory. */
const inMemory: Dialect = {
  ...sqliteDialect,
  condition: (condition) => boundedCondition(sqliteDialect, condition, 0),
  sorting: (compile) => sortedIn(sqliteDialect, compile, 0),
}

/** Compares the truth values, not only the rows that are found: false and unknown differ. */
function judge(table: readonly Row[], text: string): void {
  const expression = parseExpressionText(text)
  const expected = outcome(() => table.map((row) => evaluate(expression, readerOf(row))))
  for (const dialect of [sqliteDialect, inMemory]) {
    const actual = outcome(() => {
      const condition = compileCondition(expression, fieldOf, dialect)
      const statement = db.prepare(`SELECT ${condition.text} FROM sample ORDER BY id`)
      return statement
        .pluck()
        .all(condition.values)
        .map((value) => (value === null ? null : value !== 0))
    })
    assert.deepEqual(actual, expected, text)
  }
}

test('every comparison of every value has the same result in SQLite as in memory', () => {
  fill(everyValue)
  for (const text of constantQueries('data').flat()) judge(everyValue, text)
  fill(everyContainer)
  for (const text of pathQueries()) judge(everyContainer, text)
  fill(everyPair)
  for (const text of fieldQueries('data.a', 'data.b')) judge(everyPair, text)
  fill(everyColumn)
  for (const left of ['name', 'amount', 'count', 'at']) {
    for (const text of constantQueries(left).flat()) judge(everyColumn, text)
    for (const right of ['name', 'amount', 'count', 'at', 'data.a']) {
      for (const text of fieldQueries(left, right)) judge(everyColumn, text)
    }
  }
})

test('random expressions have the same results on random rows in SQLite as in memory', () => {
  fc.assert(
    fc.property(rows, fc.array(query, { minLength: 8, maxLength: 8 }), (table, queries) => {
      fill(table)
      for (const text of queries) judge(table, text)
    }),
    { seed: 20260131, numRuns: 500 },
  )
})

test('rows have the same order in SQLite as in memory', () => {
  const sorted = (table: readonly Row[], field: string, direction: 'asc' | 'desc') => {
    const reading = fieldOf(field)
    const orders = [
      compileOrder(reading, direction, sqliteDialect),
      compileSorting([{ reading, direction }], sqliteDialect).order,
      compileSorting([{ reading, direction }], inMemory).order,
    ]
    for (const terms of orders) {
      const order = join(terms, ', ')
      const found = db.prepare(`SELECT id FROM sample ORDER BY ${order.text}, id`).pluck().all(order.values)
      assert.deepEqual(found, sortedBy(table, field, direction))
    }
  }
  fill(everyValue)
  for (const direction of ['asc', 'desc'] as const) sorted(everyValue, 'data', direction)
  fc.assert(
    fc.property(rows, path, fc.constantFrom('asc', 'desc'), (table, segments, direction) => {
      fill(table)
      sorted(table, fieldAt(segments), direction)
    }),
    { seed: 20260131, numRuns: 300 },
  )
})
