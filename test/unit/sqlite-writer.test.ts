import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { loadMigrations } from '../../src/storage/engines/migrations.ts'
import { connect } from '../../src/storage/engines/sqlite/connection.ts'
import type { Job, JobResult } from '../../src/storage/engines/sqlite/group.ts'
import { migrateSqlite } from '../../src/storage/engines/sqlite/migrate.ts'
import { createWriter } from '../../src/storage/engines/sqlite/writer.ts'
import { storageFailure } from '../../src/storage/failures.ts'
import { pieceBytes } from '../../src/storage/objects/files.ts'
import { sql } from '../../src/storage/sql/sql.ts'
import { wholePart } from '../support/call-parts.ts'

const op_name = 'Evaluation.predict_and_score'

/** A writer on an empty record; after each group, one list of `arriving` arrives. */
function openWriter(
  t: TestContext,
  arriving: Job[][],
  /** The first flush may take longer than the others. */
  {
    flushMs = 0,
    firstFlushMs = flushMs,
    lookMs = 0,
    ...options
  }: { isWatched?: () => boolean; flushMs?: number; firstFlushMs?: number; lookMs?: number } = {},
) {
  const connection = connect(':memory:', 'write')
  t.after(() => connection.close())
  migrateSqlite(connection, ':memory:', loadMigrations('sqlite'), 0)
  const answers: JobResult[] = []
  let slept = 0
  const rests: number[] = []
  /** The ids of each group. */
  const groups: number[][] = []
  /** The number of stored calls when a group is answered. */
  const counts: number[] = []
  const deliver = (results: readonly JobResult[]) => {
    answers.push(...results)
    groups.push(results.map(({ id }) => id))
    counts.push(connection.get<{ count: number }>(sql`SELECT count(*) AS count FROM calls`)?.count ?? 0)
  }
  const changed = () => connection.get<{ rows: number }>(sql`SELECT total_changes() AS rows`)?.rows ?? 0
  const changedBefore = changed()
  const { exec } = connection.handle
  t.mock.method(connection.handle, 'exec', (text: string) => {
    if (text === 'COMMIT') slept += groups.length === 0 ? firstFlushMs : flushMs
    return exec.call(connection.handle, text)
  })
  const writer = createWriter(connection, deliver, {
    ...options,
    collect: () => arriving.shift() ?? [],
    clock: {
      // 128 rows take a millisecond, whatever the speed of the machine, and reading the clock takes `lookMs`.
      now() {
        slept += lookMs
        // A binary fraction, so that sums of times are exact.
        return slept + (changed() - changedBefore) / 128
      },
      async sleep(ms) {
        slept += ms
        assert.ok(ms >= 0, `sleeps for ${ms} ms`)
        rests.push(Math.round(ms))
      },
    },
  })
  return { writer, answers, groups, counts, rests, connection }
}

const trialsOwed = (id: number, count: number): Job => ({
  id,
  name: 'upsertCalls',
  input: Array.from({ length: count }, (_, n) => wholePart('acme/qa', `t${n}`, { parent_id: 'e1', op_name })),
})
const oneByOne = (id: number): Job => ({
  id,
  name: 'deriveNext',
  input: { limit: 1, now: 1 },
  isBackground: true,
})
const probe = (id: number): Job => ({ id, name: 'probe', input: { at: 1 } })

test('a deferrable write lets all others go first, also those that arrive while it runs', async (t) => {
  const { writer, answers } = openWriter(t, [[], [], [probe(3)], [], [probe(4)]])
  writer.submit([oneByOne(1), trialsOwed(2, 5)])
  await writer.idle()
  assert.deepEqual(answers, [
    { id: 2, value: undefined },
    { id: 3, value: undefined },
    { id: 4, value: undefined },
    { id: 1, value: false },
  ])
})

test('a deferrable write stops after a while and reports that more is left', async (t) => {
  const { writer, answers } = openWriter(t, [])
  writer.submit([oneByOne(1), trialsOwed(2, 200)])
  await writer.idle()
  assert.deepEqual(answers.slice(1), [{ id: 1, value: true }])
  writer.submit([oneByOne(3), oneByOne(4), oneByOne(5), oneByOne(6)])
  await writer.idle()
  assert.deepEqual(answers.at(-1), { id: 6, value: false })
})

test('tenants take turns: a write does not wait for all that another tenant sent before', async (t) => {
  const { writer, answers } = openWriter(t, [])
  const heavy = Array.from({ length: 2_000 }, (_, n): Job => ({ ...trialsOwed(n, 1), tenant: 'alice' }))
  writer.submit([...heavy, { ...probe(9_999), tenant: 'bob' }])
  await writer.idle()
  assert.equal(answers.length, 2_001)
  assert.ok(answers.findIndex(({ id }) => id === 9_999) < 256)
})

