import assert from 'node:assert/strict'
import { agentAttributes } from '../support/agents.ts'
import type { TestApp } from '../support/app.ts'
import { keys } from '../support/app.ts'
import { completeOf, project } from '../support/calls.ts'
import { comparedRuns, runId } from '../support/compared-runs.ts'
import { createSpec, giveFeedback } from '../support/feedback.ts'
import { monitorsOf, scoreSchema } from '../support/monitors.ts'
import { classValue, create } from '../support/objects.ts'
import { chatCall, idOf, traceCalls } from '../support/page-app.ts'
import { pricesOf } from '../support/prices.ts'
import { createQueue } from '../support/queues.ts'

/** Long enough to be in the way, as names that programs write are. */
const prompt = 'support-greeting-for-customers-in-two-languages'
const dataset = 'capitals-of-every-country-with-their-spellings'
const question = 'What is the capital of Burkina Faso, and how is its name spelled in French?'

type Writer = Pick<TestApp, 'post' | 'send'>

/** Fills the project with what each screen shows, and returns the paths of all screens. */
export async function fillEveryScreen(app: Writer): Promise<string[]> {
  const ok = async (url: string, body: object, key: string = keys.alice) => {
    const { status, json, text } = await app.post(url, body, key)
    assert.equal(status, 200, `${url}: ${text}`)
    return json
  }
  await writeCallsOfEachKind(ok)
  const queue = await fillReview(app, ok)
  const monitor = await fillQuality(app, ok)
  await fillSettings(ok)
  await fillPeople(ok)
  const at = `/ui/${project}`
  return [
    ...['/ui/', '/ui/engine', `/ui/play?p=${encodeURIComponent(project)}`, '/ui/me'],
    ...['', '/invitations', '/budgets', '/audit'].map((list) => `/ui/people${list}`),
    ...[`${at}/calls`, `${at}/calls?peek=${idOf('chat', 1)}`],
    `${at}/trace/${idOf('trace', 20)}?call=${idOf('search', 20)}`,
    ...[`${at}/call/${idOf('chat', 2)}`, `${at}/trace/unknown`, `${at}/calibrations/unknown`],
    ...[`${at}/conversations`, `${at}/conversation?thread=visit-1`],
    ...[`${at}/agents?range=all`, `${at}/agent?agent=weaver&range=all`],
    ...[`${at}/search`, `${at}/search?q=capital`, `${at}/charts?range=1y`],
    ...[`${at}/evals`, `${at}/evals/new`, `${at}/evals/new?runs=${runId(0)}`],
    `${at}/evals/compare?ids=${runId(0)},${runId(1)},${runId(2)}`,
    ...[`${at}/judges`, `${at}/judges/new`],
    ...[`${at}/monitors`, `${at}/monitors?new=short`, `${at}/monitors/${monitor}`, `${at}/datasets`],
    ...[`${at}/queues`, `${at}/queues/${queue}`, `${at}/queues/${queue}/review`],
    ...[`${at}/prompts`, `${at}/prompts/${prompt}`],
    ...[`${at}/objects`, `${at}/data/${dataset}`, `${at}/data/settings`],
    ...[`${at}/alerts`, `${at}/alerts?new=-`, `${at}/alerts/endpoints`, `${at}/alerts/deliveries`],
    `${at}/prices`,
  ]
}

type Ok = (url: string, body: object, key?: string) => Promise<Record<string, never>>

