import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp, type TestApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { monitorsOf, scoreSchema } from '../../support/monitors.ts'
import { simulatedBackend } from '../../support/simulated-backend.ts'
import { until } from '../../support/wait.ts'

function runsOf({ post, get }: TestApp) {
  const run = async (monitor: string, body: object = {}) => {
    const answer = await post(`/monitors/${monitor}/run`, { project_id: project, ...body })
    assert.equal(answer.status, 200, answer.text)
    return answer.json.run
  }
  const read = async ({ monitor_id, id }: { monitor_id: string; id: string }) =>
    (await get(`/monitors/${monitor_id}/runs/${id}?project_id=${project}`)).json.run
  return {
    run,
    read,
    async done(started: { monitor_id: string; id: string }) {
      await until('the run has ended', async () => (await read(started)).state === 'done')
      return read(started)
    },
    stats: async (...monitor_ids: string[]) => {
      const answer = await post('/monitors/stats', { project_id: project, monitor_ids })
      assert.equal(answer.status, 200, answer.text)
      return answer.json.stats
    },
  }
}

const numbered = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    output: 'x'.repeat(n),
    started_at: new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString(),
  }))

test('a run judges earlier calls, and shows its progress', async (t) => {
  const opened = await openApp(t, { sweep: true })
  const { scorer, monitor, calls, scores } = monitorsOf(opened)
  const { run, done, stats } = runsOf(opened)
  const old = await calls(...numbered(11), { op_name: 'other', output: 'y' })
  const short = await scorer('short', { check: { kind: 'length', max: 4 } })
  const id = await monitor([short], { sampling_rate: 0, filter: { op_names: ['answer'] } })
  const query = { $expr: { $gt: [{ $getField: 'output' }, { $literal: '' }] } }
  const first = await done(await run(id, { query, limit: 4 }))
  assert.deepEqual(
    {
      found: first.found_calls,
      judged: first.judged,
      pending: first.pending,
      query: first.query,
      limit: first.limit,
    },
    { found: 4, judged: 4, pending: 0, query, limit: 4 },
  )
  // The oldest calls come first.
  assert.deepEqual(await scores(old[1] as string, 1), { short: { passed: true, length: 1 } })
  assert.deepEqual(await scores(old[5] as string, 0), {})
  const all = await done(await run(id, { query }))
  assert.deepEqual([all.found_calls, all.judged], [10, 10])
  // Calls that the same version has judged are not judged again.
  assert.deepEqual(await scores(old[1] as string, 1), { short: { passed: true, length: 1 } })
  const [own] = await stats(id)
  assert.deepEqual([own.judged, own.pending, own.failed, own.skipped, own.waits], [10, 0, 0, 0, null])
  const { runs } = (await opened.get(`/monitors/${id}/runs?project_id=${project}`)).json
  assert.deepEqual(
    runs.map((one: { id: string }) => one.id),
    [all.id, first.id],
  )
})

test('a new version of a scorer judges calls again', async (t) => {
  const opened = await openApp(t, { sweep: true })
  const { scorer, monitor, calls, scores } = monitorsOf(opened)
  const { run, done } = runsOf(opened)
  await scorer('short', { check: { kind: 'length', max: 4 } })
  const id = await monitor([`weave:///${project}/object/short:latest`])
  const [call = ''] = await calls({ output: 'x' })
  await scores(call, 1)
  await scorer('short', { check: { kind: 'length', max: 0 } })
  await done(await run(id))
  await scores(call, 2)
})

test('calls that are judged again have their scores until they have new ones', async (t) => {
  const opened = await openApp(t, { sweep: true })
  const { scorer, monitor, calls, scores } = monitorsOf(opened)
  const { run, read, done, stats } = runsOf(opened)
  await scorer('short', { check: { kind: 'length', max: 4 } })
  const id = await monitor([`weave:///${project}/object/short:latest`])
  const [call = ''] = await calls({ output: 'x' })
  await scores(call, 1)
  const [before] = await stats(id)
  assert.deepEqual([before.judged, before.scores.length > 0], [1, true])
  const turn = (active: boolean) => opened.send('PUT', `/monitors/${id}`, { project_id: project, active })
  await turn(false)
  await scorer('short', { check: { kind: 'length', max: 0 } })
  const started = await run(id)
  await until('it waits', async () => (await read(started)).pending === 1)
  const [during] = await stats(id)
  assert.deepEqual([during.judged, during.pending, during.scores], [1, 1, before.scores])
  await turn(true)
  await done(started)
  const [after] = await stats(id)
  assert.deepEqual([after.judged, after.pending], [1, 0])
  assert.notDeepEqual(after.scores, before.scores)
})

