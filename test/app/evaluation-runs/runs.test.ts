import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { linesOf, recordsOf, whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { endOf, project, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { callsOf, evaluation, evaluationRunsOf, model, root } from '../../support/evaluation-runs.ts'

const url = `${root}/evaluation_runs`

const forbidden = {
  status: 403,
  body: { reason: 'Your key has no access to the entity of path: "globex/qa".', code: 'entity_forbidden' },
}

const notFound = (id: string) => ({
  status: 404,
  body: {
    reason: `evaluation_run_id: there is no evaluation run "${id}" in project "acme/qa".`,
    code: 'evaluation_run_not_found',
  },
})

test('evaluation_runs: every route refuses invalid requests', async (t) => {
  await assertCommonRefusals(t, url, { evaluation, model })
  await assertCommonRefusals(t, `${url}/x/finish`, { summary: {} })
  const { post, get, send } = await openApp(t)
  const theirs = '/v2/globex/qa/evaluation_runs'
  assert.deepEqual(whole(await post(theirs, { evaluation, model })), forbidden)
  assert.deepEqual(whole(await get(theirs)), forbidden)
  assert.deepEqual(whole(await get(`${theirs}/x`)), forbidden)
  assert.deepEqual(whole(await post(`${theirs}/x/finish`, {})), forbidden)
  assert.deepEqual(whole(await send('DELETE', `${theirs}?evaluation_run_ids=x`)), forbidden)

  for (const id of ['x', randomUUID()]) {
    assert.deepEqual(whole(await get(`${url}/${id}`)), notFound(id))
    assert.deepEqual(whole(await post(`${url}/${id}/finish`, {})), notFound(id))
  }
  for (const [query, field] of [
    ['limit=x', 'query.limit'],
    ['offset=-1', 'query.offset'],
    ['evaluations=', 'query.evaluations.0'],
  ]) {
    const { status, json } = await get(`${url}?${query}`)
    assert.deepEqual([status, json.code], [422, 'invalid_request'], query)
    assert.ok(json.reason.includes(field), json.reason)
  }
  const many = Array.from({ length: 1001 }, (_, n) => n.toString(36))
  assert.deepEqual(whole(await get(`${url}?evaluation_run_ids=${many}`)), {
    status: 400,
    body: {
      reason: 'evaluation_run_ids: 1001 entries; accepted: at most 1000.',
      code: 'invalid_value',
    },
  })
  assert.deepEqual(whole(await send('DELETE', `${url}?evaluation_run_ids=${many}`)), {
    status: 413,
    body: {
      reason: 'evaluation_run_ids: 1001 entries; at most 1000 are accepted in one request.',
      code: 'too_many_ids',
    },
  })
  assert.equal((await send('DELETE', url)).status, 422)
})

test('evaluation_runs: a run is a root call, and its record shows its progress', async (t) => {
  const opened = await openApp(t)
  const { post, get } = opened
  const { run, finishRun } = evaluationRunsOf(opened)
  const id = await run()
  const [call] = await callsOf(post, id)
  assert.deepEqual(
    [call.id, call.trace_id, call.parent_id, call.op_name, call.svc_user_id],
    [id, id, null, 'Evaluation.evaluate', 'alice'],
  )
  assert.deepEqual(call.inputs, { self: evaluation, model })
  assert.deepEqual(call.attributes, { weave: { evaluation_run: 'true', evaluation, model } })

  const running = {
    evaluation_run_id: id,
    evaluation,
    model,
    status: 'running',
    started_at: call.started_at,
    finished_at: null,
    summary: null,
    output: null,
  }
  assert.deepEqual(whole(await get(`${url}/${id}`)), { status: 200, body: running })
  const summary = '{"note":"one","big":9007199254740993,"one":1.0}'
  const finished = await post(`${url}/${id}/finish`, `{"summary": ${summary}}`)
  assert.deepEqual(whole(finished), { status: 200, body: { success: true } })
  const read = await get(`${url}/${id}`)
  assert.deepEqual(read.json, {
    ...running,
    status: 'completed',
    finished_at: read.json.finished_at,
    summary: JSON.parse(summary),
    output: {},
  })
  assert.ok(read.text.includes(`"summary":${summary}`), read.text)
  assert.equal((await get(`${url}/${id}`, keys.root)).status, 200)
  assert.equal((await finishRun(id)).status, 409)
})

test('evaluation_runs: finishing computes the means of the finished trials', async (t) => {
  const opened = await openApp(t)
  const { post, get } = opened
  const { run, predict, score, finishPrediction, finishRun } = evaluationRunsOf(opened)
  const id = await run()
  const trials: [output: unknown, scores: Record<string, unknown>][] = [
    [4, { exact: true, judge: { passed: true, score: 0.25, why: 'terse', list: [1, 2] }, 'a.b': 1 }],
    [
      { tokens: 5, deep: { n: 1 } },
      { exact: false, judge: { passed: true, score: 0.75, list: [5] } },
    ],
    ['text', { exact: true, note: 'only a text', __proto__x: 2 }],
    [null, {}],
    [8, { exact: true }],
  ]
  for (const [output, scores] of trials) {
    const prediction = await predict(id, { output })
    for (const [name, value] of Object.entries(scores)) await score(id, prediction, name, value)
    assert.equal((await finishPrediction(prediction)).status, 200)
  }
  // This trial is not finished, so it does not count.
  const open = await predict(id, { output: 1000 })
  await score(id, open, 'exact', false)
  assert.equal((await finishRun(id, { summary: { a: 1 } })).status, 200)

  const means = {
    exact: { mean: 0.75 },
    judge: { passed: { mean: 1 }, score: { mean: 0.5 } },
    'a.b': { mean: 1 },
    __proto__x: { mean: 2 },
    output: { mean: 6, tokens: { mean: 5 }, deep: { n: { mean: 1 } } },
  }
  const record = (await get(`${url}/${id}`)).json
  assert.deepEqual([record.status, record.output, record.summary], ['completed', means, { a: 1 }])
  const calls = await callsOf(post, id)
  const summarize = calls.filter(({ op_name }) => op_name === 'Evaluation.summarize')
  assert.equal(summarize.length, 1)
  const [{ parent_id, inputs, output, ended_at }] = summarize
  assert.deepEqual([parent_id, inputs, output], [id, { self: evaluation }, means])
  assert.equal(ended_at, record.finished_at)
})

test('evaluation_runs: trials that an SDK wrote into the run count, too', async (t) => {
  const opened = await openApp(t)
  const { post, get } = opened
  const { run, finishRun } = evaluationRunsOf(opened)
  const id = await run()
  const parts = [
    ['Evaluation.predictAndScore', { model_output: 3, scores: { exact: true } }],
    [`weave:///${project}/op/Evaluation.predict_and_score:x`, { output: 5, scores: { exact: false } }],
    ['Evaluation.predict_and_score', [1]],
    ['something else', { output: 100, scores: { exact: false } }],
  ].map(([op_name, output]) => ({ ...startOf({ trace_id: id, parent_id: id, op_name }), output }))
  const batch = parts.map(({ output, ...start }) => ({ ...endOf(start.id), ...start, output }))
  const written = await post(`${root}/calls/complete`, { batch })
  assert.equal(written.status, 200, written.text)
  await finishRun(id)
  assert.deepEqual((await get(`${url}/${id}`)).json.output, { exact: { mean: 0.5 }, output: { mean: 4 } })
})

test('evaluation_runs: finishing again in the same way changes nothing, and otherwise is a conflict', async (t) => {
  const opened = await openApp(t)
  const { post, get } = opened
  const { run, finishRun } = evaluationRunsOf(opened)
  const id = await run()
  assert.equal((await finishRun(id, { summary: { a: 1, b: [1] } })).status, 200)
  const before = (await callsOf(post, id)).map(({ id: call, ended_at }) => [call, ended_at])
  assert.equal((await finishRun(id, { summary: { b: [1], a: 1 } })).status, 200)
  for (const body of [{}, { summary: null }, { summary: { a: 2 } }]) {
    assert.deepEqual(whole(await finishRun(id, body)), {
      status: 409,
      body: {
        reason: `evaluation_run_id: the evaluation run "${id}" has already ended, with another summary.`,
        code: 'evaluation_run_ended',
      },
    })
  }
  const after = (await callsOf(post, id)).map(({ id: call, ended_at }) => [call, ended_at])
  assert.deepEqual(after, before)

  const failed = await run()
  await post('/call/end', { end: endOf(failed, { exception: 'Error: no model', output: null }) })
  assert.equal((await get(`${url}/${failed}`)).json.status, 'failed')
  assert.deepEqual((await finishRun(failed)).json, {
    reason: `evaluation_run_id: the evaluation run "${failed}" has already ended, with an exception.`,
    code: 'evaluation_run_ended',
  })
})

test('evaluation_runs: a run that is sent again under its id is the same run', async (t) => {
  const opened = await openApp(t)
  const { post, send } = opened
  const { run } = evaluationRunsOf(opened)
  const id = randomUUID()
  assert.equal(await run({ id }), id)
  assert.equal(await run({ id }), id)
  assert.equal((await callsOf(post, id)).length, 1)
  const conflict = {
    status: 409,
    body: {
      reason: `id: the call "${id}" already exists in project "acme/qa", with different content.`,
      code: 'call_conflict',
    },
  }
  assert.deepEqual(whole(await post(url, { evaluation, model: 'other', id })), conflict)
  assert.deepEqual(whole(await post(url, { evaluation, model, id }, keys.root)), conflict)
  assert.equal((await post('/v2/globex/qa/evaluation_runs', { evaluation, model, id }, keys.bob)).status, 200)
  await send('DELETE', `${url}?evaluation_run_ids=${id}`)
  assert.deepEqual(whole(await post(url, { evaluation, model, id })), conflict)
  assert.equal((await post(url, { evaluation, model, id: 'x' })).status, 422)
})

test('evaluation_runs: lists by evaluations, models and ids', async (t) => {
  const opened = await openApp(t)
  const { post, get } = opened
  const { run } = evaluationRunsOf(opened)
  const a = await run({ evaluation: 'one, two' })
  const b = await run({ evaluation: 'three', model: 'm&1' })
  const c = await run({ evaluation: 'one, two', model: 'm&1' })
  // A call of the same op is not a run, and neither is one of another op with the marker.
  await post('/call/start', { start: startOf({ op_name: 'Evaluation.evaluate' }) })
  await post('/call/start', { start: startOf({ attributes: { weave: { evaluation_run: 'true' } } }) })
  const found = async (query: string, key = keys.alice) =>
    recordsOf(await get(`${url}?${query}`, key)).map(({ evaluation_run_id }) => evaluation_run_id)

  const list = await get(url)
  assert.equal(list.headers['content-type'], 'application/jsonl')
  assert.deepEqual(recordsOf(list)[1], (await get(`${url}/${b}`)).json)
  assert.deepEqual(await found(''), [a, b, c])
  assert.deepEqual(await found('limit=1'), [a])
  assert.deepEqual(await found('limit=1&offset=1'), [b])
  assert.deepEqual(await found('limit=0'), [])
  assert.deepEqual(await found('offset=7'), [])
  assert.deepEqual(await found('evaluations=one,%20two'), [a, c])
  assert.deepEqual(await found('evaluations=one,%20two&evaluations=three&models=m%261'), [b, c])
  assert.deepEqual(await found(`evaluation_run_ids=${a}&evaluation_run_ids=${c}`), [a, c])
  assert.deepEqual(await found(`evaluation_run_ids=${a},${c}&models=m%261`), [c])
  assert.deepEqual(await found('models=nothing'), [])
  assert.deepEqual(linesOf(await get('/v2/globex/qa/evaluation_runs', keys.bob)), [])
})

test('evaluation_runs: deleting a run deletes everything in it, and nothing else', async (t) => {
  const opened = await openApp(t)
  const { post, get, send } = opened
  const { run, predict, score } = evaluationRunsOf(opened)
  const [a, b] = [await run(), await run()]
  const prediction = await predict(a)
  await score(a, prediction, 'exact', 1)
  const remove = async (ids: string, key = keys.alice) =>
    (await send('DELETE', `${url}?evaluation_run_ids=${ids}`, undefined, key)).json
  assert.deepEqual(await remove(`${prediction},nobody`), { num_deleted: 0 })
  const theirs = `/v2/globex/qa/evaluation_runs?evaluation_run_ids=${a}`
  assert.deepEqual((await send('DELETE', theirs, undefined, keys.bob)).json, { num_deleted: 0 })
  assert.deepEqual(await remove(`${a},${a}`), { num_deleted: 1 })
  assert.deepEqual(await remove(a), { num_deleted: 0 })
  assert.deepEqual(whole(await get(`${url}/${a}`)), notFound(a))
  assert.deepEqual(await callsOf(post, a), [])
  assert.deepEqual((await get(`${url}/${b}`)).status, 200)
  assert.deepEqual(whole(await post(`${url}/${a}/finish`, {})), notFound(a))
})
