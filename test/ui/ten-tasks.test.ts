import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { readCsv } from '../../ui/datasets/csv.ts'
import { recordsOf } from '../support/answers.ts'
import { keys } from '../support/app.ts'
import { noBrowser } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { comparedRuns, runId } from '../support/compared-runs.ts'
import { monitorsOf } from '../support/monitors.ts'
import { chatCall, idOf, type PageApp, pageTests, writeCalls } from '../support/page-app.ts'
import { pricesOf } from '../support/prices.ts'
import { simulatedBackend } from '../support/simulated-backend.ts'
import { countedUser } from './counted-clicks.ts'

const skip = noBrowser
/** The one project of bob, whose calls are not changed by asking and judging in alice's. */
const recorded = 'globex/qa'
const cities = 65
const others = 35

const backend = simulatedBackend({ after }, ({ constraint }) => (constraint ? '{"passed": true}' : 'A city.'))

const { served, open } = await pageTests({ after }, { sweep: true, backend, fill })

async function fill(page: PageApp) {
  const batch = Array.from({ length: cities + others }, (_, index) => ({
    ...chatCall(index, `Question ${index}?`, `City ${index}.`),
    project_id: recorded,
    ...(index < cities && { op_name: 'cities' }),
    // The most expensive is neither the first nor the last.
    summary: { usage: { builtin: { prompt_tokens: 10, completion_tokens: (index * 37) % 101 } } },
  }))
  const said = await page.post(`/v2/${recorded}/calls/complete`, { batch }, keys.bob)
  assert.equal(said.status, 200, said.text)
  const prices = await page.post('/cost/create', pricesOf({ builtin: {} }, recorded), keys.bob)
  assert.equal(prices.status, 200, prices.text)
  await writeCalls(page, comparedRuns({ runs: 2, rows: 5 }))
  for (const name of ['zones', 'capitals']) {
    const rows = ['Mali', 'Chad', 'Peru'].map((country) => ({ question: `Capital of ${country}?` }))
    assert.equal((await page.post(`/v2/${project}/datasets`, { name, rows })).status, 200)
  }
  await monitorsOf(page).scorer('judged', {
    judge: {
      prompt: '{output}',
      schema: { type: 'object', properties: { passed: { type: 'boolean' } }, required: ['passed'] },
    },
  })
  return {}
}

/** At the first screen, with nothing pressed yet. */
async function atProjects(t: TestContext, key = keys.alice) {
  const { page, problems } = await open(t, '/ui/', { key })
  await page.getByRole('heading', { name: 'Projects' }).waitFor()
  return { page, problems, user: countedUser(page) }
}

type AtProjects = Awaited<ReturnType<typeof atProjects>>

const projectLink = (page: Page, name = project) => page.getByRole('link', { name, exact: true })
const sectionLink = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name, exact: true })
const answerIn = (page: Page) => page.getByRole('region', { name: 'Answer' })

async function ask({ page, user }: AtProjects, question: string): Promise<void> {
  await user.click(
    page
      .getByRole('listitem')
      .filter({ has: projectLink(page) })
      .getByRole('link', { name: 'Ask' }),
  )
  await user.type(question)
  await user.press('Control+Enter')
  await page.getByText(/^success, /).waitFor()
}

interface RecordedAnswer {
  id: string
  trace_id: string
  output: { choices: { message: { content: string } }[] }
}

/** The call of a question, as the server has it. */
async function callOf(question: string) {
  const found = await served().post('/calls/stream_query', {
    project_id: project,
    query: {
      $expr: { $contains: { input: { $getField: 'inputs.messages' }, substr: { $literal: question } } },
    },
  })
  const calls = recordsOf(found) as unknown as RecordedAnswer[]
  assert.equal(calls.length, 1)
  return calls[0] as RecordedAnswer
}

const answerOf = ({ output }: RecordedAnswer) => String(output.choices[0]?.message.content)

test('1. ask: 2 clicks', { skip }, async (t) => {
  const seen = await atProjects(t)
  await ask(seen, 'What is a capital?')
  assert.ok(seen.user.count() <= 2)
  const answer = answerOf(await callOf('What is a capital?'))
  assert.notEqual(answer, '')
  await answerIn(seen.page).getByText(answer, { exact: true }).waitFor()
  assert.deepEqual(seen.problems, [])
})