test('a cancelled run judges no more calls, and a monitor has one run at a time', async (t) => {
  const opened = await openApp(t, { sweep: true })
  const { post, get } = opened
  const { scorer, monitor, calls } = monitorsOf(opened)
  const { run, read } = runsOf(opened)
  await calls({ output: 'a' }, { output: 'b' })
  const id = await monitor([await scorer('good', { judge: { prompt: '{output}', schema: scoreSchema } })])
  const started = await run(id)
  await until('both wait for a model', async () => (await read(started)).pending === 2)
  const again = await post(`/monitors/${id}/run`, { project_id: project })
  assert.equal(again.status, 409)
  assert.match(again.json.reason, new RegExp(`is already going over old calls, in its run "${started.id}"`))
  const at = `/monitors/${id}/runs`
  const { json } = await post(`${at}/${started.id}/cancel`, { project_id: project })
  assert.deepEqual([json.run.state, json.run.found_calls, json.run.pending], ['cancelled', 2, 0])
  assert.deepEqual((await post(`${at}/${started.id}/cancel`, { project_id: project })).json, json)
  const unknown = await get(`${at}/nothing?project_id=${project}`)
  assert.equal(unknown.status, 404)
  assert.equal(unknown.json.code, 'monitor_run_not_found')
  const refused = await post(`/monitors/${id}/run`, {
    project_id: project,
    query: { $expr: { $eq: [{ $getField: 'colour' }, { $literal: 1 }] } },
  })
  assert.match(refused.json.reason, /colour/)
  assert.equal((await post('/monitors/nothing/run', { project_id: project })).status, 404)
})

test('stats: means and histograms of scores, and skipped and failed calls with the reason', async (t) => {
  const opened = await openApp(t, { sweep: true })
  const { scorer, monitor, calls } = monitorsOf(opened)
  const { stats } = runsOf(opened)
  const length = await scorer('length', { check: { kind: 'length', max: 4, field: 'output.text' } })
  const id = await monitor([length])
  await calls(
    { output: { text: '' } },
    { output: { text: 'abcdefghij' } },
    { output: null },
    { output: { text: 'ab' } },
  )
  await until('all are judged', async () => (await stats(id))[0].judged === 3)
  const [own] = await stats(id, 'nothing', id)
  assert.deepEqual([own.judged, own.skipped, own.failed, own.pending, own.lag_seconds], [3, 1, 0, 0, 0])
  assert.deepEqual(own.reasons, [
    {
      scorer: 'length',
      state: 'skipped',
      reason: 'field_missing',
      count: 1,
      detail: 'the call has no value at output.text',
    },
  ])
  const [passed, characters] = own.scores.toSorted((a: { path: string }, b: { path: string }) =>
    a.path < b.path ? 1 : -1,
  )
  assert.deepEqual([passed.path, passed.count, passed.min, passed.max], ['passed', 3, 0, 1])
  assert.deepEqual([passed.is_boolean, characters.is_boolean], [true, false])
  assert.ok(Math.abs(passed.mean - 2 / 3) < 1e-9)
  assert.deepEqual([characters.path, characters.mean, characters.max], ['length', 4, 10])
  const bars = characters.histogram.map(({ count }: { count: number }) => count)
  assert.deepEqual(bars, [1, 0, 1, 0, 0, 0, 0, 0, 0, 1])
  const early = await opened.post('/monitors/stats', {
    project_id: project,
    monitor_ids: [id],
    before: '2020-01-01T00:00:00Z',
  })
  assert.deepEqual([early.json.stats[0].judged, early.json.stats[0].scores], [0, []])
})

test('stats: the reason why judges wait', async (t) => {
  const opened = await openApp(t, { sweep: true })
  const { scorer, monitor, calls } = monitorsOf(opened)
  const { stats } = runsOf(opened)
  const judge = { prompt: '{output}', schema: scoreSchema }
  const id = await monitor([await scorer('good', { judge })])
  await calls({ output: 'a' })
  assert.match((await stats(id))[0].waits, /HEDDLE_MODEL=none/)
  await opened.send('PUT', `/monitors/${id}`, { project_id: project, active: false })
  assert.equal((await stats(id))[0].waits, 'the monitor is paused')
})

test('the token budget ends judging for the day, and a model that is not served is waited for', async (t) => {
  const backend = simulatedBackend(t, '{"score": 1}')
  const opened = await openApp(t, { sweep: true, backend })
  const { scorer, monitor, calls } = monitorsOf(opened)
  const { stats } = runsOf(opened)
  const judge = { prompt: '{output}', schema: scoreSchema }
  const few = await monitor([await scorer('good', { judge })], { token_budget: 1 })
  const lost = await monitor([await scorer('other', { judge: { ...judge, model: 'large' } })])
  await calls({ output: 'a' }, { output: 'b' }, { output: 'c' })
  await until('the budget is spent', async () => /budget of 1 tokens/.test((await stats(few))[0].waits ?? ''))
  const [spent] = await stats(few)
  assert.deepEqual([spent.judged, spent.pending, spent.token_budget], [1, 2, 1])
  assert.ok(spent.tokens_today > 1)
  await until('the missing model is reported', async () => /"large"/.test((await stats(lost))[0].waits ?? ''))
  assert.deepEqual([(await stats(lost))[0].pending, backend.asked.length], [3, 1])
  await opened.send('PUT', `/monitors/${few}`, { project_id: project, token_budget: null })
  await until('the remaining calls are judged', async () => (await stats(few))[0].judged === 3)
})
