import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { agentAttributes } from '../support/agents.ts'
import { noBrowser, type Page } from '../support/browser.ts'
import { completeOf, project } from '../support/calls.ts'
import { pageTests, writeCalls } from '../support/page-app.ts'
import { pricesOf } from '../support/prices.ts'
import { assertAccessible } from './accessible.ts'

const skip = noBrowser
const day = 86_400_000
const began = Date.now()

/** A call of an agent that began so many days ago. */
const callOf = (
  agent: string,
  version: string | undefined,
  { days, seconds, ...fields }: { days: number; seconds: number } & Record<string, unknown>,
) =>
  completeOf({
    ...{ op_name: `${agent} op`, attributes: agentAttributes(agent, version) },
    started_at: new Date(began - days * day).toISOString(),
    ended_at: new Date(began - days * day + seconds * 1_000).toISOString(),
    ...{ thread_id: null, inputs: { question: `${agent} ${version}` }, output: 'Done.' },
    ...fields,
  })

const usage = (input: number, output: number) => ({
  summary: { usage: { loom: { prompt_tokens: input, completion_tokens: output } } },
})
const root = randomUUID()

const { open } = await pageTests(
  { after },
  {
    fill: async (page) => {
      const { costs } = pricesOf({ loom: { prompt_token_cost: 0.01, completion_token_cost: 0.1 } })
      assert.equal((await page.post('/cost/create', { project_id: project, costs })).status, 200)
      await writeCalls(page, [
        callOf('weaver', '1', { days: 3, seconds: 2, ...usage(10, 1), id: root, thread_id: 'visit' }),
        // Of the agent above it, which it does not name.
        callOf('weaver', '1', {
          ...{ days: 3, seconds: 1, trace_id: root, parent_id: root },
          ...{ op_name: 'loom tool', attributes: {} },
        }),
        callOf('weaver', '1', { days: 3, seconds: 4, exception: 'the loom broke' }),
        callOf('weaver', '2', { days: 2, seconds: 8, ...usage(1_000, 200) }),
        callOf('weaver', undefined, { days: 90, seconds: 1 }),
        callOf('dyer "red"', '1', { days: 1, seconds: 0.5 }),
        completeOf({ op_name: 'nobody' }),
      ])
      for (const score of [1, 0.5]) {
        const feedback = {
          ...{ project_id: project, weave_ref: `weave:///${project}/call/${root}` },
          ...{ feedback_type: 'wandb.runnable.judge', payload: { output: { score } } },
          runnable_ref: `weave:///${project}/object/judge:1`,
        }
        const { status, text } = await page.post('/feedback/create', feedback)
        assert.equal(status, 200, text)
      }
    },
  },
)

const path = `/ui/${project}/agents`
const cellsIn = async (page: Page) => {
  const rows = await page.locator('.agents-grid .grid-row').all()
  return Promise.all(
    rows.map(async (row) => {
      const cells = await row.getByRole('gridcell').allInnerTexts()
      // The last column is when it was used.
      return cells.slice(0, -1).map((text) => text.replace(/\s+/g, ' ').trim())
    }),
  )
}
const grid = (page: Page, name: string) => page.getByRole('grid', { name })
const rowOf = (page: Page, name: string) =>
  page.locator('.agents-grid .grid-row', { has: page.getByRole('link', { name, exact: true }) })
const feedbackIn = (page: Page, name: string) => rowOf(page, name).getByTitle('Rating: 0.750 in 2')
const firstIs = (page: Page, name: string) =>
  page.locator('.agents-grid .grid-row:first-child', { hasText: name }).waitFor()
const sortedBy = (page: Page) => new URL(page.url()).searchParams.get('sort')
const wide = { viewport: { width: 1400, height: 800 } }

const weaver = ['weaver', '3', '4', '1 25.0 %', '4.00 s', '7.60 s', '1,010 → 201', '$30.20', '2 0.750']
const dyer = ['dyer "red"', '1', '1', '', '500 ms', '500 ms', '', '', '']

test('agents have figures of the chosen time, and are sorted by them', { skip }, async (t) => {
  const { page, problems } = await open(t, path, wide)
  await page.getByText('2 agents', { exact: true }).waitFor()
  await feedbackIn(page, 'weaver').waitFor()
  assert.deepEqual(await cellsIn(page), [dyer, weaver])
  await page.getByRole('button', { name: 'Failed' }).click()
  await firstIs(page, 'weaver')
  assert.equal(sortedBy(page), 'error_count.desc')
  await page.getByRole('button', { name: 'Failed' }).click()
  await firstIs(page, 'dyer')
  assert.equal(
    await page.getByRole('columnheader', { name: 'Failed' }).getAttribute('aria-sort'),
    'ascending',
  )
  await page.getByRole('button', { name: 'All', exact: true }).click()
  await rowOf(page, 'weaver').getByRole('gridcell', { name: '4', exact: true }).waitFor()
  // Feedback is not grouped over more than 31 days.
  assert.equal(await page.getByRole('columnheader', { name: 'Feedback' }).count(), 0)
  await page.keyboard.press('1')
  await page.getByRole('heading', { name: 'No agents in this time range' }).waitFor()
  await page.getByRole('button', { name: 'Show all times' }).click()
  await rowOf(page, 'weaver').waitFor()
  assert.deepEqual(problems, [])
})

