import assert from 'node:assert/strict'
import { test } from 'node:test'
import { calibrated } from '../../../src/domain/statistics/calibration.ts'
import { basic, keys } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { monitorsOf } from '../../support/monitors.ts'
import { judge, rude, topic, url, withDecidedCalls } from './decided-calls.ts'

const asked = { scorer: 'manners', question: 'rude', labels: { annotation: 'verdict' } }
const near = (actual: number, expected: number, within = 1e-9) =>
  assert.ok(Math.abs(actual - expected) <= within, `${actual} is not ${expected}`)

test('without labels a report says how many are needed and which calls to review first', async (t) => {
  const { post, label, decided } = await withDecidedCalls(t, 60)
  const { status, json, text } = await post(`${url}/report`, asked)
  assert.equal(status, 200, text)
  assert.deepEqual(
    [json.decisions, json.labels, json.before, json.map, json.helps],
    [61, 0, null, null, false],
  )
  assert.match(json.why, /at least 20 more/)
  assert.equal(json.review.length, 10)
  assert.equal(new Set(json.review).size, 10)
  await label(json.review.map((id: string) => ({ id, value: true })))
  const after = (await post(`${url}/report`, asked)).json
  assert.deepEqual([after.labels, after.decisions], [10, 61])
  assert.match(after.why, /at least 10 more/)
  assert.ok(after.before.log_loss.low < after.before.log_loss.high)
  const again = new Set(json.review)
  assert.ok(after.review.every((id: string) => !again.has(id)))
  assert.ok(decided.some(({ id }) => id === after.review[0]))
})

test('a calibration is fitted, stored as a version, and given beside the probability only where it fits', async (t) => {
  const opened = await withDecidedCalls(t, 300)
  const { post, label, decided, example, decisions } = opened
  await label(decided.slice(0, 250).map(({ id, isRude }) => ({ id, value: isRude })))
  const tried = await post(url, { ...asked, dry_run: true })
  assert.equal(tried.status, 200, tried.text)
  assert.deepEqual([tried.json.calibration, tried.json.helps, tried.json.labels], [null, true, 250])
  assert.ok(tried.json.gain.low > 0.05)
  assert.ok(tried.json.after.log_loss.value < tried.json.before.log_loss.value)
  assert.ok(tried.json.after.ece.value < tried.json.before.ece.value)
  near(tried.json.map.a, 0.3, 0.12)
  near(tried.json.map.b, -1, 0.4)
  assert.equal((await post(`/objs/query`, { project_id: project })).text.includes('"Calibration"'), false)

  const fitted = (await post(url, { ...asked, name: 'rudeness' })).json
  const ref: string = fitted.calibration
  assert.match(ref, /^weave:\/\/\/acme\/qa\/object\/rudeness:/)
  assert.deepEqual({ ...fitted, calibration: null }, tried.json)
  // The same labels are the same version.
  assert.equal((await post(url, { ...asked, name: 'rudeness' })).json.calibration, ref)

  const [expected = 0] = calibrated(fitted.map, [0.75, 0.25])
  const attempt = async (question: object, fields: object = {}) => {
    const body = { judge: { ...judge, questions: [question], ...fields }, call_ids: [example] }
    const answer = await post(`/v2/${project}/scorers/try`, body)
    assert.equal(answer.status, 200, answer.text)
    return answer.json.results[0].output.rude
  }
  const named = { ...rude, calibration: ref }
  const applied = await attempt(named)
  near(applied.probability, 0.75)
  near(applied.calibrated, expected)
  assert.equal(applied.value, expected >= 0.5)
  assert.equal('calibrated' in (await attempt(rude)), false)
  // Another wording, another system or another prompt starts without.
  assert.equal((await attempt({ ...named, instructions: 'Is it impolite?' })).calibrated, null)
  assert.equal((await attempt(named, { system: 'Be lax.' })).calibrated, null)
  assert.equal((await attempt(named, { prompt: 'Say: {output}' })).calibrated, null)

  const { scorer, monitor, calls, scores } = monitorsOf(opened)
  await monitor([await scorer('gentle', { judge: { ...judge, questions: [named] } })])
  const [call = ''] = await calls({ op_name: 'answer', output: 'Get lost.' })
  // biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
  const { gentle }: any = await scores(call, 2)
  near(gentle.rude.calibrated, expected)
  const { result } = (await post('/feedback/query', { project_id: project })).json
  const own = result.find(({ feedback_type }: { feedback_type: string }) => feedback_type.endsWith('.gentle'))
  assert.equal(own.payload.decisions.questions.rude.digest, decisions.questions.rude.digest)

  const decide = async (question: object) => {
    const body = { input: 'Get lost.', questions: [question, topic] }
    const headers = { authorization: basic(keys.alice), 'x-heddle-project': project }
    const response = await opened.app.inject({ method: 'POST', url: '/v1/decisions', headers, payload: body })
    return { status: response.statusCode, json: response.json(), text: response.body }
  }
  const asksItself = { ...rude, calibration: ref }
  const decision = await decide(asksItself)
  assert.equal(decision.status, 200, decision.text)
  near(decision.json.answers[0].probability, 0.75)
  near(decision.json.answers[0].calibrated, expected)
  assert.equal('calibrated' in decision.json.answers[1], false)
  assert.equal((await decide({ ...asksItself, instructions: 'Is it?' })).json.answers[0].calibrated, null)
})

