import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { keys, openApp } from '../../support/app.ts'
import { completeOf, project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'

const { post, get, send } = await openApp({ after })
const inProject = `?project_id=${project}`

const field = (name: string) => ({ $getField: name })
const failed = { $expr: { $eq: [field('summary.weave.status'), { $literal: 'error' }] } }

test('alert rules: are created, listed, changed and deleted', async (t) => {
  await assertCommonRefusals(t, '/alert_rules', { project_id: project, name: 'x', on: 'call' })
  const made = await post('/alert_rules', {
    project_id: project,
    name: 'Failures',
    on: 'call',
    filter: { op_names: ['answer'] },
    query: failed,
    severity: 'critical',
    cooldown_seconds: 60,
  })
  assert.equal(made.status, 200, made.text)
  const { id, created_at, updated_at, ...shown } = made.json.rule
  assert.equal(created_at, updated_at)
  assert.deepEqual(shown, {
    project_id: project,
    name: 'Failures',
    on: 'call',
    filter: { op_names: ['answer'] },
    query: failed,
    score: null,
    decision: null,
    queue: null,
    budget: null,
    window: null,
    severity: 'critical',
    cooldown_seconds: 60,
    endpoint_ids: null,
    active: true,
    firing: false,
    suppressed: 0,
    created_by: 'alice',
  })
  const list = async (key = keys.alice) => get(`/alert_rules${inProject}`, key)
  assert.deepEqual((await list()).json, { rules: [made.json.rule] })
  assert.equal((await list(keys.bob)).status, 403)
  const put = (body: object) => send('PUT', `/alert_rules/${id}`, { project_id: project, ...body })
  const { json } = await put({ name: 'Paused', active: false, query: null })
  assert.deepEqual(
    { ...json.rule, updated_at },
    { ...made.json.rule, name: 'Paused', active: false, query: null },
  )
  assert.equal((await send('DELETE', `/alert_rules/${id}${inProject}`)).status, 200)
  for (const answer of [await put({}), await send('DELETE', `/alert_rules/${id}${inProject}`)]) {
    assert.equal(answer.status, 404)
    assert.match(answer.json.reason, /^rule_id: there is no alert rule/)
  }
})

test('alert rules: what does not belong together is refused, and the field is named', async () => {
  const refused = async (fields: object) => {
    const answer = await post('/alert_rules', { project_id: project, name: 'x', on: 'call', ...fields })
    assert.ok([400, 422].includes(answer.status), `${answer.status} ${answer.text}`)
    return answer.json.reason as string
  }
  const window = { measure: 'error_rate', seconds: 300, above: 0.1 }
  for (const [fields, reason] of [
    [{ score: { below: 1 } }, /^score: .*rule on call.*accepted: filter, query/],
    [{ on: 'score', filter: { op_names: ['x'] } }, /^filter: .*rule on score/],
    [{ on: 'window' }, /^window: nothing/],
    [{ on: 'budget' }, /^budget: nothing/],
    [{ on: 'decision' }, /^decision: nothing/],
    [{ on: 'decision', decision: {} }, /decision: expected an answer, below or above/],
    [{ on: 'decision', decision: { question: 'rude' } }, /decision: expected an answer/],
    [{ on: 'decision', decision: { below: 0.1, above: 0.2 } }, /either below or above/],
    [{ on: 'decision', decision: { above: 1.1 } }, /decision.above/],
    [{ on: 'decision', decision: { above: 0.5 }, query: failed }, /^query: .*accepted: decision/],
    [{ on: 'queue' }, /^queue: nothing/],
    [{ on: 'queue', queue: { waiting: -1 } }, /queue.waiting/],
    [{ on: 'queue', queue: { waiting: 10_001 } }, /queue.waiting/],
    [{ queue: { waiting: 1 } }, /^queue: .*rule on call.*accepted: filter, query/],
    [{ budget: { share: 0.8 } }, /^budget: .*rule on call.*accepted: filter, query/],
    [{ on: 'budget', budget: { share: 0.8 }, filter: { op_names: ['x'] } }, /^filter: .*accepted: budget/],
    [{ on: 'budget', budget: { share: 1.5 } }, /budget.share/],
    [{ on: 'budget', budget: { share: 0 } }, /budget.share/],
    [{ on: 'budget', budget: { share: 0.8, id: 'b' } }, /\bid\b/],
    [{ on: 'window', window: { ...window, below: 1 } }, /either below or above/],
    [{ on: 'window', window: { ...window, scorer: 's' } }, /^window.scorer: .*score_avg only/],
    [{ on: 'window', window: { ...window, measure: 'score_avg' }, query: failed }, /^window.measure/],
    [{ query: { $expr: { $eq: [field('colour'), { $literal: 1 }] } } }, /colour/],
    [{ on: 'score', query: { $expr: { $eq: [field('op_name'), { $literal: 'x' }] } } }, /op_name/],
    [{ surprise: 1 }, /surprise/],
  ] as const) {
    assert.match(await refused(fields), reason)
  }
})

test('alert endpoints: secrets are shown once, and addresses of private networks are refused', async (t) => {
  await assertCommonRefusals(t, '/alert_endpoints', {
    project_id: project,
    name: 'x',
    url: 'https://example.com/',
  })
  const create = (fields: object) => post('/alert_endpoints', { project_id: project, name: 'ops', ...fields })
  const made = await create({ url: 'https://hooks.example.com/in?token=hidden', types: ['alert.fired'] })
  assert.equal(made.status, 200, made.text)
  assert.match(made.json.secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  const { id } = made.json.endpoint
  assert.equal(made.json.endpoint.url, 'https://hooks.example.com/in?…')
  const listed = await get(`/alert_endpoints${inProject}`)
  assert.deepEqual(listed.json, { endpoints: [made.json.endpoint] })
  assert.doesNotMatch(listed.text, /whsec_|hidden/)
  assert.equal((await get(`/alert_endpoints${inProject}`, keys.bob)).status, 403)

  const rotated = await post(`/alert_endpoints/${id}/rotate`, { project_id: project })
  assert.equal(rotated.status, 200, rotated.text)
  assert.notEqual(rotated.json.secret, made.json.secret)
  const put = (body: object) => send('PUT', `/alert_endpoints/${id}`, { project_id: project, ...body })
  assert.equal(
    (await put({ url: 'https://other.example.com/a' })).json.endpoint.url,
    'https://other.example.com/a',
  )
  assert.equal((await put({ active: false })).json.endpoint.active, false)
  assert.equal((await post(`/alert_endpoints/${id}/test`, { project_id: project })).status, 400)

  for (const url of [
    'http://example.com/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://0177.0.0.1/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://[::ffff:a9fe:a9fe]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[64:ff9b:1::7f00:1]/',
    // IPv4 behind a stateless translator (RFC 7915), by its older prefix.
    'https://[::ffff:0:7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://[fd00::1]/',
    'https://[4000::1]/',
    'https://127.0.0.1./',
    'https://127。0。0。1/',
    'https://169.254.169.254/latest',
    'https://user:pass@example.com/',
    'ftp://example.com/',
    'nowhere',
  ]) {
    const answer = await create({ url })
    assert.equal(answer.status, 400, `${url} ${answer.text}`)
    assert.match(answer.json.reason, /^url: /)
    assert.doesNotMatch(answer.text, /pass/)
  }
  for (const url of [
    'https://93.184.216.34/',
    'https://[2606:2800:220:1::1]/',
    'https://[::ffff:5db8:d822]/',
  ]) {
    const { status, text, json } = await create({ url })
    assert.equal(status, 200, text)
    await send('DELETE', `/alert_endpoints/${json.endpoint.id}${inProject}`)
  }
  assert.match((await create({ format: 'pagerduty' })).json.reason, /^routing_key: /)
  assert.match(
    (await create({ url: 'https://example.com/', routing_key: 'k' })).json.reason,
    /^routing_key: /,
  )
  const pager = await create({ format: 'pagerduty', routing_key: 'R0123456789' })
  assert.equal(pager.status, 200, pager.text)
  assert.doesNotMatch(pager.text, /R0123456789/)
  const move = (fields: object) =>
    send('PUT', `/alert_endpoints/${pager.json.endpoint.id}`, { project_id: project, ...fields })
  const elsewhere = { url: 'https://other.example.com/' }
  // The key that is stored would go there.
  assert.match((await move(elsewhere)).json.reason, /^routing_key: /)
  assert.equal((await move({ ...elsewhere, routing_key: 'R9876543210' })).status, 200)
  const slack = await create({ format: 'slack', url: 'https://hooks.slack.com/services/T/B/secret' })
  assert.equal(slack.json.endpoint.url, 'https://hooks.slack.com/…')
  for (const { id } of [made.json.endpoint, pager.json.endpoint, slack.json.endpoint]) {
    assert.equal((await send('DELETE', `/alert_endpoints/${id}${inProject}`)).status, 200)
  }
  for (const path of ['test', 'rotate', 'replay']) {
    const answer = await post(`/alert_endpoints/${id}/${path}`, { project_id: project })
    assert.equal(answer.status, 404)
    assert.match(answer.json.reason, /^endpoint_id: there is no alert endpoint/)
  }
})

const isoNow = () => new Date().toISOString()

function callOf(op_name: string, exception?: string) {
  const at = isoNow()
  return { ...completeOf(), op_name, started_at: at, ended_at: at, exception: exception ?? null }
}

test('alerts: a rule fires in the write that makes it true, once for each thing', async () => {
  const rule = async (fields: object) => {
    const made = await post('/alert_rules', { project_id: project, name: 'r', ...fields })
    assert.equal(made.status, 200, made.text)
    return made.json.rule.id as string
  }
  const events = async (rule_id: string) =>
    (await post('/alert_events/query', { project_id: project, rule_id })).json.events
  const upsert = (call: object) => post('/v2/acme/qa/calls/complete', { batch: [call] })

  const failures = await rule({ on: 'call', filter: { op_names: ['job'] }, query: failed })
  const texts = await rule({
    on: 'call',
    query: { $expr: { $contains: { input: field('exception'), substr: { $literal: 'Boom' } } } },
  })
  const bad = callOf('job', 'Boom: no')
  for (const call of [bad, bad, callOf('job'), callOf('other', 'Boom')]) {
    const answer = await upsert(call)
    assert.equal(answer.status, 200, answer.text)
  }
  const [fired, ...others] = await events(failures)
  assert.equal(others.length, 0)
  assert.equal(fired.type, 'alert.fired')
  assert.equal(fired.data.call_id, bad.id)
  assert.equal(fired.data.status, 'error')
  assert.deepEqual(fired.data.rule, { id: failures, name: 'r', severity: 'error' })
  assert.deepEqual(fired.deliveries, [])
  assert.equal((await events(texts)).length, 2)

  // The start and the end of a call arrive apart.
  const parts = callOf('job', 'Late')
  const { id, trace_id, ended_at, summary, output, exception, ...start } = parts
  const begun = await post('/call/start', { start: { ...start, id, trace_id } })
  assert.equal(begun.status, 200, begun.text)
  assert.equal((await events(failures)).length, 1)
  const ended = await post('/call/end', {
    end: { project_id: project, id, ended_at, summary, output, exception },
  })
  assert.equal(ended.status, 200, ended.text)
  assert.equal((await events(failures)).length, 2)

  const low = await rule({ on: 'score', score: { scorer: 'judge', path: 'score', below: 0.5 } })
  // As a judge with typed questions says it.
  const rude = await rule({ on: 'score', score: { path: 'rude.probability', above: 0.9 } })
  const notes = await rule({
    on: 'score',
    query: { $expr: { $eq: [field('feedback_type'), { $literal: 'wandb.note.1' }] } },
  })
  const feedback = async (feedback_type: string, payload: object) => {
    const answer = await post('/feedback/create', {
      project_id: project,
      weave_ref: `weave:///${project}/call/${id}`,
      feedback_type,
      payload,
      ...(feedback_type.startsWith('wandb.runnable') && {
        runnable_ref: `weave:///${project}/op/judge:${'a'.repeat(43)}`,
        call_ref: `weave:///${project}/call/${id}`,
      }),
    })
    assert.equal(answer.status, 200, answer.text)
    return answer.json.id as string
  }
  await feedback('wandb.runnable.judge', { output: { score: 0.9 } })
  const scored = await feedback('wandb.runnable.judge', { output: { score: 0.25 } })
  await feedback('wandb.runnable.judge', { output: { rude: { value: true, probability: 0.85 } } })
  await feedback('wandb.runnable.judge', { output: { rude: { value: true, probability: 0.93 } } })
  const noted = await feedback('wandb.note.1', { note: 'hm' })
  const [score, ...more] = await events(low)
  assert.equal(more.length, 0)
  assert.equal(score.data.feedback_id, scored)
  assert.equal(score.data.call_id, id)
  assert.equal(score.data.value, '0.25')
  assert.deepEqual(
    (await events(rude)).map(({ data }: { data: { value: string } }) => data.value),
    ['0.93'],
  )
  assert.deepEqual(
    (await events(notes)).map(({ data }: { data: { feedback_id: string } }) => data.feedback_id),
    [noted],
  )
})
