import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Generation } from '../../../packages/engine/index.ts'
import { openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { root } from '../../support/evaluation-runs.ts'
import { monitorsOf, scoreSchema } from '../../support/monitors.ts'
import { promptTokensOf, scriptedBackend, scriptOf } from '../../support/scripted-backend.ts'
import { until } from '../../support/wait.ts'
import { deciding } from '../decisions/deciding.ts'

/** Yes with 0.75 of 0.8, but with 0.25 of an input that thanks; A, B and the levels by their letters. */
const shares = { A: 0.2, B: 0.6, '0': 0.1, '1': 0.1, '2': 0.2 }
const backend = () =>
  scriptedBackend(
    deciding((prompt) => ({
      ...shares,
      ...(prompt.includes('thanks') ? { Y: 0.2, N: 0.6 } : { Y: 0.6, N: 0.2 }),
    })),
  )

const rude = { type: 'predicate', name: 'rude', instructions: 'Is it rude?' }
const topic = {
  type: 'choice',
  name: 'topic',
  instructions: 'Which topic?',
  choices: [{ value: 'a' }, { value: true }],
}
const good = {
  type: 'score',
  name: 'good',
  instructions: 'How good?',
  levels: [{ label: 'bad' }, { label: 'fair' }, { label: 'good' }],
}
const judge = { prompt: '{output}', system: 'Be strict.', questions: [rude, topic, good] }

const near = (actual: number, expected: number) =>
  assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`)

test('a monitor asks all questions of a judge about a call, and the score has each with its probability', async (t) => {
  const model = backend()
  const opened = await openApp(t, { sweep: true, backend: model })
  const { scorer, monitor, calls, scores, judgeCalls } = monitorsOf(opened)
  const ref = await scorer('manners', { judge })
  const id = await monitor([ref], { token_budget: 100_000 })
  const [call = ''] = await calls({ output: 'Get lost.' })
  // biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
  const { manners }: any = await scores(call, 1)
  assert.deepEqual(Object.keys(manners), ['rude', 'topic', 'good'])
  assert.equal(manners.rude.value, true)
  near(manners.rude.probability, 0.75)
  assert.equal(manners.topic.value, true)
  near(manners.topic.probability, 0.75)
  near(manners.good.value, 1.25)
  assert.equal(manners.good.level, 'good')
  near(manners.good.probability, 0.5)
  assert.equal(manners.good.probabilities.length, 3)
  assert.equal(model.asked.length, 3)
  for (const { lane, ending } of model.asked) assert.deepEqual([lane, ending.maxTokens], ['background', 1])

  const [own] = await judgeCalls()
  assert.deepEqual(own.output, manners)
  assert.deepEqual(own.inputs.input, [
    { role: 'system', content: 'Be strict.' },
    { role: 'user', content: 'Get lost.' },
  ])
  assert.deepEqual(own.inputs.questions, judge.questions)
  assert.equal(own.summary.usage.scripted.completion_tokens, 0)
  const { decisions } = own.attributes.heddle
  assert.equal(decisions.model, 'scripted')
  near(decisions.questions.rude.label_mass, 0.8)

  const { result } = (await opened.post('/feedback/query', { project_id: project })).json
  assert.deepEqual(result[0].payload, { output: manners, monitor: id, decisions })
  const { stats } = (await opened.post('/monitors/stats', { project_id: project, monitor_ids: [id] })).json
  const paths = stats[0].scores.map(({ path }: { path: string }) => path)
  assert.deepEqual(paths, [
    'rude.value',
    'rude.probability',
    'topic.value',
    'topic.probability',
    'good.value',
    'good.probability',
  ])
  assert.equal(stats[0].tokens_today, own.summary.usage.scripted.total_tokens)
})

test('a digest changes with the wording, the options, the settings and the system, and with nothing else', async (t) => {
  const opened = await openApp(t, { sweep: true, backend: backend() })
  const { scorer, monitor, calls, judgeCalls } = monitorsOf(opened)
  const variants = {
    plain: judge,
    threshold: { ...judge, questions: [{ ...rude, threshold: 0.9 }] },
    wording: { ...judge, questions: [{ ...rude, instructions: 'Is it impolite?' }] },
    options: { ...judge, questions: [topic] },
    turned: { ...judge, questions: [{ ...topic, choices: topic.choices.toReversed() }] },
    orders: { ...judge, questions: [topic], orders: 2 },
    lax: { ...judge, system: 'Be lax.' },
    prompt: { ...judge, prompt: 'Answer: {output}' },
  }
  const refs: string[] = []
  for (const [name, judge] of Object.entries(variants)) refs.push(await scorer(name, { judge }))
  await monitor(refs)
  await calls({ output: 'Get lost.' })
  await until('all are judged', async () => (await judgeCalls()).length === refs.length)
  const own = Object.fromEntries(
    (await judgeCalls()).map((call) => [call.display_name, call.attributes.heddle.decisions]),
  )
  const digest = (name: string, question: string) => own[name].questions[question].digest
  assert.equal(digest('threshold', 'rude'), digest('plain', 'rude'))
  assert.equal(digest('options', 'topic'), digest('plain', 'topic'))
  assert.equal(digest('prompt', 'rude'), digest('plain', 'rude'))
  assert.notEqual(own.prompt.prompt, own.plain.prompt)
  const different = [digest('plain', 'rude'), digest('wording', 'rude'), digest('lax', 'rude')]
  different.push(...['plain', 'turned', 'orders'].map((name) => digest(name, 'topic')))
  assert.equal(new Set(different).size, different.length)
})

test('a rule of a queue picks calls by the probability of one question', async (t) => {
  const opened = await openApp(t, { sweep: true, backend: backend() })
  const { scorer, monitor, calls } = monitorsOf(opened)
  const { post } = opened
  const made = await post('/annotation_queues', {
    project_id: project,
    name: 'rude',
    scorer_refs: [],
    description: '',
  })
  assert.equal(made.status, 200, made.text)
  const queue = made.json.id
  const rule = await post(`/annotation_queues/${queue}/rules`, {
    project_id: project,
    pick: { kind: 'scores', scorer: 'manners', path: 'rude.probability', above: 0.5 },
  })
  assert.equal(rule.status, 200, rule.text)
  await monitor([await scorer('manners', { judge })])
  const [call = ''] = await calls({ output: 'Get lost.' }, { output: 'Many thanks.' })
  // biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
  let items: any[] = []
  await until('the call is in the queue', async () => {
    items = (await post(`/annotation_queues/${queue}/items/query`, { project_id: project })).json.items
    return items.length > 0
  })
  assert.deepEqual(
    items.map(({ call_id }) => call_id),
    [call],
  )
})

test('an evaluation run scores each answer by its questions', async (t) => {
  const opened = await openApp(t, { sweep: true, backend: backend() })
  const { post, get } = opened
  await post(`${root}/datasets`, { name: 'lines', rows: [{ line: 'Get lost.' }, { line: 'Hello.' }] })
  const ref = await monitorsOf(opened).scorer('manners', {
    judge: { ...judge, prompt: '{inputs.line} {output}' },
  })
  const started = await post(`${root}/evaluation_runs/serve`, {
    name: 'quality',
    dataset: `weave:///${project}/object/lines:latest`,
    prompt: 'Answer: {line}',
    settings: [{ name: 'plain' }],
    scorers: [{ scorer: ref }],
  })
  assert.equal(started.status, 200, started.text)
  const [run] = started.json.evaluation_run_ids
  await until(
    'the run has ended',
    async () => (await get(`${root}/evaluation_runs/${run}`)).json.status !== 'running',
  )
  const { json } = await post('/evaluations/status', { project_id: project, call_id: run })
  const { rude: rudeness, good: quality } = json.status.output.manners
  assert.deepEqual(rudeness.value, { mean: 1 })
  near(rudeness.probability.mean, 0.75)
  near(quality.value.mean, 1.25)
})