test('an agent has its versions, its newest calls, and leads to all of them', { skip }, async (t) => {
  const { page, problems } = await open(t, path, wide)
  await rowOf(page, 'weaver').waitFor()
  await page.keyboard.press('G')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'weaver', exact: true }).waitFor()
  await feedbackIn(page, '1').waitFor()
  assert.deepEqual(await cellsIn(page), [
    ['2', '1', '1', '', '8.00 s', '8.00 s', '1,000 → 200', '$30.00', ''],
    ['1', '2', '3', '1 33.3 %', '3.00 s', '3.90 s', '10 → 1', '$0.200', '2 0.750'],
  ])
  const conversations = page.getByRole('region', { name: 'Newest conversations' })
  await conversations.getByRole('link', { name: 'weaver 1' }).waitFor()
  const calls = page.getByRole('region', { name: 'Newest calls' })
  await calls.getByRole('link').nth(2).waitFor()
  assert.deepEqual(await calls.getByRole('link').allInnerTexts(), ['weaver 2', 'weaver 1', 'weaver 1'])
  await assertAccessible(page)

  await page.getByRole('link', { name: 'All calls of the agent' }).click()
  await page.waitForURL(/\/calls\?/)
  await page.getByText('3 calls', { exact: true }).waitFor()
  assert.deepEqual(await page.locator('.grid-row .call-name').allInnerTexts(), [
    'weaver op',
    'weaver op',
    'weaver op',
  ])
  await page.goBack()
  await page.getByRole('link', { name: 'All conversations of the agent' }).click()
  await page.getByText('1 conversation', { exact: true }).waitFor()
  await page.goBack()
  await rowOf(page, '2').getByRole('link').click()
  await page.getByText('1 call', { exact: true }).waitFor()
  await page.goBack()
  await page.getByRole('button', { name: 'All', exact: true }).click()
  await rowOf(page, 'no version').getByRole('link').click()
  await page.getByText('1 call', { exact: true }).waitFor()
  await page.goBack()
  await grid(page, 'Versions').waitFor()
  await page.keyboard.press('Escape')
  await rowOf(page, 'dyer "red"').getByRole('link').click()
  await page.getByRole('link', { name: 'All calls of the agent' }).click()
  await page.getByText('1 call', { exact: true }).waitFor()
  assert.deepEqual(problems, [])
})

test('without agents it says what makes one, and other tenants see none', { skip }, async (t) => {
  const empty = await open(t, '/ui/acme/no-agents/agents?range=all')
  await empty.page.getByRole('heading', { name: 'No agents yet' }).waitFor()
  await empty.page.getByText('gen_ai.agent.name').waitFor()
  await assertAccessible(empty.page)
  const agent = await open(t, `/ui/${project}/agent?agent=nobody&range=all`)
  await agent.page.getByRole('heading', { name: 'No calls of this agent' }).waitFor()
  const foreign = await open(t, '/ui/me')
  for (const screen of ['agents', 'agent?agent=weaver']) {
    await foreign.page.goto(new URL(`/ui/globex/qa/${screen}`, foreign.page.url()).href)
    await foreign.page.getByRole('heading', { name: 'You have no access to this' }).waitFor()
    assert.equal(await foreign.page.locator('.agents-grid').count(), 0)
  }
  assert.deepEqual([...empty.problems, ...agent.problems], [])
})

test('on a narrow screen an agent is one row without scrolling sideways', { skip }, async (t) => {
  const { page, problems } = await open(t, path, { viewport: { width: 360, height: 800 } })
  await rowOf(page, 'weaver').getByText('3 invocations').waitFor()
  await rowOf(page, 'weaver').getByText('failed').waitFor()
  await assertAccessible(page)
  assert.deepEqual(problems, [])
})

test('what fails to load says so, and without feedback the figures are still shown', { skip }, async (t) => {
  const { page } = await open(t, '/ui/me')
  // Of a status that the page does not try again by itself.
  const refuse = (url: string, reason: string) =>
    page.route(`**${url}`, (route) => route.fulfill({ status: 400, json: { code: 'invalid_value', reason } }))
  await refuse('/feedback/aggregate', 'It took too long.')
  await page.goto(new URL(path, page.url()).href)
  await page.getByText('Feedback could not be counted: It took too long.').waitFor()
  await rowOf(page, 'weaver').waitFor()
  await refuse('/agents/query', 'It was slow.')
  await page.getByRole('button', { name: 'Week' }).click()
  await page.getByRole('heading', { name: 'This could not be loaded' }).waitFor()
  await page.getByText('It was slow.').waitFor()
  await page.unroute('**/agents/query')
  await page.getByRole('button', { name: 'Try again' }).click()
  await rowOf(page, 'weaver').waitFor()
})
