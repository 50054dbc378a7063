import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { keys } from '../support/app.ts'
import { noBrowser, type Page } from '../support/browser.ts'
import { completeOf, project } from '../support/calls.ts'
import { createSpec, giveFeedback } from '../support/feedback.ts'
import { monitorsOf } from '../support/monitors.ts'
import { classValue, create } from '../support/objects.ts'
import { pageTests, writeCalls } from '../support/page-app.ts'
import { simulatedBackend } from '../support/simulated-backend.ts'
import { assertAccessible, goNarrow, narrow } from './accessible.ts'

const skip = noBrowser

const backend = simulatedBackend({ after }, () => 'A city.')
const { served, open } = await pageTests(
  { after },
  {
    backend,
    async fill(app) {
      const messages = [{ role: 'system', content: 'You help {customer}.' }]
      const marked = classValue('MessagesPrompt', { messages }, ['Prompt'])
      await create(app, 'greeting', marked)
      await create(app, 'unmarked', { content: 'Say {one}.' })
      await create(app, 'no-prompt', { name: 'something else' })
      return {}
    },
  },
)

const prompts = `/ui/${project}/prompts`
const evaluation = `weave:///${project}/object/capitals:v0`

async function label(prompt: string, name = 'production') {
  const { status, json, text } = await served().get(
    `/objs/${prompt}/aliases/${name}/gate?project_id=${project}`,
  )
  assert.equal(status, 200, text)
  return json
}

const move = async (prompt: string, body: object) => {
  const url = `/objs/${prompt}/aliases/production/move`
  const { status, text } = await served().send('POST', url, { project_id: project, ...body })
  assert.equal(status, 200, text)
}

/** Two versions of a prompt, the first with the label, and their digests. */
async function twoVersions(prompt: string): Promise<[string, string]> {
  const first = await create(served(), prompt, { content: `${prompt}: answer {question} in a word.` })
  const second = await create(served(), prompt, { content: `${prompt}: answer {question} in a sentence.` })
  await move(prompt, { digest: first })
  return [first, second]
}

/** A finished run of the evaluation with a version: whether each row passes. */
async function run(prompt: string, version: string, passes: readonly boolean[], name: string) {
  const model = `weave:///${project}/object/${prompt}:${version}`
  const [id, at] = [
    randomUUID(),
    { started_at: new Date().toISOString(), ended_at: new Date().toISOString() },
  ]
  const root = {
    ...{ ...at, id, op_name: 'Evaluation.evaluate', display_name: name },
    ...{ inputs: { self: evaluation, model }, output: {} },
  }
  const trials = passes.map((exact, row) => ({
    ...{ ...at, id: randomUUID(), trace_id: id, parent_id: id, op_name: 'Evaluation.predict_and_score' },
    inputs: { self: evaluation, model, example: { row } },
    output: { output: 'x', scores: { exact }, model_latency: 0.25 },
  }))
  await writeCalls(served(), [root, ...trials].map(completeOf))
}

async function gate(prompt: string) {
  await create(served(), 'capitals', { name: 'capitals' })
  const conditions = [
    { field: 'scores.exact', min_rate: 0.9 },
    { field: 'scores.exact', no_row_lost: true },
    { max_latency_seconds: 2 },
  ]
  const body = { project_id: project, gate: { evaluation, conditions, min_rows: 20 } }
  const url = `/objs/${prompt}/aliases/production/gate`
  const { status, text } = await served().send('PUT', url, body, keys.root)
  assert.equal(status, 200, text)
}

const times = (count: number, value: boolean) => Array.from({ length: count }, () => value)
const promote = (page: Page) => page.getByRole('button', { name: 'Promote production' }).click()
const dialog = (page: Page) => page.getByRole('dialog')
const labelRow = (page: Page) => page.getByRole('region', { name: 'Labels' }).getByRole('row').nth(1)

test('prompts are listed with their labels, found by name, and opened', { skip }, async (t) => {
  await move('greeting', { digest: 'v0' })
  const { page, problems } = await open(t, `/ui/${project}/calls`)
  await page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: 'Prompts' }).click()
  await page.getByRole('row', { name: 'greeting v0 production v0' }).waitFor()
  await page.getByRole('link', { name: 'unmarked' }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'no-prompt' }).count(), 0)
  await page.getByLabel('Filter by name').fill('GREET')
  await page.getByRole('link', { name: 'unmarked' }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'greeting' }).click()
  await page.getByRole('heading', { name: 'greeting' }).waitFor()
  await page.locator('mark', { hasText: '{customer}' }).waitFor()
  assert.deepEqual(problems, [])
})