test('a write does not wait for a whole group of large ones, even if it arrives while they run', async (t) => {
  const { writer, answers } = openWriter(t, [[], [{ ...probe(100), tenant: 'bob' }]])
  writer.submit([1, 2, 3, 4, 5, 6, 7, 8].map((id) => large(id, 'alice')))
  await writer.idle()
  const position = answers.findIndex(({ id }) => id === 100)
  assert.ok(position < 4, `the write is number ${position}`)
  assert.equal(answers.length, 9)
})

/** A long write that cannot be divided. */
const large = (id: number, tenant: string): Job => ({
  id,
  name: 'addPrices',
  input: Array.from({ length: 2_000 }, (_, n) => ({
    id: `${id}-${n}`,
    project_id: 'acme/qa',
    llm_id: 'm',
    provider_id: 'p',
    prompt_token_cost_unit: 'USD',
    completion_token_cost_unit: 'USD',
    created_by: tenant,
    prompt_token_cost: 0,
    completion_token_cost: 0,
    cache_read_input_token_cost: 0,
    cache_creation_input_token_cost: 0,
    effective_date: 0,
    created_at: 0,
  })),
  tenant,
})

const piece = (id: number, tenant: string): Job => ({
  id,
  name: 'keepPiece',
  input: {
    project_id: 'acme/qa',
    upload_id: `u${id}`,
    position: 0,
    memory: new SharedArrayBuffer(pieceBytes),
    length: pieceBytes,
    now: 1,
  },
  tenant,
})

test('the pieces of files of one user are committed together while no other user writes', async (t) => {
  const { writer, groups } = openWriter(t, [])
  writer.submit([1, 2, 3, 4].map((id) => piece(id, 'alice')))
  await writer.idle()
  assert.deepEqual(groups, [[1, 2, 3, 4]])
})

test('while another user writes, pieces are committed one by one, with the small writes of the other in between', async (t) => {
  const { writer, groups } = openWriter(t, [[], [{ ...probe(10), tenant: 'bob' }]])
  writer.submit([1, 2, 3, 4].map((id) => piece(id, 'alice')).concat({ ...probe(9), tenant: 'bob' }))
  await writer.idle()
  assert.deepEqual(groups, [[1], [9, 10], [2], [3], [4]])
})

test('while another user writes, the jobs of a group take about as long as its flush to the disk', async (t) => {
  const longest = async (flushMs: number, firstFlushMs = flushMs) => {
    const { writer, groups } = openWriter(t, [], { flushMs, firstFlushMs })
    const heavy = Array.from({ length: 600 }, (_, n) => calls(n, 1, 'alice'))
    writer.submit([{ ...probe(9_999), tenant: 'bob' }, ...heavy])
    await writer.idle()
    assert.equal(groups.flat().length, 601)
    // The first group measures how long a flush takes.
    return Math.max(...groups.slice(1).map(({ length }) => length))
  }
  const [fast, slow, slower] = [await longest(0.1), await longest(10), await longest(50)]
  assert.ok(fast < slow, `${fast} and ${slow} writes`)
  assert.equal(slower, slow, 'a write that arrives meanwhile does not wait for all writes of the other user')
  const hung = await longest(0.1, 2_000)
  assert.equal(hung, slow, 'after a hang, groups are no longer than on a slow disk')
})

test('a write that is expected to take long waits for the next group, so that a short one is committed without it', async (t) => {
  const { writer, groups } = openWriter(t, [[], [{ ...probe(9), tenant: 'bob' }], [], []])
  writer.submit([large(1, 'alice'), large(2, 'alice'), large(3, 'alice'), { ...probe(8), tenant: 'bob' }])
  await writer.idle()
  assert.deepEqual(groups, [[1], [8, 9], [2], [3]])
})

test('after a large write its user pauses while another writes, and a user who is alone does not pause', async (t) => {
  const beside = openWriter(t, [[], [], [{ ...probe(9), tenant: 'bob' }]])
  beside.writer.submit([{ ...probe(8), tenant: 'bob' }, large(1, 'alice'), large(2, 'alice')])
  await beside.writer.idle()
  assert.deepEqual(beside.groups, [[8, 1], [9], [2]])
  assert.equal(beside.rests.length, 1)
  assert.ok((beside.rests[0] ?? 0) >= 20, `${beside.rests[0]} ms`)
  const alone = openWriter(t, [])
  alone.writer.submit([large(1, 'alice'), large(2, 'alice'), large(3, 'alice')])
  await alone.writer.idle()
  assert.deepEqual([alone.groups, alone.rests], [[[1, 2, 3]], []])
})

