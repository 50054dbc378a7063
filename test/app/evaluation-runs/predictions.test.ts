import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { recordsOf, whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { endOf, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import {
  callsOf,
  evaluation,
  evaluationRunsOf,
  model,
  root,
  scorerOf,
  trialOutputOf,
} from '../../support/evaluation-runs.ts'

const url = `${root}/predictions`
const body = { model, inputs: { question: 'capital of Chad' }, output: "N'Djamena" }

const forbidden = {
  status: 403,
  body: { reason: 'Your key has no access to the entity of path: "globex/qa".', code: 'entity_forbidden' },
}

const notFound = (id: string) => ({
  status: 404,
  body: {
    reason: `prediction_id: there is no prediction "${id}" in project "acme/qa".`,
    code: 'prediction_not_found',
  },
})

test('predictions: every route refuses invalid requests', async (t) => {
  await assertCommonRefusals(t, url, body)
  const opened = await openApp(t)
  const { post, get, send } = opened
  const theirs = '/v2/globex/qa/predictions'
  assert.deepEqual(whole(await post(theirs, body)), forbidden)
  assert.deepEqual(whole(await get(theirs)), forbidden)
  assert.deepEqual(whole(await get(`${theirs}/x`)), forbidden)
  assert.deepEqual(whole(await post(`${theirs}/x/finish`, {})), forbidden)
  assert.deepEqual(whole(await send('DELETE', `${theirs}?prediction_ids=x`)), forbidden)

  const run = await evaluationRunsOf(opened).run()
  for (const id of ['x', run]) {
    assert.deepEqual(whole(await get(`${url}/${id}`)), notFound(id))
    assert.deepEqual(whole(await post(`${url}/${id}/finish`, {})), notFound(id))
  }
  const prediction = await evaluationRunsOf(opened).predict(run)
  for (const id of ['x', prediction]) {
    assert.deepEqual(whole(await post(url, { ...body, evaluation_run_id: id })), {
      status: 404,
      body: {
        reason: `evaluation_run_id: there is no evaluation run "${id}" in project "acme/qa".`,
        code: 'evaluation_run_not_found',
      },
    })
  }
  for (const field of ['model', 'inputs', 'output']) {
    const { status, json } = await post(url, { ...body, [field]: undefined })
    assert.deepEqual([status, json.detail[0].loc], [422, ['body', field]])
  }
  assert.equal((await send('DELETE', url)).status, 422)
  assert.equal((await get(`${url}?limit=x`)).status, 422)
})

test('predictions: a run of another project is not found', async (t) => {
  const opened = await openApp(t)
  const theirs = await opened.post('/v2/globex/qa/evaluation_runs', { evaluation, model }, keys.bob)
  const answer = await opened.post(url, { ...body, evaluation_run_id: theirs.json.evaluation_run_id })
  assert.deepEqual([answer.status, answer.json.code], [404, 'evaluation_run_not_found'])
})

test('predictions: a prediction in a run is the first part of a trial', async (t) => {
  const opened = await openApp(t)
  const { post, get } = opened
  const { run, predict, finishPrediction } = evaluationRunsOf(opened)
  const runId = await run()
  const id = await predict(runId, { inputs: { n: 1 }, output: { answer: [1] } })
  const [, trial, predicted] = await callsOf(post, runId)
  assert.deepEqual(
    [trial.parent_id, trial.op_name, trial.ended_at, trial.output],
    [runId, 'Evaluation.predict_and_score', null, null],
  )
  assert.deepEqual(trial.inputs, { self: evaluation, model, example: { n: 1 } })
  assert.deepEqual(trial.attributes, { weave: { predict_call_id: id } })
  assert.deepEqual(
    [predicted.id, predicted.parent_id, predicted.op_name, predicted.output],
    [id, trial.id, 'small.predict', { answer: [1] }],
  )
  assert.deepEqual(predicted.inputs, { self: model, inputs: { n: 1 } })
  assert.deepEqual(predicted.attributes, { weave: { prediction: 'true', model, evaluation_run_id: runId } })
  assert.equal(predicted.ended_at, predicted.started_at)
  assert.deepEqual(whole(await get(`${url}/${id}`)), {
    status: 200,
    body: {
      prediction_id: id,
      model,
      inputs: { n: 1 },
      output: { answer: [1] },
      evaluation_run_id: runId,
      svc_user_id: 'alice',
    },
  })

  assert.deepEqual(whole(await finishPrediction(id)), { status: 200, body: { success: true } })
  const finished = (await callsOf(post, runId))[1]
  assert.deepEqual(finished.output, { output: { answer: [1] }, scores: {}, model_latency: { mean: 0 } })
  assert.deepEqual(whole(await finishPrediction(id)), { status: 200, body: { success: true } })
  assert.deepEqual((await callsOf(post, runId))[1], finished)
})

test('predictions: finishing needs no body', async (t) => {
  const opened = await openApp(t)
  const id = await evaluationRunsOf(opened).predict(null)
  assert.equal((await opened.send('POST', `${url}/${id}/finish`)).status, 200)
})

test('predictions: finishing collects the last score of each scorer and the latency', async (t) => {
  const opened = await openApp(t)
  const { post } = opened
  const { run, predict, score, finishPrediction } = evaluationRunsOf(opened)
  const runId = await run()
  const id = await predict(runId, { output: 'x' })
  const [, trial] = await callsOf(post, runId)
  await score(runId, id, 'exact', true)
  await score(runId, id, 'judge', { passed: false, score: 0.25 })
  await score(runId, id, 'exact', false)
  // A score without a run is not part of the trial.
  await score(null, id, 'alone', 1)
  // The trial also has other calls, and a score that failed.
  const child = { trace_id: runId, parent_id: trial.id }
  const failed = startOf({ ...child, attributes: { weave: { score: 'true', scorer: scorerOf('failed') } } })
  await post('/call/start', { start: failed })
  await post('/call/end', { end: endOf(failed.id, { output: null, exception: 'Error' }) })
  await post('/call/start', { start: startOf(child) })
  // A client that measures sends the time when the model was done.
  const { started_at } = (await callsOf(post, runId)).find((call) => call.id === id)
  const later = new Date(Date.parse(started_at) + 2000).toISOString()
  const ended_at = later.slice(0, 19) + started_at.slice(19)
  await post('/call/end', { end: endOf(id, { ended_at, output: 'x' }) })
  await finishPrediction(id)
  assert.deepEqual(await trialOutputOf(post, runId), {
    output: 'x',
    scores: { exact: false, judge: { passed: false, score: 0.25 } },
    model_latency: { mean: 2 },
  })
})

test('predictions: a prediction without a run is a trace of its own', async (t) => {
  const opened = await openApp(t)
  const { post, get } = opened
  const { predict, finishPrediction } = evaluationRunsOf(opened)
  for (const [model, op] of [
    ['gpt', 'Model.predict'],
    ['weave:///acme/qa/op/answer:v0', 'answer.predict'],
    ['weave:///acme/qa/call/x', 'Model.predict'],
  ]) {
    const id = await predict(null, { model, output: null })
    const [call, ...others] = await callsOf(post, id)
    assert.deepEqual([call.parent_id, call.op_name, others], [null, op, []])
    assert.deepEqual(call.attributes, { weave: { prediction: 'true', model } })
    const record = (await get(`${url}/${id}`)).json
    assert.deepEqual([record.evaluation_run_id, record.output, record.model], [null, null, model])
    assert.deepEqual(whole(await finishPrediction(id)), { status: 200, body: { success: true } })
    assert.deepEqual(await callsOf(post, id), [call])
  }
})

test('predictions: a prediction that is sent again under its id is the same one, in one trial', async (t) => {
  const opened = await openApp(t)
  const { post } = opened
  const { run, predict, finishRun } = evaluationRunsOf(opened)
  const [runId, other] = [await run(), await run()]
  const id = randomUUID()
  const inputs = { a: 1, b: [true] }
  assert.equal(await predict(runId, { id, inputs }), id)
  const calls = await callsOf(post, runId)
  assert.equal(calls.length, 3)
  assert.equal(await predict(runId, { id, inputs: { b: [true], a: 1 } }), id)
  await finishRun(runId)
  assert.equal(await predict(runId, { id, inputs }), id)
  assert.equal((await callsOf(post, runId)).length, 4)
  for (const change of [{ output: 2 }, { inputs: {} }, { model: 'x' }, { evaluation_run_id: other }]) {
    const given = { model, inputs, output: 1, evaluation_run_id: runId, id, ...change }
    assert.deepEqual(whole(await post(url, given)), {
      status: 409,
      body: {
        reason: `id: the call "${id}" already exists in project "acme/qa", with different content.`,
        code: 'call_conflict',
      },
    })
  }
  assert.deepEqual(await callsOf(post, other), [(await callsOf(post, other))[0]])
})

test('predictions: P9, inputs and output keep their digits, also in the trial', async (t) => {
  const opened = await openApp(t)
  const { post, get } = opened
  const run = await evaluationRunsOf(opened).run()
  const inputs = '{"n":9007199254740993,"f":[1.0,1E5]}'
  const output = '{"big":18446744073709551616,"one":1.00}'
  const text = `{"model":"m","evaluation_run_id":"${run}","inputs":${inputs},"output":${output}}`
  const { prediction_id: id } = (await post(url, text)).json
  assert.ok((await get(`${url}/${id}`)).text.includes(`"inputs":${inputs},"output":${output}`))
  const query = { project_id: 'acme/qa', filter: { trace_ids: [run] } }
  await post(`${url}/${id}/finish`, {})
  const lines = (await post('/calls/stream_query', query)).text
  assert.ok(lines.includes(`"example":${inputs}`))
  assert.ok(lines.includes(`"output":{"output":${output},"scores":{}`))
})

test('predictions: lists all predictions, and those of one run', async (t) => {
  const opened = await openApp(t)
  const { get } = opened
  const { run, predict } = evaluationRunsOf(opened)
  const [runA, runB] = [await run(), await run()]
  const a = await predict(runA)
  const alone = await predict(null)
  const b = await predict(runB)
  const c = await predict(runA)
  const found = async (query: string) =>
    recordsOf(await get(`${url}?${query}`)).map(({ prediction_id }) => prediction_id)
  const list = await get(url)
  assert.equal(list.headers['content-type'], 'application/jsonl')
  assert.deepEqual(recordsOf(list)[0], (await get(`${url}/${a}`)).json)
  assert.deepEqual(await found(''), [a, alone, b, c])
  assert.deepEqual(await found(`evaluation_run_id=${runA}`), [a, c])
  assert.deepEqual(await found(`evaluation_run_id=${runA}&limit=1&offset=1`), [c])
  assert.deepEqual(await found('evaluation_run_id=nowhere'), [])
})

test('predictions: deleting one deletes its trial and its scores, and nothing else', async (t) => {
  const opened = await openApp(t)
  const { post, get, send } = opened
  const { run, predict, score, finishPrediction } = evaluationRunsOf(opened)
  const runId = await run()
  const [gone, stays, alone] = [await predict(runId), await predict(runId), await predict(null)]
  await score(runId, gone, 'exact', 1)
  await finishPrediction(gone)
  const remove = async (ids: string) => (await send('DELETE', `${url}?prediction_ids=${ids}`)).json
  assert.deepEqual(await remove(runId), { num_deleted: 0 })
  assert.deepEqual(await remove(`${gone},${alone}`), { num_deleted: 2 })
  assert.deepEqual(await remove(`${gone}&prediction_ids=${alone}`), { num_deleted: 0 })
  const left = (await callsOf(post, runId)).map(({ op_name }) => op_name)
  assert.deepEqual(left, ['Evaluation.evaluate', 'Evaluation.predict_and_score', 'small.predict'])
  assert.equal((await get(`${url}/${stays}`)).status, 200)
  assert.deepEqual(whole(await get(`${url}/${gone}`)), notFound(gone))
  assert.deepEqual(whole(await finishPrediction(gone)), notFound(gone))
})