test('a new prompt is written, and a new version of it: messages, variables, settings', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, prompts)
  await page.getByRole('button', { name: 'New prompt' }).click()
  await page.getByLabel('Name', { exact: true }).fill('support')
  await page.getByLabel('Message 1', { exact: true }).fill('You help {customer} {count} times.')
  await page.getByRole('button', { name: 'Add message' }).click()
  await page.getByLabel('Message 2', { exact: true }).fill('messages')
  await page.getByLabel('Role of message 2').selectOption('placeholder')
  await page.getByLabel('Type of count').selectOption('integer')
  await page.getByLabel('Default of count').fill('often')
  await page.getByRole('button', { name: 'Save prompt' }).click()
  await page.getByText('variables.count.default: often; accepted: a whole number.').waitFor()
  await page.getByLabel('Default of count').fill('3')
  await page.getByRole('button', { name: 'Save prompt' }).click()
  await page.getByRole('heading', { name: 'support' }).waitFor()
  await page.getByRole('button', { name: 'New version' }).click()
  await page.getByRole('button', { name: 'Add message' }).click()
  await page.getByLabel('Message 3', { exact: true }).fill('Be kind.')
  await page.getByRole('button', { name: 'Move message 3 up' }).click()
  await page.getByLabel('Temperature', { exact: true }).fill('0.5')
  await page.getByRole('button', { name: 'Save as new version' }).click()
  await page.getByRole('option', { name: 'v1' }).first().waitFor({ state: 'attached' })
  const { json } = await served().post('/obj/read', {
    ...{ project_id: project, object_id: 'support', digest: 'latest' },
  })
  assert.equal(json.obj.version_index, 1)
  assert.equal(json.obj.base_object_class, 'Prompt')
  const { messages, variables, settings } = json.obj.val
  assert.deepEqual(
    { messages, variables, settings },
    {
      messages: [
        { role: 'system', content: 'You help {customer} {count} times.' },
        { role: 'user', content: 'Be kind.' },
        { type: 'placeholder', name: 'messages' },
      ],
      variables: { count: { type: 'integer', default: 3 } },
      settings: { temperature: 0.5 },
    },
  )
  await move('support', { digest: 'v1' })
  const asked = await served().app.inject({
    method: 'POST',
    url: '/v1/chat/completions',
    headers: {
      authorization: `Basic ${Buffer.from(`api:${keys.alice}`).toString('base64')}`,
      'x-heddle-project': project,
    },
    payload: {
      prompt: { id: 'support', variables: { customer: 'Ada' } },
      messages: [{ role: 'user', content: 'Hi' }],
    },
  })
  assert.equal(asked.statusCode, 200, asked.body)
  await page.keyboard.press('v')
  await page.getByRole('region', { name: 'Difference' }).getByText('Be kind.').waitFor()
  assert.deepEqual(problems, [])
})

/** The browser says so of its own. */
const conflict = 'Failed to load resource: the server responded with a status of 409 (Conflict)'

test('a name that is taken, and a version that somebody else saved meanwhile, are said', {
  skip,
}, async (t) => {
  await create(served(), 'shared', { content: 'One.' })
  const { page, problems } = await open(t, `${prompts}?new=1`)
  await page.getByLabel('Name', { exact: true }).fill('shared')
  await page.getByLabel('Kind').selectOption('Text')
  await page.getByLabel('Text', { exact: true }).fill('Two.')
  await page.getByRole('button', { name: 'Save prompt' }).click()
  await page.getByText('Name: "shared" is the name of an object; accepted: a new name.').waitFor()
  await page.goto(`${served().address}${prompts}/shared`)
  await page.getByRole('button', { name: 'New version' }).click()
  await page.getByLabel('Text', { exact: true }).fill('Three.')
  await create(served(), 'shared', { content: 'Of somebody else.' })
  await page.getByRole('button', { name: 'Save as new version' }).click()
  await page.getByText('alice saved v1 meanwhile.').waitFor()
  await page.getByRole('button', { name: 'Save as new version' }).click()
  await page.getByText('Three.').waitFor()
  await page.getByRole('button', { name: 'New version' }).waitFor()
  assert.deepEqual(problems, Array(2).fill(conflict))
})

