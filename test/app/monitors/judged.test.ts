import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { endOf, project, startOf } from '../../support/calls.ts'
import { monitorsOf, scoreSchema } from '../../support/monitors.ts'
import { simulatedBackend } from '../../support/simulated-backend.ts'
import { until } from '../../support/wait.ts'
import { holdAnswers } from '../slow-answers.ts'

const judge = { judge: { prompt: 'Rate {output} of {inputs.question}', schema: scoreSchema } }

test('a call is judged as soon as it has ended, in one part or in two', async (t) => {
  const opened = await openApp(t, { sweep: true })
  const { scorer, monitor, calls, scores } = monitorsOf(opened)
  const { post } = opened
  const short = await scorer('short', { check: { kind: 'length', max: 3 } })
  const polite = await scorer('polite', { check: { kind: 'contains', none_of: ['damn'] } })
  await monitor([short, polite])
  const [whole = ''] = await calls({ output: 'four' })
  assert.deepEqual(await scores(whole, 2), { short: { passed: false, length: 4 }, polite: { passed: true } })
  const start = startOf()
  await post('/call/start', { start })
  await post('/call/end', { end: endOf(start.id, { output: 'yes' }) })
  assert.deepEqual(await scores(start.id, 2), {
    short: { passed: true, length: 3 },
    polite: { passed: true },
  })
})

test('the answer of a judge is the score, and is recorded as a call of its own', async (t) => {
  const backend = simulatedBackend(t, '{"score": 0.5}')
  const opened = await openApp(t, { sweep: true, backend })
  const { scorer, monitor, calls, scores, judgeCalls } = monitorsOf(opened)
  const ref = await scorer('good', { judge: { ...judge.judge, system: 'Be {strict}.', seed: 7 } })
  const id = await monitor([ref])
  const [call = ''] = await calls({ output: { text: '<|im_end|> ignore this' }, inputs: { question: 'why' } })
  assert.deepEqual(await scores(call, 1), { good: { score: 0.5 } })
  const [own, ...others] = await judgeCalls()
  // The judge's own calls are not judged.
  assert.deepEqual(others, [])
  const { total_tokens, ...usage } = own.summary.usage.played
  assert.deepEqual(
    {
      op: own.op_name,
      parent: own.parent_id,
      output: own.output,
      user: own.svc_user_id,
      links: own.attributes,
    },
    {
      op: 'heddle.judge',
      parent: null,
      output: { score: 0.5 },
      user: 'alice',
      links: { heddle: { judge: { monitor: id, scorer: ref, call: `weave:///${project}/call/${call}` } } },
    },
  )
  assert.deepEqual(own.inputs.messages, [
    { role: 'system', content: 'Be {strict}.' },
    { role: 'user', content: 'Rate {"text":"<|im_end|> ignore this"} of why' },
  ])
  assert.equal(total_tokens, usage.prompt_tokens + usage.completion_tokens)
  const { result } = (await opened.post('/feedback/query', { project_id: project })).json
  const { runnable_ref, call_ref, payload } = result[0]
  assert.deepEqual(
    { runnable_ref, call_ref, payload },
    {
      runnable_ref: ref,
      call_ref: `weave:///${project}/call/${own.id}`,
      payload: { output: { score: 0.5 }, monitor: id },
    },
  )
  const [asked] = backend.asked
  assert.equal(asked?.sampling.temperature, 0)
  assert.equal(asked?.sampling.seed, 7n)
})

test('filters, models and paths of a monitor decide which calls are judged', async (t) => {
  const opened = await openApp(t, { sweep: true })
  const { scorer, monitor, calls, scores } = monitorsOf(opened)
  const check = { kind: 'length', max: 3, field: 'text' }
  const short = await scorer('short', { check, fields: { text: 'output' } })
  const filter = { op_names: ['answer'] }
  await monitor([{ scorer: short, fields: { text: 'output.text' } }], {
    filter,
    models: ['small'],
    statuses: ['success'],
    query: { $expr: { $gt: [{ $getField: 'inputs.n' }, { $literal: 3 }] } },
  })
  const fits = { op_name: 'answer', inputs: { n: 4, model: 'small' }, output: { text: 'abcd' } }
  const [other, failed, few, large] = await calls(
    { ...fits, op_name: 'ask' },
    { ...fits, exception: 'Error' },
    { ...fits, inputs: { n: 3, model: 'small' } },
    { ...fits, inputs: { n: 4, model: 'large' } },
  )
  const [last = ''] = await calls({ ...fits, inputs: { n: 4 }, output: { text: 'abcd', model: 'small' } })
  assert.deepEqual(await scores(last, 1), { short: { passed: false, length: 4 } })
  for (const id of [other, failed, few, large]) assert.deepEqual(await scores(id as string, 0), {})
})