test('a pause that ends while the writer reads the clock is skipped', async (t) => {
  for (let lookMs = 1; lookMs <= 9; lookMs++) {
    const arriving = [10, 11, 12, 13, 14].map((id) => [{ ...probe(id), tenant: 'bob' }])
    const { writer, groups } = openWriter(t, arriving, { lookMs })
    writer.submit([{ ...probe(8), tenant: 'bob' }, large(1, 'alice'), large(2, 'alice')])
    await writer.idle()
    assert.equal(groups.flat().length, 8)
  }
})

const calls = (id: number, count: number, tenant: string): Job => ({
  id,
  name: 'upsertCalls',
  input: Array.from({ length: count }, (_, n) => wholePart('acme/qa', `${id}-${n}`)),
  tenant,
})

test('while another user writes, a long list is written in parts, with other writes in between, and answered once', async (t) => {
  const { writer, answers, groups, counts } = openWriter(t, [[], [{ ...probe(10), tenant: 'bob' }]])
  writer.submit([calls(1, 2_000, 'alice'), calls(2, 1, 'alice'), { ...probe(9), tenant: 'bob' }])
  await writer.idle()
  assert.deepEqual(
    answers.map(({ id }) => id),
    [9, 10, 1, 2],
  )
  const [ofOther = 0] = counts
  assert.ok(groups[0]?.includes(9) && ofOther > 0 && ofOther < 2_000, `${ofOther} of the list were written`)
  assert.equal(counts.at(-1), 2_001)
})

test('the changes of a list that is written in parts are reported together', async (t) => {
  const { writer, answers } = openWriter(t, [], { isWatched: () => true })
  writer.submit([calls(1, 300, 'alice'), { ...probe(9), tenant: 'bob' }])
  await writer.idle()
  const told = answers.find(({ id }) => id === 1)
  const changes = told !== undefined && 'changes' in told ? (told.changes ?? []) : []
  const ids = changes.flatMap((change) => ('ids' in change ? change.ids : []))
  assert.equal(new Set(ids).size, 300)
})

test('when a part of a list fails, the list is answered once with that, and the rest is not written', async (t) => {
  const { writer, answers, counts } = openWriter(t, [])
  const list = calls(1, 2_000, 'alice')
  const bad = (list.input as { project_id: unknown }[])[100]
  if (bad) bad.project_id = null
  writer.submit([list, { ...probe(9), tenant: 'bob' }])
  await writer.idle()
  assert.deepEqual(
    answers.map(({ id }) => id).sort((one, other) => one - other),
    [1, 9],
  )
  assert.ok('failure' in (answers.find(({ id }) => id === 1) as JobResult))
  assert.ok((counts.at(-1) ?? 0) <= 64)
})

test('when the disk is full between two parts of a list, the answer does not claim that nothing was stored', async (t) => {
  const { writer, answers, connection } = openWriter(t, [])
  connection.handle.exec(
    "CREATE TEMP TRIGGER full BEFORE INSERT ON main.calls WHEN NEW.id = '1-1000' BEGIN SELECT fill(); END",
  )
  connection.handle.function('fill', { deterministic: false }, () => {
    throw storageFailure('storage_full', new Error('no space'))
  })
  writer.submit([calls(1, 2_000, 'alice'), calls(2, 1, 'bob')])
  await writer.idle()
  const failure = answers.flatMap((answer) => ('failure' in answer ? [answer] : []))
  assert.deepEqual(
    failure.map(({ id, failure }) => [id, failure.kind === 'refusal' && failure.code]),
    [[1, 'write_unconfirmed']],
  )
})

test('a long list of a user who is alone is one transaction', async (t) => {
  const { writer, groups } = openWriter(t, [])
  writer.submit([calls(1, 300, 'alice'), calls(2, 300, 'alice')])
  await writer.idle()
  assert.deepEqual(groups, [[1, 2]])
})

test('when a transaction cannot begin, each write fails, and later ones are tried again', async (t) => {
  const { writer, answers, connection } = openWriter(t, [])
  connection.handle.exec('BEGIN')
  writer.submit([probe(1), probe(2)])
  await writer.idle()
  assert.deepEqual(
    answers.map((answer) => [answer.id, 'failure' in answer]),
    [
      [1, true],
      [2, true],
    ],
  )
  writer.submit([probe(3)])
  await writer.idle()
  assert.deepEqual(answers.at(-1), { id: 3, value: undefined })
})
