import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { recordsOf } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { monitorsOf } from '../../support/monitors.ts'

const opened = await openApp({ after })
const { post, get, send } = opened
const { scorer, monitor } = monitorsOf(opened)

test('monitors: from nothing to deleted', async (t) => {
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

test('monitors: what cannot be watched is refused, and the field is named', async () => {
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
    [{ scorers: [{ scorer: short }, { scorer: short }] }, /^scorers.1.scorer: .*each name is there once/],
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