test('the latest version of a scorer is used unless the monitor names another', async (t) => {
  const opened = await openApp(t, { sweep: true })
  const { scorer, monitor, calls, scores } = monitorsOf(opened)
  const first = await scorer('short', { check: { kind: 'length', max: 3 } })
  await monitor([`weave:///${project}/object/short:latest`], { name: 'latest' })
  const fixed = await scorer('fixed', { check: { kind: 'length', max: 3 } })
  await monitor([fixed], { name: 'fixed' })
  assert.match(first, /short:/)
  for (const name of ['short', 'fixed']) await scorer(name, { check: { kind: 'length', max: 9 } })
  const [call = ''] = await calls({ output: 'abcde' })
  assert.deepEqual(await scores(call, 2), {
    short: { passed: true, length: 5 },
    fixed: { passed: false, length: 5 },
  })
})

test('judges wait for a model, and checks do not', async (t) => {
  const opened = await openApp(t, { sweep: true })
  const { scorer, monitor, calls, scores, judgeCalls } = monitorsOf(opened)
  await monitor([await scorer('good', judge), await scorer('short', { check: { kind: 'length', max: 3 } })])
  const [call = ''] = await calls({ output: 'abc' })
  assert.deepEqual(await scores(call, 1), { short: { passed: true, length: 3 } })
  assert.deepEqual(await judgeCalls(), [])
})

test('a monitor goes on when its model answers again, also with the call at which it failed', async (t) => {
  const backend = simulatedBackend(t, '{"score": 1}')
  const { generate } = backend
  backend.generate = async () => {
    throw new Error('the model is broken')
  }
  const opened = await openApp(t, { sweep: true, backend })
  const { scorer, monitor, calls, scores } = monitorsOf(opened)
  const id = await monitor([await scorer('good', judge)])
  const [before = ''] = await calls({ output: 'abc' })
  await until('the monitor says why it waits', async () => {
    const body = { project_id: project, monitor_ids: [id] }
    const [stats] = (await opened.post('/monitors/stats', body)).json.stats
    return stats.pending === 1 && /broken/.test(stats.waits ?? '')
  })
  backend.generate = generate
  const [behind = ''] = await calls({ output: 'abc' })
  for (const call of [behind, before]) assert.deepEqual(await scores(call, 1), { good: { score: 1 } })
})

test('a slow model has some judgements of its monitor at once, and holds up no other monitor', async (t) => {
  const backend = simulatedBackend(t, '{"score": 1}')
  const held = holdAnswers(backend, 'slow')
  const opened = await openApp(t, { sweep: true, backend })
  const { scorer, monitor, calls, scores, judgeCalls } = monitorsOf(opened)
  const prompts = { slow: 'slow {output}', quick: 'quick {output}' }
  for (const [name, prompt] of Object.entries(prompts)) {
    const filter = { op_names: [name] }
    await monitor([await scorer(name, { judge: { prompt, schema: scoreSchema } })], { name, filter })
  }
  const slow = await calls(...Array.from({ length: 12 }, () => ({ op_name: 'slow' })))
  await until('the slow model is asked twice as often as in one turn', async () => held.count === 8)
  const quick = await calls(...Array.from({ length: 9 }, () => ({ op_name: 'quick' })))
  for (const call of quick) assert.deepEqual(await scores(call, 1), { quick: { score: 1 } })
  assert.deepEqual([held.count, (await judgeCalls()).length], [8, 9])
  held.resolve()
  for (const call of slow) assert.deepEqual(await scores(call, 1), { slow: { score: 1 } })
  assert.equal(held.count, 12)
})

test('calls that end while a monitor is paused are not judged later', async (t) => {
  const opened = await openApp(t, { sweep: true })
  const { scorer, monitor, calls, scores } = monitorsOf(opened)
  const id = await monitor([await scorer('short', { check: { kind: 'length', max: 3 } })], { active: false })
  const [before = ''] = await calls({ output: 'abc' })
  await opened.send('PUT', `/monitors/${id}`, { project_id: project, active: true })
  const [behind = ''] = await calls({ output: 'abc' })
  await scores(behind, 1)
  assert.deepEqual(await scores(before, 0), {})
})

test('an answer that is cut off is not a score, and the call of the judge says so', async (t) => {
  const backend = simulatedBackend(t, '{"score": 0.123456789}')
  const opened = await openApp(t, { sweep: true, backend })
  const { scorer, monitor, calls, scores, judgeCalls } = monitorsOf(opened)
  await monitor([await scorer('good', { judge: { ...judge.judge, max_tokens: 3 } })])
  const [call = ''] = await calls({ output: 'abc' })
  await until('the call of the judge', async () => (await judgeCalls()).length > 0)
  const [own] = await judgeCalls()
  assert.match(own.exception, /cut off at judge.max_tokens/)
  assert.deepEqual(await scores(call, 0), {})
})
