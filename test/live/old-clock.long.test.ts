import assert from 'node:assert/strict'
import { test } from 'node:test'
import { project, startOf } from '../support/calls.ts'
import { newFolder, runHeddle, startServer } from '../support/server.ts'

test('writing and reading work with a clock before 1970', async (t) => {
  const clock = new URL('../support/old-clock.mjs', import.meta.url).href
  const settings = { HEDDLE_DATA: await newFolder(t), NODE_OPTIONS: `--import ${clock}` }
  const made = await runHeddle(['user', 'add', 'carol', '--new'], settings)
  assert.deepEqual([made.code, made.err], [0, ''])
  const key = made.out.trim()
  const server = await startServer(t, settings)
  const ask = async (url: string, body: object) => {
    const answer = await server.post(url, { ...body }, { key })
    assert.equal(answer.status, 200, `${url}: ${await answer.clone().text()}`)
    return (await answer.json()) as Record<string, string>
  }
  const { id, ...start } = startOf()
  const [first, second] = [await ask('/call/start', { start }), await ask('/call/start', { start })]
  assert.ok(String(second.id) > String(first.id), 'ids stay in order')
  await ask('/call/end', {
    end: { project_id: project, id: first.id, ended_at: '1969-09-01T00:00:00Z', summary: {} },
  })
  const { call } = (await ask('/call/read', { project_id: project, id: first.id })) as unknown as {
    call: { id: string; ended_at: string }
  }
  assert.deepEqual([call.id, call.ended_at], [first.id, '1969-09-01T00:00:00Z'])
  await ask('/feedback/create', {
    project_id: project,
    weave_ref: `weave:///${project}/call/${first.id}`,
    feedback_type: 'wandb.note.1',
    payload: { note: 'old' },
  })
  const { count } = (await ask('/calls/query_stats', { project_id: project })) as unknown as { count: number }
  assert.equal(count, 2)
  assert.equal((await server.get('/ready')).status, 200)
  const log = server.log.map((line) => JSON.parse(line) as { time: number; level: number })
  assert.ok(log.every(({ time, level }) => time < 0 && level <= 30))
  assert.equal(await server.end('SIGTERM'), 0)
})