test('labels that show no gain store nothing, and those of other wordings do not count', async (t) => {
  const { post, label, decided } = await withDecidedCalls(t, 120)
  // The labels follow the probabilities: there is nothing to correct.
  await label(decided.map(({ id, yes }, n) => ({ id, value: yes > ((n * 7) % 120) / 120 })))
  const { json } = await post(url, { ...asked, name: 'needless' })
  assert.deepEqual([json.calibration, json.helps, json.labels], [null, false, 120])
  assert.match(json.why, /do not show/)
  // The opposite of what the model says: no slope could make use of it.
  await label(decided.map(({ id, yes }) => ({ id, value: yes < 0.5 })))
  const useless = (await post(url, { ...asked, name: 'useless' })).json
  assert.deepEqual([useless.calibration, useless.helps], [null, false])
  assert.match(useless.why, /say nothing about the labels/)
  const named = await post(url, { ...asked, digest: 'none' })
  assert.deepEqual([named.status, named.json.code], [400, 'invalid_value'])
  assert.match(named.json.reason, /^digest: "none"/)
})

test('labels are read from a path, as values that mean yes, as choices and as what most people said', async (t) => {
  const { post, label, decided } = await withDecidedCalls(t, 40)
  const report = async (fields: object) => {
    const { status, json, text } = await post(`${url}/report`, { ...asked, ...fields })
    assert.equal(status, 200, text)
    return json
  }
  await label(decided.map(({ id, isRude }) => ({ id, value: { mark: isRude ? 'fail' : 'pass' } })))
  const marked = await report({ labels: { annotation: 'verdict', path: 'mark', positive: ['fail'] } })
  assert.deepEqual([marked.labels, marked.unusable], [40, 0])
  assert.deepEqual((await report({})).unusable, 40)

  // Later labels of the same person replace earlier ones; a tie of two persons is no truth.
  await label(decided.map(({ id }, n) => ({ id, value: ['law', 'other', true][n % 3] })))
  const topics = { question: 'topic' }
  assert.deepEqual([(await report(topics)).labels, (await report(topics)).type], [40, 'choice'])
  await label([{ id: decided[0]?.id ?? '', value: 'other' }], keys.root)
  const disputed = await report(topics)
  assert.deepEqual([disputed.labels, disputed.disputed, disputed.decisions], [39, 1, 41])
})

test('a fit that names what does not exist, or another class, is refused by its field', async (t) => {
  await assertCommonRefusals(t, url, asked)
  const { post, ref } = await withDecidedCalls(t, 1)
  const cases: [object, RegExp][] = [
    [{ question: 'kind' }, /^question: "kind"/],
    [
      { question: 'topic', labels: { annotation: 'verdict', positive: ['x'] } },
      /^labels.positive: given for a choice/,
    ],
    [{ labels: { annotation: 'verdict', path: 'a.'.repeat(200) } }, /^labels.path: "a.a.*has 201 steps/],
  ]
  for (const [fields, reason] of cases) {
    const { status, json } = await post(url, { ...asked, ...fields })
    assert.equal(status, 400)
    assert.match(json.reason, reason)
  }
  const unknown = await post(url, { ...asked, scorer: 'nobody' })
  assert.deepEqual([unknown.status, unknown.json.code], [404, 'object_not_found'])
  for (const calibration of [
    ref,
    'rudeness',
    'weave:///acme/qa/object/nothing:latest',
    'weave:///globex/web/object/x:v0',
  ]) {
    const body = { name: 'wrong', judge: { ...judge, questions: [{ ...rude, calibration }] } }
    const { status, json } = await post(`/v2/${project}/scorers`, body)
    assert.ok(status === 400 || status === 404, String(status))
    assert.match(json.reason, /^judge.questions.0.calibration: /)
  }
})
