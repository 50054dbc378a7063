import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { JsonNumber } from '../../packages/json/index.ts'
import { digestOf } from '../../src/domain/digests.ts'
import { evaluate } from '../../src/domain/expressions/evaluate.ts'
import { jsonField } from '../../src/domain/expressions/json-field.ts'
import { parseExpression } from '../../src/domain/expressions/parse.ts'
import { readSearch } from '../../src/domain/search/search-text.ts'
import { partialKey, valueKey, valueKeysIn } from '../../src/domain/search/values.ts'
import { upsertCalls } from '../../src/storage/calls/writes.ts'
import { callPages } from '../../src/storage/exporting/pages.ts'
import { valueCandidates } from '../../src/storage/search/candidates.ts'
import { findCalls } from '../../src/storage/search/found-calls.ts'
import { firstKeyless, indexCalls, renewSearch } from '../../src/storage/search/indexing.ts'
import { type Sql, sql } from '../../src/storage/sql/sql.ts'
import { boundTo, type LongReader } from '../../src/storage/transaction.ts'
import { readBuckets, topGroups } from '../../src/storage/views/groups.ts'
import { streamThreads } from '../../src/storage/views/threads.ts'
import { startedAt, wholePart } from '../support/call-parts.ts'
import { endless, tokens, words, written } from '../support/expression-samples.ts'
import { openWithPlans } from './query-plans.ts'

const project = 'acme/qa'

test('whatever compares as equal has the same key', () => {
  const stored = [
    ...words.flatMap((word) => [written(word, false), written(word, true)]),
    ...tokens,
    ...endless,
    'true',
    'false',
  ]
  const sought = [...words, ...endless, ...tokens.map((token) => new JsonNumber(token))]
  let equal = 0
  for (const value of stored) {
    const keys = valueKeysIn(project, 'inputs', `{"x":[1],"a":{"b":${value}}}`)
    const field = jsonField(value, [])
    for (const literal of sought) {
      let condition: ReturnType<typeof parseExpression>
      try {
        condition = parseExpression({ $expr: { $eq: [{ $getField: 'a' }, { $literal: literal }] } })
      } catch {
        continue
      }
      if (condition.op !== 'compare' || condition.right.op !== 'literal') assert.fail()
      if (evaluate(condition, () => field) !== true) continue
      const key = valueKey(project, 'inputs', ['a', 'b'], condition.right.literal.text)
      if (key === undefined) continue
      equal++
      assert.ok(keys.includes(key), `${value} is ${String(literal)}`)
    }
  }
  assert.ok(equal > stored.length, `${equal}`)
})

test('a key belongs to a project, a document, a path and a value', () => {
  const key = valueKey(project, 'inputs', ['a'], '5')
  assert.equal(valueKey(project, 'inputs', ['a'], '5.0'), key)
  const others = [
    valueKey('acme/prod', 'inputs', ['a'], '5'),
    valueKey(project, 'output', ['a'], '5'),
    valueKey(project, 'inputs', ['b'], '5'),
    valueKey(project, 'inputs', ['a', '5'], '5'),
    valueKey(project, 'inputs', ['a'], '6'),
    partialKey(project, 'inputs'),
  ]
  assert.equal(new Set([key, ...others]).size, 7)
})

test('a document that is too long, has too many values or is damaged has one key, which says so', () => {
  const partial = [partialKey(project, 'output')]
  const object = (count: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n])))
  assert.equal(valueKeysIn(project, 'output', object(64)).length, 64)
  for (const json of [object(65), `{"a":"${'x'.repeat(1 << 17)}"}`, '{"a":1', '{"a":"x']) {
    assert.deepEqual(valueKeysIn(project, 'output', json), partial)
  }
  const without = `{"a":null,"b":"","c":[1,{"d":2}],"e":"${'x'.repeat(129)}","f":{}}`
  assert.deepEqual(valueKeysIn(project, 'output', without), [])
  assert.deepEqual(valueKeysIn(project, 'output', ''), [])
  assert.equal(valueKey(project, 'output', ['e'], 'x'.repeat(129)), undefined)
})

