import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { openSqlite } from '../../src/storage/engines/sqlite/open.ts'
import { openRecord, sqliteFile } from '../../src/storage/open.ts'
import { openApp } from '../support/app.ts'
import { startedAt } from '../support/call-parts.ts'
import { project, startOf } from '../support/calls.ts'
import { rawPost } from '../support/raw-client.ts'
import { type RunningServer, startServer } from '../support/server.ts'
import { inTime, until } from '../support/waiting.ts'

const evaluation = '00000000-0000-4000-8000-0000000000e1'
const trials = 200_000
const query = `/v2/${project}/eval_results/query`

/** Long reads that run at once; the others wait. */
const seats = 4

/** An evaluation as it is derived, without its calls: only what a filter reads is looked at. */
async function writeLargeEvaluation(folder: string): Promise<void> {
  const file = sqliteFile(folder)
  await (await openSqlite({ file })).close()
  const handle = new Sqlite(file)
  handle.pragma('synchronous = OFF')
  handle
    .prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       INSERT INTO eval_trials (project_id, trial_id, evaluation_id, row_digest, row_kind, started_at, output_key, failed,
         scorer_call_ids, scores, shape)
       SELECT ?, printf('%016x', i), ?, printf('%08x', i), 0, ? + i, 0, 0, '{}', '{"why":"so"}', -1 FROM n`,
    )
    .run(trials, project, evaluation, startedAt)
  handle.close()
}

const says = (substr: string) => ({
  $contains: { input: { $getField: 'scores.why' }, substr: { $literal: substr } },
})

/** Looks at the scores of each trial some thousand times. */
const heavy = {
  evaluation_call_ids: [evaluation],
  filters: Array.from({ length: 16 }, (_, n) => ({
    query: { $expr: { $not: [{ $or: Array.from({ length: 300 }, (_, i) => says(`${n} ${i}`)) }] } },
  })),
}
const light = { evaluation_call_ids: [evaluation], limit: 1 }

describe('a heavy query of evaluation results', () => {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-test-'))
  before(() => writeLargeEvaluation(folder))
  after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

  /** Each of these is answered while the query goes on. */
  async function othersAreServed(server: RunningServer): Promise<void> {
    const start = startOf({ project_id: 'acme/other' })
    assert.equal((await server.post('/call/start', { start })).status, 200)
    assert.equal((await server.post('/call/read', { project_id: 'acme/other', id: start.id })).status, 200)
  }

  test('frees its place when its client leaves in the middle', async (t) => {
    // Far longer than the test waits: it is not the deadline that ends them.
    const server = await startServer(t, { HEDDLE_DATA: folder, HEDDLE_QUERY_TIMEOUT: '3600000' })
    for (let round = 0; round < 3; round++) {
      const leaving = await Promise.all(
        Array.from({ length: seats }, () => rawPost(server.address, query, heavy)),
      )
      // The bodies are large, so it is not at once that all of them are worked on.
      let waiting = Promise.resolve(0)
      await until('all places are taken', async () => {
        let isAnswered = false
        waiting = server.post(query, light).then(({ status }) => {
          isAnswered = true
          return status
        })
        for (let i = 0; i < 10; i++) await othersAreServed(server)
        return !isAnswered
      })
      for (const { socket } of leaving) socket.destroy()
      assert.equal(await inTime('someone else gets a place', waiting), 200)
    }
    assert.equal(await server.end('SIGTERM'), 0)
  })

  test('is refused when it takes too long, and frees its place', async (t) => {
    const database = await openRecord({ databaseUrl: '', folder, queryTimeoutMs: 100 })
    const { post } = await openApp(t, { database })
    for (let round = 0; round < seats + 1; round++) {
      const { status, json } = await post(query, heavy)
      assert.deepEqual([status, json.code], [504, 'query_too_slow'])
    }
  })
})
