import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { recordsOf } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { monitorsOf, scoreSchema } from '../../support/monitors.ts'
import { simulatedBackend } from '../../support/simulated-backend.ts'
import { until } from '../../support/wait.ts'

const opened = await openApp({ after })
const { post, get, send } = opened
const { scorer, monitor } = monitorsOf(opened)

test('monitors: are created, read, changed and deleted', async (t) => {
  await assertCommonRefusals(t, '/monitors', { project_id: project, name: 'x', scorers: [{ scorer: 'y' }] })
  const short = await scorer('short', {
    check: { kind: 'length', max: 5, field: 'answer' },
    fields: { answer: 'output' },
  })
  const made = await post('/monitors', {
    project_id: project,
    name: 'Answers',
    scorers: [{ scorer: short, fields: { answer: 'output.text' } }],
    filter: { op_names: ['answer'] },
    query: { $expr: { $eq: [{ $getField: 'inputs.n' }, { $literal: 1.5 }] } },
    models: ['small'],
    statuses: ['success'],
    sampling_rate: 0.5,
    token_budget: 1000,
  })
  assert.equal(made.status, 200, made.text)
  const { id, created_at, updated_at, ...shown } = made.json.monitor
  assert.equal(created_at, updated_at)
  assert.deepEqual(shown, {
    project_id: project,
    name: 'Answers',
    description: '',
    scorers: [{ scorer: short, fields: { answer: 'output.text' } }],
    filter: { op_names: ['answer'] },
    query: { $expr: { $eq: [{ $getField: 'inputs.n' }, { $literal: 1.5 }] } },
    models: ['small'],
    statuses: ['success'],
    sampling_rate: 0.5,
    token_budget: 1000,
    active: true,
    stopped: null,
    runs_as: 'alice',
    created_by: 'alice',
    deleted_at: null,
  })
  const read = async (as = keys.alice) => get(`/monitors/${id}?project_id=${project}`, as)
  assert.deepEqual((await read()).json, made.json)
  assert.equal((await read(keys.bob)).status, 403)

  const put = (body: object) => send('PUT', `/monitors/${id}`, { project_id: project, ...body })
  const { json } = await put({ active: false, token_budget: null, filter: null, name: 'Paused' })
  assert.deepEqual(
    { ...json.monitor, updated_at },
    { ...made.json.monitor, active: false, token_budget: null, filter: null, name: 'Paused' },
  )
  assert.deepEqual((await read()).json, json)
  assert.deepEqual((await put({})).json, json)

  const found = async (name: string) => {
    return recordsOf(await post('/monitors/query', { project_id: project, name })).map(({ id }) => id)
  }
  assert.deepEqual(await found('pAUS'), [id])
  assert.deepEqual(await found('other'), [])

  const gone = await send('DELETE', `/monitors/${id}?project_id=${project}`)
  assert.equal(gone.status, 200)
  assert.ok(gone.json.monitor.deleted_at)
  for (const answer of [
    await read(),
    await put({}),
    await send('DELETE', `/monitors/${id}?project_id=${project}`),
  ]) {
    assert.equal(answer.status, 404)
    assert.equal(
      answer.json.reason,
      `monitor_id: there is no monitor ${JSON.stringify(id)} in project ${JSON.stringify(project)}.`,
    )
  }
  assert.deepEqual(await found(''), [])
})

test('monitors: an invalid monitor is refused, and the field is named', async () => {
  const short = await scorer('brief', { check: { kind: 'length', max: 5 } })
  const code = await scorer('code', { op_source_code: 'def score(): ...' })
  const refused = async (fields: object) => {
    const body = { project_id: project, name: 'x', scorers: [{ scorer: short }], ...fields }
    const answer = await post('/monitors', body)
    assert.ok([400, 404, 422].includes(answer.status), `${answer.status} ${answer.text}`)
    return answer.json.reason as string
  }
  const ref = (name: string, at = project) => ({
    scorers: [{ scorer: `weave:///${at}/object/${name}:latest` }],
  })
  for (const [fields, reason] of [
    [ref('nowhere'), /^scorers.0.scorer: there is no object "nowhere"/],
    [ref('short', 'globex/qa'), /^scorers.0.scorer: .*accepted: a reference to a scorer of the same project/],
    [{ scorers: [{ scorer: 'short' }] }, /^scorers.0.scorer: "short"; accepted: a reference/],
    [{ scorers: [{ scorer: code }] }, /^scorers.0.scorer: .* neither a judge nor a check/],
    [{ scorers: [{ scorer: short }, { scorer: short }] }, /^scorers.1.scorer: .*names must be unique/],
    [
      { scorers: [{ scorer: short, fields: { q: 'output' } }] },
      /^scorers.0.fields.q: a name that the scorer does not have/,
    ],
    [{ query: { $expr: { $eq: [{ $getField: 'colour' }, { $literal: 1 }] } } }, /colour/],
    [{ query: { $expr: { $what: [] } } }, /unknown operator/],
  ] as const) {
    assert.match(await refused(fields), reason)
  }
  await monitor([short])
})

