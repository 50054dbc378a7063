import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { endOf, project, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { evaluationRunsOf, root } from '../../support/evaluation-runs.ts'

const url = '/evaluations/status'

test('evaluations/status: refuses invalid requests', async (t) => {
  await assertCommonRefusals(t, url, { project_id: project, call_id: 'x' })
  const { post } = await openApp(t)
  assert.deepEqual(whole(await post(url, { project_id: 'globex/qa', call_id: 'x' })), {
    status: 403,
    body: {
      reason: 'Your key has no access to the entity of project_id: "globex/qa".',
      code: 'entity_forbidden',
    },
  })
  const unstorable = await post(url, { project_id: project, call_id: 'a\0' })
  assert.deepEqual([unstorable.status, unstorable.json.code], [422, 'invalid_request'], unstorable.text)
  const start = startOf({ op_name: `weave:///${project}/op/answer:x` })
  await post('/call/start', { start })
  assert.deepEqual(whole(await post(url, { project_id: project, call_id: start.id })), {
    status: 400,
    body: {
      reason: `call_id: "${start.id}" is a call of "answer"; accepted: the root call of an evaluation, with the op "Evaluation.evaluate".`,
      code: 'invalid_value',
    },
  })
})

test('evaluations/status: reports a run from unknown to complete', async (t) => {
  const opened = await openApp(t)
  const { post, send } = opened
  const { run, predict, score, finishPrediction, finishRun } = evaluationRunsOf(opened)
  const status = async (call_id: string, key = keys.alice) => {
    const answer = await post(url, { project_id: project, call_id }, key)
    assert.equal(answer.status, 200, answer.text)
    return answer.json.status
  }
  assert.deepEqual(await status('nowhere'), { code: 'not_found' })
  const theirs = await post('/v2/globex/qa/evaluation_runs', { evaluation: 'e', model: 'm' }, keys.bob)
  assert.deepEqual(await status(theirs.json.evaluation_run_id), { code: 'not_found' })

  const id = await run()
  assert.deepEqual(await status(id), { code: 'running', completed_rows: 0, total_rows: 0 })
  const [one] = [await predict(id), await predict(id)]
  await score(id, one, 'exact', 1)
  await finishPrediction(one)
  assert.deepEqual(await status(id), { code: 'running', completed_rows: 1, total_rows: 2 })
  await finishRun(id)
  const output = { exact: { mean: 1 }, output: { mean: 1 } }
  assert.deepEqual(await status(id), { code: 'complete', output })
  await send('DELETE', `${root}/evaluation_runs?evaluation_run_ids=${id}`)
  assert.deepEqual(await status(id), { code: 'not_found' })
})

test('evaluations/status: reports evaluations that an SDK wrote, also failed ones', async (t) => {
  const { post } = await openApp(t)
  const status = async (call_id: string) => (await post(url, { project_id: project, call_id })).json.status
  for (const op_name of ['Evaluation.evaluate', `weave:///${project}/op/Evaluation.evaluate:x`]) {
    const start = startOf({ op_name })
    await post('/call/start', { start })
    const trial = startOf({ parent_id: start.id, op_name: 'Evaluation.predictAndScore' })
    await post('/call/start', { start: trial })
    assert.deepEqual(await status(start.id), { code: 'running', completed_rows: 0, total_rows: 1 })
    await post('/call/end', { end: endOf(start.id, { output: null, exception: 'Error: no model' }) })
    assert.deepEqual(await status(start.id), { code: 'failed', error: 'Error: no model' })
    await post('/call/end', { end: endOf(start.id, { output: null }) })
    assert.deepEqual(await status(start.id), { code: 'complete', output: null })
  }
})

test('evaluations/status: the total number of rows comes from the dataset', async (t) => {
  const opened = await openApp(t)
  const { post } = opened
  const { run, predict } = evaluationRunsOf(opened)
  const made = async (path: string, body: object) => (await post(`${root}/${path}`, body)).json
  const rows = [{ n: 1 }, { n: 2 }, { n: 3 }]
  const { digest } = await made('datasets', { name: 'rows', rows })
  const dataset = `weave:///${project}/object/rows:${digest}`
  const total = async (evaluation: string) => {
    const id = await run({ evaluation })
    await predict(id)
    return (await post(url, { project_id: project, call_id: id })).json.status.total_rows
  }
  const of = async (name: string, fields: object) =>
    (await made('evaluations', { name, dataset, ...fields })).evaluation_ref as string
  assert.equal(await total(await of('once', {})), 3)
  assert.equal(await total(await of('twice', { trials: 2 })), 6)
  assert.equal(await total(await of('lost', { dataset: `weave:///${project}/object/none:v0` })), 1)
  assert.equal(await total(await of('text', { dataset: 'rows' })), 1)
  assert.equal(await total(await of('foreign', { dataset: 'weave:///globex/qa/object/rows:v0' })), 1)
  assert.equal(await total('weave:///globex/qa/object/first:v0'), 1)
  assert.equal(await total(`weave:///${project}/object/none:v0`), 1)
})
