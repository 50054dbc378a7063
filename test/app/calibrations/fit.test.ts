import assert from 'node:assert/strict'
import { test } from 'node:test'
import { calibrated } from '../../../src/domain/statistics/calibration.ts'
import { seededNumbers } from '../../../src/domain/statistics/intervals.ts'
import { basic, keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { createSpec } from '../../support/feedback.ts'
import { monitorsOf } from '../../support/monitors.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'
import { until } from '../../support/wait.ts'
import { deciding } from '../decisions/deciding.ts'
import { judge, rude, topic, url, withDecidedCalls } from './decided-calls.ts'

const asked = { scorer: 'manners', question: 'rude', labels: { annotation: 'verdict' } }
const near = (actual: number, expected: number, within = 1e-9) =>
  assert.ok(Math.abs(actual - expected) <= within, `${actual} is not ${expected}`)

for (const [what, fields] of [
  ['of one thread', { thread_id: 'one' }],
  ['with equal texts', { output: 'Hi' }],
] as const) {
  test(`calls ${what} do not vouch for a map that was fitted to others of them`, async (t) => {
    const { post, label, decided } = await withDecidedCalls(t, 100, fields)
    await label(decided.map(({ id, isRude }) => ({ id, value: isRude })))
    const { status, json, text } = await post(`${url}/report`, asked)
    assert.equal(status, 200, text)
    assert.deepEqual([json.labels, json.helps], [100, false])
    near(json.gain.value, 0)
  })
}

test('a choice is calibrated with a shift of each option that has labels, also where it is asked', async (t) => {
  const { post, label, decided, app } = await withDecidedCalls(t, 200)
  const next = seededNumbers(5)
  const labels = decided.map(({ id, topic: shares }) => {
    const [law = 0, other = 0] = calibrated({ a: 1, b: 2, shifts: [2, 0, -2] }, shares)
    const drawn = next()
    return { id, value: drawn < law ? 'law' : drawn < law + other ? 'other' : true }
  })
  await label(labels)
  const { json, text } = await post(url, { ...asked, question: 'topic' })
  const { a, b, shifts } = json.map
  assert.equal(json.helps, true, text)
  assert.equal(b, shifts[0])
  near(shifts[0] - shifts[1], 2, 1)
  const response = await app.inject({
    ...{ method: 'POST', url: '/v1/decisions' },
    headers: { authorization: basic(keys.alice), 'x-heddle-project': project },
    payload: { input: 'Get lost.', questions: [{ ...topic, calibration: json.calibration }] },
  })
  const [{ probabilities, calibrated: moved }] = response.json().answers
  const raw = probabilities.map(({ probability }: { probability: number }) => probability)
  for (const [option, share] of calibrated({ a, b, shifts }, raw).entries()) near(moved[option], share)
})

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

test('decisions whose probabilities do not add up to 1 are no evidence, and are counted', async (t) => {
  const { post, decided, decisions, ref } = await withDecidedCalls(t, 4)
  const about = { ...asked, question: 'topic' }
  const { json: before } = await post(`${url}/report`, about)
  assert.deepEqual([before.decisions, before.improbable], [5, 0])
  const write = async (id: string | undefined, probabilities: number[]) => {
    const { status, text } = await post('/feedback/create', {
      project_id: project,
      weave_ref: `weave:///${project}/call/${id}`,
      feedback_type: 'wandb.runnable.manners',
      runnable_ref: ref,
      payload: { output: { topic: { value: 'law', probabilities } }, decisions },
    })
    assert.equal(status, 200, text)
  }
  await write(decided[0]?.id, [0.9, 0.9, 0.9])
  await write(decided[1]?.id, [0.5, 0.5])
  await write(decided[2]?.id, [0.333, 0.333, 0.333])
  const { json: after } = await post(`${url}/report`, about)
  assert.deepEqual([after.decisions, after.improbable], [3, 2])
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

  const send = async (path: string, payload: object) => {
    const headers = { authorization: basic(keys.alice), 'x-heddle-project': project }
    const response = await opened.app.inject({ method: 'POST', url: path, headers, payload })
    return { status: response.statusCode, json: response.json(), text: response.body }
  }
  const decide = (question: object) =>
    send('/v1/decisions', { input: 'Get lost.', questions: [question, topic] })
  const asksItself = { ...rude, calibration: ref }
  const decision = await decide(asksItself)
  assert.equal(decision.status, 200, decision.text)
  near(decision.json.answers[0].probability, 0.75)
  near(decision.json.answers[0].calibrated, expected)
  assert.equal('calibrated' in decision.json.answers[1], false)
  assert.deepEqual(
    decision.json.diagnostics.map(({ calibration }: { calibration?: string }) => calibration),
    [ref, undefined],
  )
  const other = (await decide({ ...asksItself, instructions: 'Is it?' })).json
  assert.deepEqual([other.answers[0].calibrated, other.diagnostics[0].calibration], [null, null])

  // System One asks the same question, and a label names the version that it has led to.
  const about = (instructions: string, calibration: unknown) => ({
    state: 'Get lost.',
    questions: {
      rude: { type: 'noul', instructions, calibration },
      topic: { type: 'choice', criteria: { law: null, other: null }, calibration },
      level: { type: 'score', criteria: ['bad', 'good'] },
    },
  })
  const latest = ref.replace(/:[^:]*$/, ':latest')
  const { json: stated, text } = await send('/v1/systemone', about(rude.instructions, latest))
  near(stated.answers.rude.noul, 0.75)
  near(stated.answers.rude.calibrated, expected)
  assert.equal(stated.answers.topic.calibrated, null, text)
  assert.equal('calibrated' in stated.answers.level, false)
  assert.deepEqual(
    ['rude', 'topic', 'level'].map((id) => stated.diagnostics[id].calibration),
    [ref, null, undefined],
  )
  for (const calibration of [7, 'mine', '']) {
    const refused = await send('/v1/systemone', about(rude.instructions, calibration))
    assert.deepEqual([refused.status, refused.json.error.param], [400, 'questions.rude.calibration'])
  }
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
  const val = { _type: 'Calibration', _class_name: 'Calibration', _bases: ['Object', 'BaseModel'] }
  const boundless = { ...val, question: 'q', prompt: 'p', a: 1e308, b: 0 }
  const stored = await post('/obj/create', {
    obj: { project_id: project, object_id: 'boundless', val: boundless },
  })
  assert.equal(stored.status, 200, stored.text)
  for (const calibration of [
    ref,
    `weave:///${project}/object/boundless:latest`,
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

test('labels are what rows of an evaluation expect of its predictions, and reactions; the source counts', async (t) => {
  const weights = { Y: 0.6, N: 0.2, A: 0.2, B: 0.5, C: 0.1 }
  const opened = await openApp(t, { sweep: true, backend: scriptedBackend(deciding(() => weights)) })
  const { post, get } = opened
  const ref = await monitorsOf(opened).scorer('manners', { judge })
  const row = (n: number) => ({ question: `${n}?`, rude: n < 4, mood: { said: n < 2 ? 'yes' : 'no' } })
  const rows = Array.from({ length: 6 }, (_, n) => ({ ...row(n), ...(n < 5 && { topic: 'law' }) }))
  const root = `/v2/${project}`
  assert.equal((await post(`${root}/datasets`, { name: 'lines', rows })).status, 200)
  const served = await post(`${root}/evaluation_runs/serve`, {
    ...{ name: 'served', dataset: `weave:///${project}/object/lines:latest`, prompt: '{question}' },
    ...{ settings: [{ name: 'plain' }], scorers: [{ scorer: ref }] },
  })
  assert.equal(served.status, 200, served.text)
  const [run] = served.json.evaluation_run_ids
  await until(
    'the run has ended',
    async () => (await get(`${root}/evaluation_runs/${run}`)).json.status !== 'running',
  )
  const report = async (labels: object, question = 'rude', path = '/report') => {
    const { status, json, text } = await post(`${url}${path}`, { scorer: 'manners', question, labels })
    assert.equal(status, 200, text)
    const { decisions, sources, disputed, unusable } = json
    return {
      json,
      counts: [decisions, sources.annotation, sources.expected, sources.feedback, disputed, unusable],
    }
  }
  const expected = { evaluation_run_ids: [run], column: 'rude' }
  const agreed = await report({ expected }, 'rude', '/agreement')
  assert.deepEqual(agreed.counts, [6, 0, 6, 0, 0, 0])
  assert.deepEqual([agreed.json.precision.count, agreed.json.precision.of, agreed.json.humans], [4, 6, null])
  const moods = { expected: { ...expected, column: 'mood.said', positive: ['yes'] } }
  assert.equal((await report(moods, 'rude', '/agreement')).json.precision.count, 2)
  // The last row has no topic; of a column that no row has nothing is a label.
  const topics = { expected: { ...expected, column: 'topic' } }
  assert.deepEqual((await report(topics, 'topic')).counts, [6, 0, 5, 0, 0, 1])
  assert.deepEqual((await report({ expected: { ...expected, column: 'no' } })).counts, [6, 0, 0, 0, 0, 6])

  const calls: string[] = (await report({ expected: { ...expected, column: 'no' } })).json.review
  const give = async (n: number, feedback: object, key?: string) => {
    const about = { project_id: project, weave_ref: `weave:///${project}/call/${calls[n]}` }
    const { status, text } = await post('/feedback/create', { ...about, ...feedback }, key)
    assert.equal(status, 200, text)
  }
  const thumb = (emoji: string) => ({ feedback_type: 'wandb.reaction.1', payload: { emoji } })
  await give(0, thumb('👍🏽'))
  await give(1, thumb('👎'))
  await give(2, thumb('🎉'))
  await give(3, thumb('👍'))
  await give(3, thumb('👎'), keys.root)
  const feedback = { type: 'wandb.reaction.1' }
  const thumbs = await report({ feedback }, 'rude', '/agreement')
  assert.deepEqual(thumbs.counts, [6, 0, 0, 2, 1, 1])
  assert.deepEqual([thumbs.json.precision.count, thumbs.json.precision.of], [1, 2])
  assert.deepEqual((await report({ feedback: { ...feedback, positive: ['👎'] } })).counts, [6, 0, 0, 3, 1, 0])
  await give(4, { feedback_type: 'support.ticket', payload: { about: { topic: 'other' } } })
  const tickets = { feedback: { type: 'support.ticket', path: 'about.topic' } }
  assert.deepEqual((await report(tickets, 'topic')).counts, [6, 0, 0, 1, 0, 0])
  const annotation_ref = await createSpec(post, 'verdict', {})
  await give(0, { feedback_type: 'wandb.annotation.verdict', annotation_ref, payload: { value: false } })
  const all = { annotation: 'verdict', ...topics, feedback }
  assert.deepEqual((await report({ ...all, expected })).counts, [6, 1, 5, 0, 0, 1])

  for (const [labels, reason] of [
    [{}, /^labels: no source of labels/],
    [{ path: 'a', feedback }, /^labels.path: given without/],
    [{ feedback: { type: 'support.ticket' } }, /^labels.feedback.path: nothing/],
    [
      { feedback: { type: 'wandb.runnable.manners', path: 'output' } },
      /^labels.feedback.type: "wandb.runnable/,
    ],
    [{ expected: { ...expected, column: 'a.'.repeat(200) } }, /^labels.expected.column: /],
    [
      { expected: { ...expected, evaluation_run_ids: [run, 'no'] } },
      /^labels.expected.evaluation_run_ids.1: /,
    ],
  ] as const) {
    const { status, json } = await post(`${url}/report`, { scorer: 'manners', question: 'rude', labels })
    assert.ok(status === 400 || status === 404, JSON.stringify(labels))
    assert.match(json.reason, reason)
  }
  // A run of another tenant looks like one that is not there.
  const foreign = await post(
    `${url}/report`,
    { scorer: 'manners', question: 'rude', labels: { expected } },
    keys.bob,
  )
  assert.equal(foreign.status, 403)
})

test('a number is the level of that name before it is the index of one', async (t) => {
  const levels = ['1', '2', '3', '4', '5'].map((label) => ({ label }))
  const good = { type: 'score', name: 'good', instructions: 'How good?', levels }
  const opened = await openApp(t, { sweep: true, backend: scriptedBackend(deciding(() => ({ A: 1 }))) })
  const { post } = opened
  const { scorer, monitor, calls, scores } = monitorsOf(opened)
  await monitor([await scorer('grades', { judge: { prompt: '{output}', questions: [good] } })])
  const [call = ''] = await calls({ op_name: 'answer', output: 'Fine.' })
  await scores(call, 1)
  const annotation_ref = await createSpec(post, 'grade', {})
  await post('/feedback/create', {
    ...{ project_id: project, weave_ref: `weave:///${project}/call/${call}`, annotation_ref },
    ...{ feedback_type: 'wandb.annotation.grade', payload: { value: 3 } },
  })
  const labels = { annotation: 'grade' }
  const { json } = await post(`${url}/agreement`, { scorer: 'grades', question: 'good', labels })
  assert.deepEqual(
    json.confusion.map(({ human }: { human: string }) => human),
    ['3'],
  )
})