test('a label without a gate is promoted and goes back; two at once are told', { skip }, async (t) => {
  const [first, second] = await twoVersions('free')
  const { page, problems } = await open(t, `${prompts}/free`)
  await labelRow(page).getByText('v0', { exact: true }).waitFor()
  await promote(page)
  await dialog(page).getByRole('button', { name: 'Promote' }).click()
  await labelRow(page).getByText('v1', { exact: true }).waitFor()
  assert.equal((await label('free')).digest, second)
  await page.getByRole('button', { name: 'Roll back production' }).click()
  await dialog(page).getByText('It names v0 again, without the gate.').waitFor()
  await dialog(page).getByRole('button', { name: 'Roll back' }).click()
  await labelRow(page).getByText('v0', { exact: true }).waitFor()
  assert.equal((await label('free')).digest, first)
  await promote(page)
  const third = await create(served(), 'free', { content: 'A third.' })
  await move('free', { digest: third })
  await dialog(page).getByRole('button', { name: 'Promote' }).click()
  await dialog(page)
    .getByText(/expected_digest: the label "production" names version/)
    .waitFor()
  assert.equal((await label('free')).digest, third)
  await page.keyboard.press('Escape')
  await labelRow(page).getByText('v2', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'New label' }).click()
  await dialog(page).getByLabel('Label').fill('staging')
  await dialog(page).getByLabel('Version', { exact: true }).selectOption('v1')
  await dialog(page).getByRole('button', { name: 'Promote' }).click()
  await page.getByRole('row', { name: /^staging v1/ }).waitFor()
  assert.equal((await label('free', 'staging')).digest, second)
  assert.deepEqual(
    problems.filter((problem) => !problem.includes('409')),
    [],
  )
})

test('a gate refuses condition by condition, lets a better run pass, and is overridden by an admin', {
  skip,
}, async (t) => {
  const [first, second] = await twoVersions('gated')
  await gate('gated')
  await run('gated', first, times(50, true), 'present')
  await run('gated', second, [...times(30, true), ...times(20, false)], 'worse')
  const { page, problems } = await open(t, `${prompts}/gated`)
  await page.getByRole('row', { name: /^worse/ }).waitFor()
  await promote(page)
  const said = dialog(page).getByRole('region', { name: 'Gate' })
  await said.getByText('The run of capitals must show, in at least 20 rows:').waitFor()
  await said.getByText('a trial takes at most 2 s', { exact: true }).waitFor()
  assert.equal(
    await dialog(page)
      .getByLabel(/Reason to override/)
      .count(),
    0,
  )
  await dialog(page).getByRole('button', { name: 'Promote' }).click()
  await dialog(page).getByText('The gate refused it').waitFor()
  assert.match(
    String(await said.locator('.problem').first().textContent()),
    /^scores.exact passes at a rate of at least 0.9, but 30 of 50 pass: at least 0\.\d+/,
  )
  assert.equal(
    await said.locator('.problem').last().textContent(),
    'scores.exact is worse in no row, but 20 of 50 rows are worse, 0 better',
  )
  assert.equal(await said.locator('.problem').count(), 2)
  assert.equal((await label('gated')).digest, first)
  await run('gated', second, times(50, true), 'better')
  await page.reload()
  await page.getByRole('row', { name: /^better/ }).waitFor()
  await promote(page)
  await dialog(page).getByRole('button', { name: 'Promote' }).click()
  await labelRow(page).getByText('v1', { exact: true }).waitFor()
  assert.equal((await label('gated')).digest, second)
  const admin = await open(t, `${prompts}/gated`, { key: keys.root })
  await promote(admin.page)
  await dialog(admin.page).getByLabel('Version', { exact: true }).selectOption('v0')
  await dialog(admin.page)
    .getByLabel(/Reason to override/)
    .fill('The shop is shut.')
  await dialog(admin.page).getByRole('button', { name: 'Promote' }).click()
  await labelRow(admin.page).getByText('v0', { exact: true }).waitFor()
  assert.equal((await label('gated')).digest, first)
  assert.deepEqual(
    [...problems, ...admin.problems].filter((problem) => !problem.includes('409')),
    [],
  )
})