test('2. see the trace of the answer: 1 click, and Back brings the answer back', { skip }, async (t) => {
  const seen = await atProjects(t)
  const { page, user } = seen
  await ask(seen, 'What is a trace?')
  user.count()
  await user.click(answerIn(page).getByRole('link', { name: 'View call' }))
  const call = await callOf('What is a trace?')
  await page.waitForSelector('[role=treeitem][aria-selected=true]')
  await page.locator('.said.is-answer').getByText(answerOf(call), { exact: true }).waitFor()
  assert.equal(new URL(page.url()).pathname, `/ui/${project}/trace/${call.trace_id}`)
  assert.ok(user.count() <= 1)
  await page.goBack()
  await answerIn(page).getByText(answerOf(call), { exact: true }).waitFor()
  assert.deepEqual(seen.problems, [])
})

test('3. thumb up or down: 1 click', { skip }, async (t) => {
  const seen = await atProjects(t)
  const { page, user } = seen
  await ask(seen, 'What is a thumb?')
  user.count()
  await user.click(answerIn(page).getByRole('button', { name: 'Bad' }))
  await page
    .locator('[aria-pressed=true]')
    .and(page.getByRole('button', { name: 'Bad' }))
    .waitFor()
  assert.ok(user.count() <= 1)
  const { id } = await callOf('What is a thumb?')
  const query = { $expr: { $eq: [{ $getField: 'svc_ref' }, { $literal: `weave:///${project}/call/${id}` }] } }
  const { json } = await served().post('/feedback/query', { project_id: project, query })
  const given = json.result.map((entry: { feedback_type: string; payload: { emoji: string } }) => [
    entry.feedback_type,
    entry.payload.emoji,
  ])
  assert.deepEqual(given, [['wandb.reaction.1', '👎']])
  assert.deepEqual(seen.problems, [])
})

test('4. a dataset from a filter: 4 clicks', { skip }, async (t) => {
  const { page, problems, user } = await atProjects(t, keys.bob)
  await user.click(projectLink(page, recorded))
  await page.getByText(`${cities + others} calls`, { exact: true }).waitFor()
  await user.press('/')
  await user.type('op:cities')
  await user.click(page.getByRole('button', { name: 'Dataset', exact: true }))
  await page.getByRole('button', { name: `Add ${cities} rows` }).waitFor()
  await user.type('cities')
  await user.press('Enter')
  await page.getByRole('status').getByText(`${cities} rows added.`).waitFor()
  assert.ok(user.count() <= 4)
  const body = { project_id: recorded, object_id: 'cities', digest: 'latest' }
  const { json } = await served().post('/obj/read', body, keys.bob)
  const digest = String(json.obj.val.rows).split('/').at(-1)
  const table = { project_id: recorded, digest }
  const { json: rows } = await served().post('/table/query', table, keys.bob)
  assert.equal(rows.rows.length, cities)
  assert.deepEqual(problems, [])
})

test('5. an evaluation of a dataset with two settings and a judge: 6 clicks', { skip }, async (t) => {
  const { page, problems, user } = await atProjects(t)
  await user.click(projectLink(page))
  await user.click(sectionLink(page, 'Quality'))
  await user.click(page.getByRole('link', { name: 'New run' }))
  await page.getByText('3 rows × 1 setting × 1 = 3 answers').waitFor()
  assert.equal(await page.getByLabel('Dataset', { exact: true }).inputValue(), 'capitals')
  await user.click(page.getByRole('button', { name: 'Compare with other settings' }))
  await user.type('Be brief.')
  assert.equal(await page.getByLabel('System message B').inputValue(), 'Be brief.')
  await user.click(page.getByRole('checkbox', { name: 'judged' }))
  await user.click(page.getByRole('button', { name: 'Start run' }))
  await page.getByRole('row', { name: /Capital of Mali\?/ }).waitFor()
  assert.ok(user.count() <= 6)
  for (const name of ['A', 'B']) await page.locator(`.run-bar li:has-text("capitals run: ${name}")`).waitFor()
  await page.locator('option[value="scores.judged.passed"]').first().waitFor({ state: 'attached' })
  const ids = new URL(page.url()).searchParams.get('ids')?.split(',') ?? []
  assert.equal(ids.length, 2)
  for (const id of ids) {
    const { json } = await served().get(`/v2/${project}/evaluation_runs/${id}`)
    assert.equal(json.status, 'completed')
  }
  assert.deepEqual(problems, [])
})

test('6. compare the runs of an evaluation: 3 clicks', { skip }, async (t) => {
  const { page, problems, user } = await atProjects(t)
  await user.click(projectLink(page))
  await user.click(sectionLink(page, 'Quality'))
  await user.click(page.getByRole('link', { name: 'capitals:v0' }).first())
  await page.locator('[role=row] .cell-run').first().waitFor()
  assert.ok(user.count() <= 3)
  assert.deepEqual(new URL(page.url()).searchParams.get('ids')?.split(','), [runId(0), runId(1)])
  await page.locator('.run-bar li.is-base:has-text("small, first try")').waitFor()
  await page.locator('.run-bar li.is-side:has-text("small, longer prompt")').waitFor()
  assert.deepEqual(problems, [])
})

