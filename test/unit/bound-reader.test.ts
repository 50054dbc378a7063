import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/storage/sql/sql.ts'
import { allRows, boundTo, type LongReader, type StreamOptions } from '../../src/storage/transaction.ts'

/** A reader that notes what its streams are asked. */
function noting(): { db: LongReader; noted: StreamOptions[] } {
  const noted: StreamOptions[] = []
  const db = {
    async *stream(_: unknown, options: StreamOptions) {
      noted.push(options)
      yield []
    },
  } as unknown as LongReader
  return { db, noted }
}

test('the queries of a bound reader end with its signal, unless they have their own', async () => {
  const { db, noted } = noting()
  const { signal } = new AbortController()
  const bound = boundTo(db, signal)
  await allRows(bound, sql`SELECT 1`)
  for await (const _ of bound.stream(sql`SELECT 1`, { rows: 7 }));
  const other = new AbortController().signal
  for await (const _ of boundTo(bound, other).stream(sql`SELECT 1`));
  assert.deepEqual(
    noted.map((options) => options.rows),
    [1000, 7, undefined],
  )
  assert.ok(noted[0]?.signal === signal && noted[1]?.signal === signal && noted[2]?.signal === other)
})

test('the signal of a bound reader is created once, when a query first needs it, and not by a copy', async () => {
  const { db, noted } = noting()
  let created = 0
  const bound = boundTo(db, () => {
    created++
    return new AbortController().signal
  })
  const copy = { ...bound }
  assert.equal(created, 0)
  for await (const _ of copy.stream(sql`SELECT 1`));
  assert.equal(noted[0]?.signal, bound.signal)
  assert.equal(created, 1)
})
