import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { loadMigrations } from '../../src/storage/engines/migrations.ts'
import { connect } from '../../src/storage/engines/sqlite/connection.ts'
import type { Job, JobResult } from '../../src/storage/engines/sqlite/group.ts'
import { migrateSqlite } from '../../src/storage/engines/sqlite/migrate.ts'
import { createWriter } from '../../src/storage/engines/sqlite/writer.ts'
import { wholePart } from '../support/call-parts.ts'

const op_name = 'Evaluation.predict_and_score'

/** A writer on an empty record; `arriving` is seen after each group, one list at a time. */
function openWriter(t: TestContext, arriving: Job[][]) {
  const connection = connect(':memory:', 'write')
  t.after(() => connection.close())
  migrateSqlite(connection, ':memory:', loadMigrations('sqlite'), 0)
  const answers: JobResult[] = []
  const writer = createWriter(connection, (results) => answers.push(...results), {
    collect: () => arriving.shift() ?? [],
  })
  return { writer, answers }
}

const trialsOwed = (id: number, count: number): Job => ({
  id,
  name: 'upsertCalls',
  input: Array.from({ length: count }, (_, n) => wholePart('acme/qa', `t${n}`, { parent_id: 'e1', op_name })),
})
const oneByOne = (id: number): Job => ({ id, name: 'deriveNext', input: { limit: 1, now: 1 }, behind: true })
const probe = (id: number): Job => ({ id, name: 'probe', input: { at: 1 } })

test('what can wait lets every other write go first, also those that come while it is under way', async (t) => {
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

test('what can wait ends after a while and says that there is more', async (t) => {
  const { writer, answers } = openWriter(t, [])
  writer.submit([oneByOne(1), trialsOwed(2, 200)])
  await writer.idle()
  assert.deepEqual(answers.slice(1), [{ id: 1, value: true }])
  writer.submit([oneByOne(3), oneByOne(4), oneByOne(5), oneByOne(6)])
  await writer.idle()
  assert.deepEqual(answers.at(-1), { id: 6, value: false })
})