test('each version shows what it served and its runs, a share and a shadow with its verdict', {
  skip,
}, async (t) => {
  const [first, second] = await twoVersions('busy')
  const called = (version: string, fields: object = {}) =>
    completeOf({
      ...{ started_at: new Date().toISOString(), ended_at: new Date().toISOString() },
      ...{ attributes: { heddle: { prompt: { id: 'busy', version } } }, ...fields },
    })
  await writeCalls(served(), [called(first), called(first, { exception: 'Error: no' }), called(second)])
  await run('busy', first, [true, true, true, false], 'three of four')
  const scorer = await monitorsOf(served()).scorer('short', { check: { kind: 'length', max: 20 } })
  const shadow = { version: 'v1', share: 1, scorer }
  const url = '/objs/busy/aliases/production/shadow'
  assert.equal((await served().send('PUT', url, { project_id: project, shadow })).status, 200)
  const { page, problems } = await open(t, `${prompts}/busy?v=v0`)
  await labelRow(page)
    .getByText('After 0 pairs it is not decided yet whether v1 is better than v0.')
    .waitFor()
  const versions = page.getByRole('region', { name: 'Versions' })
  const [now, before] = [versions.getByRole('row', { name: /v1/ }), versions.getByRole('row', { name: /v0/ })]
  await before.getByText('exact 75.0 %').waitFor()
  assert.equal(await before.getByRole('cell').nth(6).textContent(), '1 (50.0 %)')
  assert.equal(await now.getByRole('link').textContent(), '1')
  await page.getByRole('row', { name: /three of four/ }).waitFor()
  await move('busy', {
    share: [
      { version: 'v0', weight: 9 },
      { version: 'v1', weight: 1 },
    ],
  })
  await page.reload()
  await labelRow(page).getByText('v0 9 : v1 1').waitFor()
  await versions.getByRole('row', { name: /v0/ }).getByRole('link', { name: '2' }).click()
  await page.getByRole('heading', { name: 'Calls' }).waitFor({ state: 'attached' })
  assert.match(page.url(), /heddle\.prompt\.version/)
  assert.deepEqual(problems, [])
})

test('the answers of a label and of its shadow are put into a queue as pairs', { skip }, async (t) => {
  const [, second] = await twoVersions('shadowed')
  const scorer = await monitorsOf(served()).scorer('brief', { check: { kind: 'length', max: 20 } })
  const url = '/objs/shadowed/aliases/production/shadow'
  const shadow = { version: 'v1', share: 1, scorer }
  const set = await served().send('PUT', url, { project_id: project, shadow })
  assert.equal(set.status, 200, set.text)
  const [own, other] = [randomUUID(), randomUUID()]
  const link = (label: string) => ({
    heddle: {
      shadow: {
        ...{ label, prompt: { id: 'shadowed', version: second } },
        call: `weave:///${project}/call/${own}`,
      },
    },
  })
  const shadowCall = { op_name: 'heddle.shadow' }
  await writeCalls(served(), [
    completeOf({ id: own }),
    completeOf({ id: other, ...shadowCall, attributes: link('production') }),
    completeOf({ ...shadowCall, attributes: link('staging') }),
  ])
  const { page, problems } = await open(t, `${prompts}/shadowed?v=v0`)
  assert.equal(await page.getByRole('button', { name: 'Review as pairs' }).count(), 0)
  await page.route(/production\/shadow/, async (route) => {
    const answer = await route.fetch()
    await route.fulfill({ response: answer, json: { ...((await answer.json()) as object), pairs: 1 } })
  })
  await page.reload()
  await page.getByRole('button', { name: /^Review as pairs/ }).click()
  const dialog = page.getByRole('dialog', { name: 'Add this pair to a queue' })
  await dialog.getByLabel('Queue name').fill('shadows')
  await dialog.getByRole('option', { name: 'Create “shadows”' }).click()
  await dialog.getByText('1 added.').waitFor()
  const listed = await served().post('/annotation_queues/query', { project_id: project, name: 'shadows' })
  const { id } = JSON.parse(listed.text.split('\n')[0] ?? '')
  const { json } = await served().post(`/annotation_queues/${id}/items/query`, { project_id: project })
  assert.deepEqual([json.items[0].call_id, json.items[0].other_call_id], [own, other])
  assert.deepEqual(problems, [])
})

