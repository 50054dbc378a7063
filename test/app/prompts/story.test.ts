import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { root } from '../../support/evaluation-runs.ts'
import { monitorsOf } from '../../support/monitors.ts'
import { create } from '../../support/objects.ts'
import { promptTokensOf, scriptedBackend, scriptOf } from '../../support/scripted-backend.ts'
import { until } from '../../support/wait.ts'

test('runs of the server ask with a version by its name, and a gate believes them', async (t) => {
  // Answers with what its prompt tells it to say.
  const backend = scriptedBackend((request, signal) => {
    const said = /Say (\w+)/.exec(String.fromCodePoint(...promptTokensOf(request)))?.[1]
    return scriptOf(said ?? 'nothing')(request, signal)
  })
  const app = await openApp(t, { sweep: true, backend })
  const { post, get, send } = app
  await create(app, 'support', { content: 'Say no.' })
  const second = await create(app, 'support', { content: 'Say {said}.' })
  const rows = ['yes', 'yes', 'yes', 'yes', 'yes', 'yes please'].map((said, row) => ({ said, row }))
  assert.equal((await post(`${root}/datasets`, { name: 'capitals', rows })).status, 200)
  const right = await monitorsOf(app).scorer('right', { check: { kind: 'contains', any_of: ['yes'] } })
  const started = await post(`${root}/evaluation_runs/serve`, {
    name: 'said',
    dataset: `weave:///${project}/object/capitals:latest`,
    settings: ['v0', 'latest'].map((version) => ({
      name: version,
      request: { prompt: { id: 'support', version } },
    })),
    scorers: [{ scorer: right }],
  })
  assert.equal(started.status, 200, started.text)
  const [before, after] = started.json.evaluation_run_ids
  for (const run of [before, after]) {
    await until(
      `${run} has ended`,
      async () => (await get(`${root}/evaluation_runs/${run}`)).json.status !== 'running',
    )
  }
  const label = '/objs/support/aliases/production'
  const move = (body: object) => send('POST', `${label}/move`, { project_id: project, ...body })
  assert.equal((await move({ digest: 'v0' })).status, 200)
  const gate = {
    evaluation: started.json.evaluation,
    conditions: [{ field: 'scores.right.passed', min_difference: 0.1 }],
  }
  const set = await send('PUT', `${label}/gate`, { project_id: project, gate }, keys.root)
  assert.equal(set.status, 200, set.text)
  const moved = await move({ digest: 'v1', run: after, baseline_run: before })
  assert.equal(moved.status, 200, moved.text)
  assert.equal(moved.json.to, second)
  assert.match(moved.json.checks[0].found, /^1 \(0\.\d+ to 1\) in 6 rows$/)
  const swapped = await move({ digest: 'v0', run: after, baseline_run: before })
  assert.match(swapped.json.reason, /which is with another version/)

  const wrong = (prompt: unknown) =>
    post(`${root}/evaluation_runs/serve`, {
      name: 'said',
      dataset: `weave:///${project}/object/capitals:latest`,
      settings: [{ name: 'a', request: { prompt } }],
    })
  assert.match((await wrong({ id: 'support', variables: {} })).json.reason, /^settings.0.request.prompt: /)
  assert.equal((await wrong({ id: 'nothing' })).json.code, 'object_not_found')
})