test('7. a monitor with a judge: 6 clicks', { skip }, async (t) => {
  const { page, problems, user } = await atProjects(t)
  await user.click(projectLink(page))
  await user.click(sectionLink(page, 'Quality'))
  await user.click(page.getByRole('navigation', { name: 'Quality' }).getByRole('link', { name: 'Monitors' }))
  await user.click(page.getByRole('button', { name: 'New monitor' }))
  await user.click(page.getByRole('checkbox', { name: 'judged' }))
  await user.click(page.getByRole('button', { name: 'Start monitor' }))
  await page.getByRole('button', { name: 'Pause' }).waitFor()
  assert.ok(user.count() <= 6)
  const [call = ''] = await monitorsOf(served()).calls({ op_name: 'heddle.chat.completions', output: 'Lomé' })
  assert.deepEqual(await monitorsOf(served()).scores(call, 1), { judged: { passed: true } })
  assert.deepEqual(problems, [])
})

test('8. an invitation: 3 clicks', { skip }, async (t) => {
  const { page, problems, user } = await atProjects(t, keys.root)
  await user.click(page.getByRole('link', { name: 'People' }))
  await user.click(page.getByRole('button', { name: 'Invite' }))
  await user.type('acme')
  await user.press('Enter')
  const link = await page.getByRole('dialog', { name: 'Invitation' }).locator('pre').textContent()
  assert.ok(user.count() <= 3)
  // A second Enter does not close what cannot be shown again.
  await page.keyboard.press('Enter')
  assert.equal(await page.getByRole('dialog', { name: 'Invitation' }).count(), 1)
  assert.match(link ?? '', /\/ui\/#invite=\S+$/)
  const { json } = await served().get('/invitations', keys.root)
  assert.equal(json.invitations.length, 1)
  assert.deepEqual(problems, [])
})

test('8. a key: 3 clicks', { skip }, async (t) => {
  const grants = [{ scope: project, role: 'editor' }]
  const made = await served().post('/users', { name: 'editor', grants }, keys.root)
  assert.equal(made.status, 200, made.text)
  const { page, problems, user } = await atProjects(t, made.json.key.key)
  await user.click(page.getByRole('link', { name: 'editor', exact: true }))
  await user.click(page.getByRole('button', { name: 'New key' }))
  await user.type('laptop')
  await user.press('Enter')
  const key = await page.getByRole('dialog', { name: 'New key for editor' }).locator('pre').textContent()
  assert.ok(user.count() <= 3)
  assert.equal((await served().get('/me', key ?? '')).json.name, 'editor')
  assert.deepEqual(problems, [])
})

test('9. the most expensive call: 1 click', { skip }, async (t) => {
  const { page, problems, user } = await atProjects(t, keys.bob)
  await user.click(projectLink(page, recorded))
  await page.getByText(`${cities + others} calls`, { exact: true }).waitFor()
  user.count()
  await user.click(page.getByRole('columnheader', { name: 'Cost' }).getByRole('button'))
  await page.getByRole('columnheader', { name: 'Cost' }).and(page.locator('[aria-sort=descending]')).waitFor()
  // 37 × 30 is the highest remainder by 101.
  const dearest = page.getByRole('row').nth(1)
  await dearest.getByText('Question 30?').waitFor()
  assert.ok(user.count() <= 1)
  assert.deepEqual(problems, [])
})

test('10. all calls as CSV and as JSON Lines: 2 clicks', { skip }, async (t) => {
  const { page, problems, user } = await atProjects(t, keys.bob)
  await user.click(projectLink(page, recorded))
  await page.getByText(`${cities + others} calls`, { exact: true }).waitFor()
  user.count()
  const saved = async (name: string) => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      user.click(page.getByRole('button', { name })),
    ])
    return new Response((await download.createReadStream()) as never).text()
  }
  const lines = (await saved('Export JSONL')).trimEnd().split('\n')
  const table = readCsv(await saved('Export CSV'))
  assert.ok(user.count() <= 2)
  const ids = Array.from({ length: cities + others }, (_, index) => idOf('chat', index)).toReversed()
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).id),
    ids,
  )
  const column = (name: string) => table.rows.map(({ cells }) => cells[table.header.indexOf(name)])
  assert.deepEqual(column('id'), ids)
  assert.deepEqual(
    column('answer'),
    ids.map((_, index) => `City ${ids.length - 1 - index}.`),
  )
  assert.deepEqual(problems, [])
})