test('each version shows what was said about the calls that it answered', { skip }, async (t) => {
  const [first, second] = await twoVersions('judged')
  const calls = [first, second, second].map((version) => ({ id: randomUUID(), version }))
  const [old, one, other] = calls.map(({ id }) => id)
  const times = { started_at: new Date(Date.now() - 2_000).toISOString(), ended_at: new Date().toISOString() }
  await writeCalls(
    served(),
    calls.map(({ id, version }) =>
      completeOf({ id, ...times, attributes: { heddle: { prompt: { id: 'judged', version } } } }),
    ),
  )
  const scorer = (name: string) => ({
    feedback_type: `wandb.runnable.${name}`,
    runnable_ref: `weave:///${project}/object/${name}:v0`,
  })
  const { post } = served()
  const annotation_ref = await createSpec(post, 'polite', { type: 'boolean' })
  const annotation = { feedback_type: 'wandb.annotation.polite', annotation_ref }
  const reaction = { feedback_type: 'wandb.reaction.1' }
  for (const [id, payload, fields] of [
    [old, { output: 0.25 }, scorer('helpful')],
    [one, { output: 0.5 }, scorer('helpful')],
    [other, { output: 1 }, scorer('helpful')],
    [other, { value: true }, annotation],
    [one, { emoji: '👍' }, reaction],
    [other, { emoji: '👍🏽' }, reaction],
    [old, { emoji: '👎' }, reaction],
  ] as const) {
    await giveFeedback(post, { svc_ref: `weave:///${project}/call/${id}`, payload, ...fields })
  }
  const { page, problems } = await open(t, `${prompts}/judged?range=7d`)
  const versions = page.getByRole('region', { name: 'Versions' })
  const row = (name: RegExp) => versions.getByRole('row', { name })
  await row(/v1/).getByText('helpful 0.750 (2)').waitFor()
  const said = await row(/v1/).getByRole('cell').nth(9).textContent()
  assert.deepEqual(said?.split(', ').sort(), ['helpful 0.750 (2)', 'polite 1 (1)', '👍 2'])
  const saidBefore = await row(/v0/).getByRole('cell').nth(9).textContent()
  assert.deepEqual(saidBefore?.split(', ').sort(), ['helpful 0.250 (1)', '👎 1'])
  assert.match(String(await row(/v1/).getByRole('cell').nth(7).textContent()), /s$/)
  await page.getByRole('button', { name: 'All', exact: true }).click()
  await row(/v1/).getByText('helpful').waitFor({ state: 'detached' })
  assert.deepEqual(problems, [])
})

test('a version is opened in the playground', { skip }, async (t) => {
  await create(served(), 'played', {
    messages: [{ role: 'system', content: 'Be {mood}.' }],
    settings: { temperature: 0 },
  })
  const { page, problems } = await open(t, `${prompts}/played`)
  await page.getByRole('button', { name: 'Open in the playground' }).click()
  await page.getByRole('heading', { name: 'Playground' }).waitFor({ state: 'attached' })
  assert.equal(await page.getByLabel('Message 1', { exact: true }).inputValue(), 'Be {mood}.')
  assert.match(decodeURIComponent(page.url()), /"temperature":0/)
  assert.deepEqual(problems, [])
})

test('who may not write sees prompts and no buttons', { skip }, async (t) => {
  const grants = [{ scope: project, role: 'viewer' }]
  const { json } = await served().post('/users', { name: 'vera', grants }, keys.root)
  await create(served(), 'read-only', { content: 'Once.' })
  const { page } = await open(t, `${prompts}/read-only`, { key: json.key.key })
  await labelRow(page).getByText('none yet').waitFor()
  for (const name of ['New version', 'New label', 'Promote production'])
    assert.equal(await page.getByRole('button', { name }).count(), 0, name)
  await page.goto(`${served().address}${prompts}`)
  await page.getByRole('link', { name: 'read-only' }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'New prompt' }).count(), 0)
})

test('prompts are accessible', { skip }, async (t) => {
  await twoVersions('seen')
  await gate('seen')
  const places: [path: string, text: string][] = [
    [prompts, 'seen'],
    ['/ui/acme/none/prompts', 'No prompts yet'],
    [`${prompts}?new=1`, 'Save prompt'],
    [`${prompts}/seen`, 'None of the newest'],
    [`${prompts}/seen?with=v0`, 'sentence'],
    [`${prompts}/seen?edit=1`, 'Save as new version'],
    [`${prompts}/no-prompt`, 'is no prompt'],
    [`${prompts}/nothing`, 'Prompt not found'],
  ]
  const { page, problems } = await open(t, '/ui/me', narrow)
  for (const [path, text] of places) {
    await goNarrow(page, served().address + path)
    await page.getByText(text).first().waitFor()
    await assertAccessible(page)
    assert.deepEqual(
      problems.filter((problem) => !problem.includes('404')),
      [],
    )
  }
  await goNarrow(page, `${served().address}${prompts}/seen`)
  await promote(page)
  await dialog(page).getByRole('region', { name: 'Gate' }).waitFor()
  await assertAccessible(page)
})