test('monitors: whoever changes what a monitor asks, resumes it or starts a run answers for it', async () => {
  const short = await scorer('owned', { check: { kind: 'length', max: 5 } })
  const made = await post('/users', { name: 'erin', entities: ['acme'] }, keys.root)
  const { key } = made.json.key
  const runsAs = async (id: string) => {
    const { runs_as } = (await get(`/monitors/${id}?project_id=${project}`)).json.monitor
    return runs_as
  }
  const put = async (id: string, body: object, as: string) => {
    const { status, text } = await send('PUT', `/monitors/${id}`, { project_id: project, ...body }, as)
    assert.equal(status, 200, text)
  }
  const kept = await monitor([short])
  const same = { name: 'Renamed', description: 'x', scorers: [{ scorer: short }], sampling_rate: 1 }
  await put(kept, { ...same, active: true }, key)
  await put(kept, { active: false }, key)
  assert.equal(await runsAs(kept), 'alice')
  await put(kept, { active: true }, key)
  assert.equal(await runsAs(kept), 'erin')
  for (const change of [
    { scorers: [{ scorer: short.replace(/:[^:]*$/, ':latest') }] },
    { sampling_rate: 0.5 },
    { token_budget: 10 },
    { models: ['other'] },
  ]) {
    const id = await monitor([short])
    await put(id, change, key)
    assert.equal(await runsAs(id), 'erin', JSON.stringify(change))
  }
  const id = await monitor([short])
  assert.equal((await post(`/monitors/${id}/run`, { project_id: project }, key)).status, 200)
  assert.equal(await runsAs(id), 'erin')
})

test('monitors: stop when their user is removed, and continue for the user who resumes them', async (t) => {
  const backend = simulatedBackend(t, '{"score": 0.5}')
  const opened = await openApp(t, { sweep: true, backend })
  const { post, get, send } = opened
  const { scorer, calls, scores, judgeCalls } = monitorsOf(opened)
  const ref = await scorer('good', { judge: { prompt: 'Rate {output}', schema: scoreSchema } })
  const { json: made } = await post('/users', { name: 'dave', entities: ['acme'] }, keys.root)
  const body = { project_id: project, name: 'of dave', scorers: [{ scorer: ref }] }
  const { id } = (await post('/monitors', body, made.key.key)).json.monitor
  const read = async () => (await get(`/monitors/${id}?project_id=${project}`)).json.monitor
  const [first = ''] = await calls({ output: 'a' })
  await scores(first, 1)
  assert.equal((await send('DELETE', '/users/dave', undefined, keys.root)).status, 200)
  const stopped = await read()
  assert.equal(stopped.active, false)
  assert.equal(stopped.stopped, 'the user dave was removed; "active": true resumes it as yours')
  const [listed] = recordsOf(await post('/monitors/query', { project_id: project }))
  assert.deepEqual(listed, stopped)
  await calls({ output: 'b' })
  const put = await send('PUT', `/monitors/${id}`, { project_id: project, active: true })
  assert.deepEqual(
    [
      put.json.monitor.active,
      put.json.monitor.stopped,
      put.json.monitor.runs_as,
      put.json.monitor.created_by,
    ],
    [true, null, 'alice', 'dave'],
  )
  const [third = ''] = await calls({ output: 'c' })
  await scores(third, 1)
  const users = (await judgeCalls()).map(({ svc_user_id }) => svc_user_id)
  assert.deepEqual(users.sort(), ['alice', 'dave'])
})

test('monitors: a monitor whose user is no longer in HEDDLE_USERS is stopped before it asks a model', async (t) => {
  const backend = simulatedBackend(t, '{"score": 0.5}')
  const opened = await openApp(t, { sweep: true, backend })
  const { get } = opened
  const { scorer, monitor, calls, judgeCalls } = monitorsOf(opened)
  const ref = await scorer('good', { judge: { prompt: 'Rate {output}', schema: scoreSchema } })
  const id = await monitor([ref])
  const { database } = opened
  const change = { active: 0 as const }
  await database.write('changeMonitor', { project_id: project, monitor_id: id, user: 'x', change, now: 1 })
  await database.write('stopMonitorsOf', { user: 'alice', now: 1 })
  const resume = { active: 1 as const }
  await database.write('changeMonitor', {
    project_id: project,
    monitor_id: id,
    user: 'gone',
    change: resume,
    now: 1,
  })
  await calls({ output: 'a' })
  await until('the monitor is stopped', async () => {
    const { json } = await get(`/monitors/${id}?project_id=${project}`)
    return json.monitor.stopped?.startsWith('the user gone was removed')
  })
  assert.deepEqual(await judgeCalls(), [])
})