test('any document has at most so many keys, however deep it is', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), (json) => {
      assert.ok(valueKeysIn(project, 'attributes', json).length <= 64)
    }),
  )
  const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`
  assert.deepEqual(valueKeysIn(project, 'attributes', deep), [])
})

test('entries from before values had keys are found, always looked at, and written once more', async (t) => {
  const { tx } = openWithPlans(t)
  const db: LongReader = {
    ...tx,
    async *stream<T>(query: Sql) {
      yield await tx.all<T>(query)
    },
  }
  const { signal } = new AbortController()
  const steps = async () => {
    while (await indexCalls(tx, { limit: 10, characters: 1 << 20 }));
  }
  const call = (id: string, customer: number) =>
    wholePart(project, id, { inputs: `{"customer":${customer},"text":"word"}` })
  await upsertCalls(tx, [call('a', 1), call('b', 2), call('c', 3)])
  await steps()
  const query = parseExpression({ $expr: { $eq: [{ $getField: 'inputs.customer' }, { $literal: 1 }] } })
  const candidates = async () => {
    const condition = await valueCandidates(boundTo(db, signal), { project, query })
    return JSON.parse(condition?.values[0] as string) as string[]
  }
  const view = { project, filters: [], query: undefined, sort: [], limit: 10, offset: 0 }
  const found = async () => {
    const calls = await findCalls(boundTo(db, signal), view, readSearch('word'), undefined, startedAt)
    return calls.map(({ id }) => id)
  }
  assert.deepEqual(await candidates(), ['a'])
  assert.equal(await firstKeyless(boundTo(db, signal)), undefined)
  const old = `${digestOf(project).slice(0, 16).toLowerCase()}p`
  const which = sql`(SELECT doc FROM search_entries WHERE call_id = ${'b'})`
  await tx.run(sql`DELETE FROM search_words WHERE rowid = ${which}`)
  await tx.run(sql`INSERT INTO search_words (rowid, project, words) SELECT ${which}, ${old}, ${'word'}`)
  assert.deepEqual((await candidates()).sort(), ['a', 'b'])
  assert.deepEqual(await found(), ['c', 'b', 'a'])
  assert.equal(await firstKeyless(boundTo(db, signal)), project)
  await renewSearch(tx, { project_id: project })
  await steps()
  assert.equal(await firstKeyless(boundTo(db, signal)), undefined)
  assert.deepEqual(await candidates(), ['a'])
  assert.deepEqual(await found(), ['c', 'b', 'a'])
})

test('groups, charts, exports and conversations look up the calls that have a value, and read no others', async (t) => {
  const { tx, planOf } = openWithPlans(t)
  let steps: string[] = []
  const db: LongReader = {
    ...tx,
    async *stream<T>(query: Sql) {
      steps.push(...planOf(query))
      yield await tx.all<T>(query)
    },
  }
  const call = (id: string, customer: number) =>
    wholePart(project, id, { inputs: `{"customer":${customer}}`, thread_id: `thread-${customer}` })
  await upsertCalls(tx, [call('a', 1), call('b', 2), call('c', 3)])
  while (await indexCalls(tx, { limit: 10, characters: 1 << 20 }));
  const query = parseExpression({ $expr: { $eq: [{ $getField: 'inputs.customer' }, { $literal: 1 }] } })
  const view = { project, filters: [], query, sort: [], limit: null, offset: 0 }
  const { signal } = new AbortController()
  const edges = [startedAt, startedAt + 5, startedAt + 10]
  const threads = { ...view, threads: undefined, after: undefined, before: undefined }
  const reads = {
    groups: async () =>
      (await topGroups(boundTo(db, signal), view, ['op'], { most: 10 }, startedAt)).get('op')?.top ?? [],
    buckets: () => readBuckets(boundTo(db, signal), { ...view, edges }, startedAt),
    export: () => Array.fromAsync(callPages(boundTo(db, signal), view, undefined, startedAt)),
    conversations: () => Array.fromAsync(streamThreads(boundTo(db, signal), threads, startedAt)),
  }
  const byId = 'SEARCH calls USING INDEX sqlite_autoindex_calls_1 (project_id=? AND id=?)'
  const ofTurns = 'SEARCH calls USING INDEX calls_of_turns (project_id=? AND thread_id=? AND started_at>?)'
  for (const [name, read] of Object.entries(reads)) {
    steps = []
    assert.equal((await read()).length, 1, name)
    const searches = new Set(steps.filter((step) => step.startsWith('SEARCH calls ')))
    searches.delete('SEARCH calls USING INTEGER PRIMARY KEY (rowid=?)')
    assert.deepEqual([...searches].sort(), name === 'conversations' ? [ofTurns, byId] : [byId], name)
  }
})
