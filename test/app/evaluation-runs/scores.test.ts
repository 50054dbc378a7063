import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { recordsOf, whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { endOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import {
  callsOf,
  evaluationRunsOf,
  model,
  root,
  scorerOf,
  trialOutputOf,
} from '../../support/evaluation-runs.ts'
import { allFeedback } from '../../support/feedback.ts'

const url = `${root}/scores`
const scorer = scorerOf('exact')

const notFound = (id: string) => ({
  status: 404,
  body: { reason: `score_id: there is no score "${id}" in project "acme/qa".`, code: 'score_not_found' },
})

test('scores: refusals of every route', async (t) => {
  await assertCommonRefusals(t, url, { prediction_id: 'x', scorer, value: 1 })
  const opened = await openApp(t)
  const { post, get, send } = opened
  const { run, predict } = evaluationRunsOf(opened)
  const forbidden = {
    status: 403,
    body: { reason: 'Your key has no access to the entity of path: "globex/qa".', code: 'entity_forbidden' },
  }
  const theirs = '/v2/globex/qa/scores'
  assert.deepEqual(whole(await post(theirs, { prediction_id: 'x', scorer, value: 1 })), forbidden)
  assert.deepEqual(whole(await get(theirs)), forbidden)
  assert.deepEqual(whole(await get(`${theirs}/x`)), forbidden)
  assert.deepEqual(whole(await send('DELETE', `${theirs}?score_ids=x`)), forbidden)

  const runId = await run()
  const prediction_id = await predict(runId)
  const body = { prediction_id, scorer, value: 0.5 }
  for (const id of ['x', prediction_id]) assert.deepEqual(whole(await get(`${url}/${id}`)), notFound(id))
  for (const id of ['x', runId]) {
    assert.deepEqual(whole(await post(url, { ...body, prediction_id: id })), {
      status: 404,
      body: {
        reason: `prediction_id: there is no prediction "${id}" in project "acme/qa".`,
        code: 'prediction_not_found',
      },
    })
  }
  const nowhere = await post(url, { ...body, evaluation_run_id: 'x' })
  assert.deepEqual(whole(nowhere), {
    status: 404,
    body: {
      reason: 'evaluation_run_id: there is no evaluation run "x" in project "acme/qa".',
      code: 'evaluation_run_not_found',
    },
  })
  for (const given of [
    'exact',
    'weave:///acme/qa/op/exact:v0',
    'weave:///acme/qa/call/x',
    'weave:///acme/qa/object/a%2Fb:v0',
    `weave:///acme/qa/object/${'x'.repeat(129)}:v0`,
  ]) {
    const { status, json } = await post(url, { ...body, scorer: given })
    assert.deepEqual([status, json.code], [400, 'invalid_value'], given)
    assert.match(json.reason, /^scorer: ".*"; accepted: a reference to an object, /)
  }
  const other = await run()
  assert.deepEqual(whole(await post(url, { ...body, evaluation_run_id: other })), {
    status: 400,
    body: {
      reason: `evaluation_run_id: "${other}"; accepted: "${runId}", the run of the prediction.`,
      code: 'invalid_value',
    },
  })
  const alone = { ...body, prediction_id: await predict(null), evaluation_run_id: other }
  assert.deepEqual(
    (await post(url, alone)).json.reason,
    `evaluation_run_id: "${other}"; accepted: none: the prediction belongs to no run.`,
  )
  assert.equal((await post(url, { ...body, value: null })).status, 422)
  assert.equal((await post(url, { ...body, value: undefined })).status, 422)
  assert.deepEqual(whole(await post(url, { ...body, value: 'é'.repeat(200_000) })), {
    status: 400,
    body: {
      reason: 'value: as JSON in ASCII it has more than 1048576 characters.',
      code: 'payload_too_large',
    },
  })
  assert.deepEqual(recordsOf(await get(url)), [], 'a refused score leaves nothing')
  assert.deepEqual(await allFeedback(post), [])
  assert.equal((await send('DELETE', url)).status, 422)
})

test('scores: a prediction of another project is none here', async (t) => {
  const opened = await openApp(t)
  const body = { model, inputs: {}, output: 1 }
  const { prediction_id } = (await opened.post('/v2/globex/qa/predictions', body, keys.bob)).json
  const answer = await opened.post(url, { prediction_id, scorer, value: 1 })
  assert.deepEqual([answer.status, answer.json.code], [404, 'prediction_not_found'])
})

test('scores: a score is a call beside the prediction, and a feedback on it', async (t) => {
  const opened = await openApp(t)
  const { post, get } = opened
  const { run, predict, score } = evaluationRunsOf(opened)
  const runId = await run()
  const prediction = await predict(runId, { inputs: { n: 1 }, output: 'x' })
  const id = await score(runId, prediction, 'exact', { passed: true, score: 0.5 })
  const [, trial, , call] = await callsOf(post, runId)
  assert.deepEqual([call.id, call.parent_id, call.op_name], [id, trial.id, 'exact.score'])
  assert.deepEqual(call.output, { passed: true, score: 0.5 })
  assert.deepEqual(call.inputs, { self: scorer, inputs: { n: 1 }, output: 'x' })
  assert.deepEqual(call.attributes, {
    weave: { score: 'true', prediction_id: prediction, scorer, evaluation_run_id: runId },
  })
  const record = {
    score_id: id,
    prediction_id: prediction,
    scorer,
    value: { passed: true, score: 0.5 },
    evaluation_run_id: runId,
    svc_user_id: 'alice',
  }
  assert.deepEqual(whole(await get(`${url}/${id}`)), { status: 200, body: record })
  const [said, ...others] = await allFeedback(post)
  assert.deepEqual(others, [])
  assert.deepEqual(
    [said?.id, said?.svc_ref, said?.feedback_type, said?.payload, said?.runnable_ref, said?.svc_user_id],
    [
      id,
      `weave:///acme/qa/call/${prediction}`,
      'wandb.runnable.exact',
      { output: { passed: true, score: 0.5 } },
      scorer,
      'alice',
    ],
  )
})

test('scores: without a run it is a trace of its own', async (t) => {
  const opened = await openApp(t)
  const { post, get } = opened
  const { run, predict, score, finishPrediction } = evaluationRunsOf(opened)
  const runId = await run()
  const prediction = await predict(runId)
  const id = await score(null, prediction, 'exact', true)
  const [call] = await callsOf(post, id)
  assert.deepEqual([call.parent_id, call.output], [null, true])
  assert.equal((await get(`${url}/${id}`)).json.evaluation_run_id, null)
  assert.equal((await allFeedback(post)).length, 1)
  await finishPrediction(prediction)
  assert.deepEqual((await trialOutputOf(post, runId)).scores, {})
})

test('scores: one that comes after the prediction was finished is in its trial all the same', async (t) => {
  const opened = await openApp(t)
  const { post, get, send } = opened
  const { run, predict, score, finishPrediction, finishRun } = evaluationRunsOf(opened)
  const runId = await run()
  const prediction = await predict(runId)
  const first = await score(runId, prediction, 'exact', 1)
  await finishPrediction(prediction)
  const [, { ended_at }] = await callsOf(post, runId)
  const late = await score(runId, prediction, 'exact', 3)
  const lateToo = await score(runId, prediction, 'late', 2)
  assert.deepEqual((await trialOutputOf(post, runId)).scores, { exact: 3, late: 2 })
  await finishRun(runId)
  assert.deepEqual((await get(`${root}/evaluation_runs/${runId}`)).json.output, {
    exact: { mean: 3 },
    late: { mean: 2 },
    output: { mean: 1 },
  })
  await send('DELETE', `${url}?score_ids=${late}`)
  assert.deepEqual((await trialOutputOf(post, runId)).scores, { exact: 1, late: 2 })
  await send('DELETE', `${url}?score_ids=${first},${lateToo}`)
  assert.deepEqual((await trialOutputOf(post, runId)).scores, {})
  assert.equal((await callsOf(post, runId))[1].ended_at, ended_at)
})

test('scores: the output that a client gave a trial stays as it is', async (t) => {
  const opened = await openApp(t)
  const { post, send } = opened
  const { run, predict, score, finishPrediction } = evaluationRunsOf(opened)
  const runId = await run()
  const prediction = await predict(runId)
  const [, trial] = await callsOf(post, runId)
  const output = { output: 5, scores: { own: 1 }, more: true }
  await post('/call/end', { end: endOf(trial.id, { output }) })
  await finishPrediction(prediction)
  const id = await score(runId, prediction, 'exact', 1)
  assert.deepEqual(await trialOutputOf(post, runId), output)
  await send('DELETE', `${url}?score_ids=${id}`)
  assert.deepEqual(await trialOutputOf(post, runId), output)
})

test('scores: sent again under its id it is the same one', async (t) => {
  const opened = await openApp(t)
  const { post } = opened
  const { run, predict, score } = evaluationRunsOf(opened)
  const runId = await run()
  const prediction = await predict(runId)
  const id = randomUUID()
  for (let n = 0; n < 2; n++) assert.equal(await score(runId, prediction, 'exact', 1, { id }), id)
  assert.equal((await callsOf(post, runId)).length, 4)
  assert.equal((await allFeedback(post)).length, 1)
  const given = { prediction_id: prediction, scorer, value: 2, evaluation_run_id: runId, id }
  assert.deepEqual(whole(await post(url, given)), {
    status: 409,
    body: {
      reason: `id: the call "${id}" already exists in project "acme/qa", with different content.`,
      code: 'call_conflict',
    },
  })
  assert.equal((await post(url, { ...given, value: 1, evaluation_run_id: null })).status, 409)
  const taken = randomUUID()
  const svc_ref = 'weave:///acme/qa/call/x'
  await post('/feedback/create', {
    project_id: 'acme/qa',
    svc_ref,
    feedback_type: 'x',
    payload: {},
    id: taken,
  })
  const conflict = await post(url, { ...given, id: taken })
  assert.deepEqual([conflict.status, conflict.json.code], [409, 'feedback_conflict'])
  assert.equal((await callsOf(post, runId)).length, 4)
})

test('scores: P9, a value keeps its digits everywhere', async (t) => {
  const opened = await openApp(t)
  const { post, get } = opened
  const { run, predict, finishPrediction } = evaluationRunsOf(opened)
  const runId = await run()
  const prediction = await predict(runId)
  const value = '{"n":9007199254740993,"one":1.0,"e":1E5}'
  const given = { prediction_id: prediction, scorer, value: '@', evaluation_run_id: runId }
  const { score_id } = (await post(url, JSON.stringify(given).replace('"@"', value))).json
  await finishPrediction(prediction)
  assert.ok((await get(`${url}/${score_id}`)).text.includes(`"value":${value}`))
  assert.ok(
    (await post('/feedback/query', { project_id: 'acme/qa' })).text.includes(`"payload":{"output":${value}}`),
  )
  const query = { project_id: 'acme/qa', filter: { trace_ids: [runId] } }
  assert.ok((await post('/calls/stream_query', query)).text.includes(`"scores":{"exact":${value}}`))
})

test('scores: the list, of all and of one run', async (t) => {
  const opened = await openApp(t)
  const { get } = opened
  const { run, predict, score } = evaluationRunsOf(opened)
  const [runA, runB] = [await run(), await run()]
  const [inA, inB] = [await predict(runA), await predict(runB)]
  const a = await score(runA, inA, 'exact', 1)
  const b = await score(runB, inB, 'exact', false)
  const alone = await score(null, inA, 'exact', 'text')
  const c = await score(runA, inA, 'judge', 2)
  const found = async (query: string) =>
    recordsOf(await get(`${url}?${query}`)).map(({ score_id }) => score_id)
  const list = await get(url)
  assert.equal(list.headers['content-type'], 'application/jsonl')
  assert.deepEqual(recordsOf(list)[2], (await get(`${url}/${alone}`)).json)
  assert.deepEqual(await found(''), [a, b, alone, c])
  assert.deepEqual(await found(`evaluation_run_id=${runA}`), [a, c])
  assert.deepEqual(await found(`evaluation_run_id=${runA}&limit=1`), [a])
  assert.deepEqual(await found('offset=3'), [c])
})

test('scores: deleting one takes what it said, and nothing else', async (t) => {
  const opened = await openApp(t)
  const { post, get, send } = opened
  const { run, predict, score } = evaluationRunsOf(opened)
  const runId = await run()
  const prediction = await predict(runId)
  const [gone, stays, alone] = [
    await score(runId, prediction, 'exact', 1),
    await score(runId, prediction, 'judge', 1),
    await score(null, prediction, 'exact', 1),
  ]
  const remove = async (ids: string) => (await send('DELETE', `${url}?score_ids=${ids}`)).json
  assert.deepEqual(await remove(`${runId},${prediction},x`), { num_deleted: 0 })
  assert.deepEqual(await remove(`${gone},${alone}`), { num_deleted: 2 })
  assert.deepEqual(await remove(gone), { num_deleted: 0 })
  assert.deepEqual(whole(await get(`${url}/${gone}`)), notFound(gone))
  assert.deepEqual(
    (await allFeedback(post)).map(({ id }) => id),
    [stays],
  )
  assert.deepEqual(
    recordsOf(await get(url)).map(({ score_id }) => score_id),
    [stays],
  )
})