test('a question below the floor has no value, and a threshold decides which value a predicate has', async (t) => {
  const opened = await openApp(t, { backend: backend() })
  const [call] = await monitorsOf(opened).calls({ output: 'Get lost.' })
  const attempt = async (fields: object) => {
    const answer = await opened.post(`${root}/scorers/try`, {
      judge: { ...judge, ...fields },
      call_ids: [call],
    })
    assert.equal(answer.status, 200, answer.text)
    return answer.json.results[0].output
  }
  const floored = await attempt({ min_label_mass: 0.5 })
  assert.equal(floored.rude.value, true)
  assert.deepEqual(floored.good, { value: null, probability: null })
  const strict = await attempt({ questions: [{ ...rude, threshold: 0.9 }] })
  assert.equal(strict.rude.value, false)
  near(strict.rude.probability, 0.75)
})

test('the reason is written after the decision, from the same beginning, and changes nothing of it', async (t) => {
  const decided = deciding(() => ({ ...shares, Y: 0.6, N: 0.2 }))
  const written: Generation[] = []
  const model = scriptedBackend((request, signal) => {
    if (request.ending.maxTokens === 1) return decided(request, signal)
    written.push(request)
    return scriptOf(' It ', 'insults. ')(request, signal)
  })
  const opened = await openApp(t, { sweep: true, backend: model })
  const { scorer, monitor, calls, scores, judgeCalls } = monitorsOf(opened)
  const plain = await scorer('plain', { judge })
  const reasoned = await scorer('reasoned', { judge: { ...judge, reason: true, max_tokens: 80 } })
  await monitor([plain, reasoned])
  const [call = ''] = await calls({ output: 'Get lost.' })
  // biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
  const found: any = await scores(call, 2)
  assert.deepEqual(found.reasoned, { ...found.plain, reason: 'It insults.' })
  const [asked] = written
  assert.deepEqual([written.length, asked?.ending.maxTokens, asked?.lane], [1, 80, 'background'])
  const prompt = String.fromCodePoint(...promptTokensOf(asked ?? assert.fail()))
  const first = String.fromCodePoint(...promptTokensOf(model.asked[0] ?? assert.fail()))
  const beginning = first.slice(0, first.indexOf('Is it rude?'))
  assert.ok(beginning.endsWith('Get lost.\n---\n') && prompt.startsWith(beginning), prompt)
  assert.match(prompt, /yes\ntrue\ngood/)

  const own = Object.fromEntries((await judgeCalls()).map((one) => [one.display_name, one]))
  const of = (name: string) => own[name].attributes.heddle.decisions
  assert.deepEqual(of('reasoned'), of('plain'))
  assert.equal(own.reasoned.inputs.reason, true)
  const usage = (name: string) => own[name].summary.usage.scripted
  assert.deepEqual([usage('plain').completion_tokens, usage('reasoned').completion_tokens], [0, 13])
  assert.equal(usage('reasoned').prompt_tokens, usage('plain').prompt_tokens + prompt.length)
})