async function writeCallsOfEachKind(ok: Ok): Promise<void> {
  const batch = [
    ...Array.from({ length: 20 }, (_, n) =>
      chatCall(n, n % 3 === 0 ? question : `What is ${n} times ${n}?`, `It is **${n * n}**.`, {
        ...(n % 4 === 0 && { thread_id: `visit-${n % 3}`, turn_id: `turn-${n}` }),
        ...(n === 2 && { thread_id: 'visit'.repeat(40) }),
        ...(n === 7 && { exception: 'TimeoutError: the model did not answer within 30 s', output: null }),
      }),
    ),
    ...traceCalls(20),
    completeOf({
      ...{ op_name: 'answer_customers_of_the_support_desk', thread_id: 'visit-1' },
      attributes: agentAttributes('weaver', '1'),
      ...{ inputs: { question }, output: 'Ouagadougou.' },
    }),
  ]
  await ok(`/v2/${project}/calls/complete`, { batch })
  await ok('/cost/create', pricesOf({ builtin: {}, 'a-model-with-a-long-name-2026-01-02': {} }))
}

async function fillReview(app: Writer, ok: Ok): Promise<string> {
  const tone = await createSpec(app.post, 'tone', { type: 'string', enum: ['kind', 'neutral', 'rude'] })
  const queue = await createQueue(app.post, {
    ...{ name: 'Hard questions about capitals and their spelling', scorer_refs: [tone] },
    description: 'Judge the tone of the answer, not whether it is true.',
  })
  const call_ids = [0, 1, 2, 3, 7].map((index) => idOf('chat', index))
  await ok(`/annotation_queues/${queue}/items`, { project_id: project, call_ids, display_fields: ['output'] })
  for (const [index, emoji] of ['👍', '👎'].entries()) {
    const svc_ref = `weave:///${project}/call/${idOf('chat', index === 0 ? 1 : 4)}`
    await giveFeedback(app.post, { svc_ref, feedback_type: 'wandb.reaction.1', payload: { emoji } })
    await giveFeedback(app.post, { svc_ref, feedback_type: 'wandb.note.1', payload: { note: question } })
  }
  return queue
}

async function fillQuality(app: Writer, ok: Ok): Promise<string> {
  const rows = Array.from({ length: 8 }, (_, id) => ({
    id,
    question,
    answer: 'Ouagadougou',
    tokens: id * 31,
  }))
  await ok(`/v2/${project}/datasets`, { name: dataset, rows })
  await ok(`/v2/${project}/calls/complete`, { batch: comparedRuns({ runs: 4, rows: 8 }) })
  const { scorer, monitor } = monitorsOf(app)
  const judge = { prompt: 'Does {output} name a source?', schema: scoreSchema }
  await scorer('says_whether_the_answer_names_its_source', { judge })
  const short = await scorer('short', { check: { kind: 'length', max: 20 } })
  const content = (text: string) => classValue('StringPrompt', { content: text }, ['Prompt'])
  await create(app, prompt, content('Greet {customer} in a word.'))
  const digest = await create(app, prompt, content('Greet {customer} in a sentence, and ask what they need.'))
  const aliases = { project_id: project, digest, aliases: ['production'] }
  assert.equal((await app.send('PUT', `/objs/${prompt}/aliases`, aliases)).status, 200)
  await create(app, 'settings', { name: 'settings', temperature: 0.2, stop: ['###'] })
  return monitor([short], { name: 'Answers that are too long for a phone' })
}

async function fillSettings(ok: Ok): Promise<void> {
  const rule = { project_id: project, name: 'Refunds that failed in the shop', on: 'call' }
  await ok('/alert_rules', { ...rule, filter: { op_names: ['refund'] } })
  const url = 'https://hooks.example.com/services/of/the/support/desk'
  await ok('/alert_endpoints', { project_id: project, name: 'Support desk', url, types: ['alert.fired'] })
}

async function fillPeople(ok: Ok): Promise<void> {
  for (const [name, role] of [
    ['erin', 'viewer'],
    ['a-program-of-the-support-desk', 'annotator'],
  ])
    await ok('/users', { name, grants: [{ scope: project, role }] }, keys.root)
  await ok('/invitations', { grants: [{ scope: project, role: 'viewer' }], note: 'Frank' }, keys.root)
  await ok('/budgets', { scope: 'server', window: 'day', amount: '1' }, keys.root)
}
