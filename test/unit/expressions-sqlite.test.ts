import assert from 'node:assert/strict'
import { test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { parseExpressionText } from '../../src/domain/expressions/parse.ts'
import { postgresDialect } from '../../src/storage/engines/postgres/dialect.ts'
import { registerFunctions } from '../../src/storage/engines/sqlite/connection.ts'
import { sqliteDialect } from '../../src/storage/engines/sqlite/dialect.ts'
import { boundedCondition } from '../../src/storage/engines/sqlite/row-memory.ts'
import { compileCondition } from '../../src/storage/sql/conditions.ts'
import type { DocumentCondition } from '../../src/storage/sql/dialect.ts'
import { compileOrder } from '../../src/storage/sql/sorting.ts'
import { rawSql } from '../../src/storage/sql/sql.ts'
import { stringSearch } from '../../src/storage/sql/string-search.ts'
import { fieldAt, fieldOf } from '../support/expression-samples.ts'

const db = new Sqlite(':memory:')
registerFunctions(db, () => undefined)
db.exec(`CREATE TABLE sample (id INTEGER PRIMARY KEY, name TEXT, amount REAL, count INTEGER, at INTEGER, data TEXT);
  CREATE INDEX by_name ON sample (name);
  CREATE INDEX by_count ON sample (count);
  CREATE INDEX by_at ON sample (at)`)

function compile(expression: string, dialect = sqliteDialect) {
  return compileCondition(parseExpressionText(`{"$expr":${expression}}`), fieldOf, dialect)
}

function found(expression: string): unknown[] {
  const { text, values } = compile(expression)
  return db.prepare(`SELECT id FROM sample WHERE ${text} ORDER BY id`).pluck().all(values)
}

function plan(condition: string, values: readonly unknown[]): string {
  const steps = db.prepare(`EXPLAIN QUERY PLAN SELECT * FROM sample WHERE ${condition}`).all(values)
  return (steps as { detail: string }[]).map((step) => step.detail).join('\n')
}

test('columns are compared directly, so that their indexes are used', () => {
  const name = compile('{"$eq":[{"$getField":"name"},{"$literal":"x"}]}')
  assert.equal(name.text, '(name = ?)')
  assert.deepEqual(name.values, ['x'])
  assert.equal(compile('{"$eq":[{"$getField":"name"},{"$literal":"x"}]}', postgresDialect).text, '(name = ?)')
  const cases: [string, string][] = [
    ['{"$eq":[{"$literal":"x"},{"$getField":"name"}]}', 'by_name'],
    ['{"$in":[{"$getField":"name"},[{"$literal":"x"},{"$literal":"y"},{"$literal":"z"}]]}', 'by_name'],
    ['{"$gte":[{"$getField":"count"},{"$literal":1.5}]}', 'by_count'],
    ['{"$lt":[{"$getField":"at"},{"$literal":"2026-01-01"}]}', 'by_at'],
    ['{"$eq":[{"$getField":"at"},{"$literal":null}]}', 'by_at'],
  ]
  for (const [expression, index] of cases) {
    const { text, values } = compile(expression)
    assert.match(plan(text, values), new RegExp(`SEARCH sample USING INDEX ${index} `), expression)
  }
})

test('the text of a statement depends only on the shape of the expression', () => {
  const shape = (path: string, value: string) => {
    const field = `data.${path}`
    const equal = JSON.stringify({ $eq: [{ $getField: field }, { $literal: value }] })
    const order = compileOrder(fieldOf(field), 'desc', sqliteDialect).map((term) => term.text)
    return [compile(equal).text, compile(equal, postgresDialect).text, ...order]
  }
  assert.deepEqual(shape('a.b', 'x'), shape('c."', "'; DROP TABLE sample; --"))
  const list = (length: number) =>
    compile(
      `{"$in":[{"$getField":"name"},[${Array.from({ length }, (_, index) => `{"$literal":"${index}"}`).join(',')}]]}`,
    )
  assert.equal(list(5).text, list(8).text)
  assert.equal(list(5).values.length, 8)
})

test('missing values are sorted last in both directions', () => {
  const ids = (field: string, direction: 'asc' | 'desc') =>
    db
      .prepare(
        `SELECT id FROM sample ORDER BY ${compileOrder(fieldOf(field), direction, sqliteDialect)[0]?.text}`,
      )
      .pluck()
      .all()
  db.exec(`INSERT INTO sample (id, name, count) VALUES (1, NULL, 3), (2, 'b', NULL), (3, 'a', 10)`)
  assert.deepEqual(ids('name', 'asc'), [3, 2, 1])
  assert.deepEqual(ids('name', 'desc'), [2, 3, 1])
  assert.deepEqual(ids('count', 'asc'), [1, 3, 2])
  assert.deepEqual(ids('count', 'desc'), [3, 1, 2])
})

test('keys and values are never part of the statement', () => {
  const hostile = [
    `'; DROP TABLE sample; --`,
    `"`,
    `\\"`,
    '\\',
    '$',
    '$.a',
    '[0]',
    '?',
    '$1',
    '%',
    '_',
    "''",
    '',
    '\n',
    '*/',
    '😀',
  ]
  const insert = db.prepare('INSERT INTO sample (data) VALUES (?)')
  for (const key of hostile) {
    db.exec('DELETE FROM sample')
    const { lastInsertRowid: id } = insert.run(JSON.stringify({ [key]: { [key]: key } }))
    insert.run('{"other":1}')
    const field = JSON.stringify(fieldAt([key, key]))
    // A backslash before a dot makes the dot part of the key, so such a key is reached only at the end of a path.
    const reached = key.endsWith('\\') ? [] : [Number(id)]
    assert.deepEqual(found(`{"$convert":{"input":{"$getField":${field}},"to":"exists"}}`), reached, key)
    assert.deepEqual(
      found(
        `{"$eq":[{"$getField":${JSON.stringify(fieldAt([key]))}},{"$literal":${JSON.stringify(JSON.stringify({ [key]: key }))}}]}`,
      ),
      [Number(id)],
      key,
    )
  }
  db.exec('DELETE FROM sample')
})

test('SQLite runs every expression that the parser accepts', () => {
  db.exec(`DELETE FROM sample; INSERT INTO sample (data) VALUES ('{"a":{"0":{"1":{"2":"x"}}}}')`)
  const nest = (levels: number, wrap: (inner: string) => string) => {
    let expression = '{"$eq":[{"$getField":"data.a"},{"$literal":"x"}]}'
    for (let level = 0; level < levels; level++) expression = wrap(expression)
    return expression
  }
  found(nest(98, (inner) => `{"$not":[${inner}]}`))
  found(nest(98, (inner) => `{"$eq":[${inner},{"$literal":false}]}`))
  found(nest(98, (inner) => `{"$eq":[{"$getField":"data"},${inner}]}`))
  found(nest(49, (inner) => `{"$eq":[{"$convert":{"input":${inner},"to":"string"}},{"$literal":"x"}]}`))
  found(
    nest(
      49,
      (inner) =>
        `{"$contains":{"input":{"$convert":{"input":${inner},"to":"double"}},"substr":{"$literal":"x"}}}`,
    ),
  )
  const long = { $eq: [{ $getField: 'data.a.0.1.2' }, { $getField: 'data.0.1.2' }] }
  assert.deepEqual(found(JSON.stringify({ $or: Array.from({ length: 333 }, () => long) })), [])
  const values = Array.from({ length: 1000 }, (_, index) => ({ $literal: index % 2 ? index : String(index) }))
  const lists = Array.from({ length: 20 }, () => ({ $in: [{ $getField: 'data.a.0.1.2' }, values] }))
  assert.deepEqual(found(JSON.stringify({ $or: lists })), [])
})

test('a query that would grow too large is refused', () => {
  const lists = Array.from({ length: 40 }, () => ({
    $in: [{ $getField: 'name' }, Array.from({ length: 1000 }, () => ({ $literal: 'x' }))],
  }))
  assert.throws(() => found(JSON.stringify({ $or: lists })), {
    code: 'invalid_expression',
    message: /parameters/,
  })
  let nested = '{"$literal":true}'
  for (let level = 0; level < 60; level++)
    nested = `{"$in":[${nested},[{"$literal":true},{"$literal":null}]]}`
  assert.throws(() => found(nested), { code: 'invalid_expression', message: /too many comparisons/ })
})

test('unknown fields and invalid times are refused anywhere in an expression', () => {
  const bogus = '{"$getField":"bogus"}'
  const cases = [
    `{"$gt":[${bogus},{"$literal":null}]}`,
    `{"$in":[${bogus},[]]}`,
    `{"$eq":[{"$convert":{"input":{"$eq":[${bogus},{"$literal":1}]},"to":"double"}},{"$literal":1}]}`,
  ]
  for (const expression of cases)
    assert.throws(() => found(expression), { code: 'unknown_field' }, expression)
  const never = '{"$in":[{"$eq":[{"$getField":"at"},{"$literal":"never"}]},[]]}'
  assert.throws(() => found(never), { code: 'invalid_expression', message: /compares a time with "never"/ })
})

test('a query can be stopped while it evaluates one row', () => {
  let questions = 0
  const stoppable = new Sqlite(':memory:')
  registerFunctions(stoppable, () => {
    if (++questions > 3) throw new Error('enough')
  })
  const always: typeof sqliteDialect = {
    ...sqliteDialect,
    condition: (condition) => boundedCondition(sqliteDialect, condition, 0),
  }
  const compared = Array.from({ length: 100 }, (_, i) => ({
    $eq: [{ $getField: 'data.a' }, { $literal: i }],
  }))
  const { text, values } = compile(JSON.stringify({ $or: compared }), always)
  const judge = stoppable.prepare(`SELECT ${text} FROM (SELECT '{"a":1}' AS data)`)
  assert.throws(() => judge.get(values), /enough/)
  assert.equal(questions, 4)
  const sought = sqliteDialect.containsString(rawSql('data'), stringSearch(['a'], []))
  const strings = JSON.stringify(Array.from({ length: 20_000 }, () => ''))
  const mentions = stoppable.prepare(`SELECT ${sought.text} FROM (SELECT ? || '"a' AS data)`)
  assert.throws(() => mentions.get([...sought.values, `${strings.slice(0, -1)},"b a"]`]), /enough/)
})

test('a row too large to evaluate in memory is refused with its size', () => {
  const huge = {
    ...sqliteDialect,
    condition: (condition: DocumentCondition) => boundedCondition(sqliteDialect, condition, 0),
  }
  const { text, values } = compile('{"$eq":[{"$getField":"data.a"},{"$literal":1}]}', huge)
  const judge = db.prepare(`SELECT ${text} FROM (SELECT printf('%.*c', ${(128 << 20) + 1}, 'x') AS data)`)
  assert.throws(() => judge.get(values), { code: 'row_too_large', message: /134217729/ })
})
