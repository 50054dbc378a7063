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
import { until, withTimeout } from '../support/wait.ts'

const evaluation = '00000000-0000-4000-8000-0000000000e1'
const trials = 200_000
const query = `/v2/${project}/eval_results/query`

/** The number of long reads that run at once; others wait. */
const seats = 4

/** Derived results of an evaluation, without its calls: the filters read nothing else. */
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

/** Reads the scores of each trial thousands of times. */
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

  /** Each of these requests is answered while the query runs. */
  async function othersAreServed(server: RunningServer): Promise<void> {
    const start = startOf({ project_id: 'acme/other' })
    assert.equal((await server.post('/call/start', { start })).status, 200)
    assert.equal((await server.post('/call/read', { project_id: 'acme/other', id: start.id })).status, 200)
  }

  test('frees its slot when its client disconnects', async (t) => {
    // Far longer than the test runs, so the deadline does not end them.
    const server = await startServer(t, { HEDDLE_DATA: folder, HEDDLE_QUERY_TIMEOUT: '3600000' })
    for (let round = 0; round < 3; round++) {
      const leaving = await Promise.all(
        Array.from({ length: seats }, () => rawPost(server.address, query, heavy)),
      )
      // The bodies are large, so it takes a moment until all queries run.
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
      assert.equal(await withTimeout('someone else gets a place', waiting), 200)
    }
    assert.equal(await server.end('SIGTERM'), 0)
  })

  test('is refused when it takes too long, and frees its slot', async (t) => {
    const database = await openRecord({ databaseUrl: '', folder, queryTimeoutMs: 100 })
    const { post } = await openApp(t, { database })
    for (let round = 0; round < seats + 1; round++) {
      const { status, json } = await post(query, heavy)
      assert.deepEqual([status, json.code], [504, 'query_too_slow'])
    }
  })
})