test('questions that cannot be asked are refused by the name of their field', async (t) => {
  const { post } = await openApp(t, { backend: backend() })
  const cases: [object, RegExp][] = [
    [{ questions: undefined }, /^judge.questions: nothing; accepted: this or judge.schema/],
    [{ schema: scoreSchema }, /^judge.questions: a value together with judge.schema/],
    [{ temperature: 1 }, /^judge.temperature: 1; accepted: nothing with judge.questions/],
    [{ max_tokens: 9 }, /^judge.max_tokens: 9/],
    [{ reason: false, seed: 9 }, /^judge.seed: 9; accepted: nothing .* without judge.reason/],
    [{ questions: undefined, schema: scoreSchema, reason: true }, /^judge.reason: true; accepted: nothing/],
    [
      { reason: true, questions: [{ ...rude, name: 'reason' }] },
      /^judge.questions.0.name: "reason"; accepted: another name/,
    ],
    [{ questions: undefined, schema: scoreSchema, orders: 2 }, /^judge.orders: 2; accepted: nothing without/],
    [{ questions: [rude, rude] }, /^judge.questions.1.name: "rude"; accepted: different names/],
    [{ questions: [{ ...good, threshold: 0.5 }] }, /^judge.questions.0.threshold: given for a score/],
    [{ questions: [{ ...topic, choices: [{ value: 'a' }] }] }, /^judge.questions.0.choices: 1 entries/],
    [
      { questions: [{ ...rude, choices: topic.choices }] },
      /^judge.questions.0.choices: given for a predicate/,
    ],
  ]
  for (const [fields, reason] of cases) {
    const { status, json } = await post(`${root}/scorers`, { name: 'wrong', judge: { ...judge, ...fields } })
    assert.equal(status, 400)
    assert.match(json.reason, reason)
  }
})
