import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { keys } from '../support/app.ts'
import { collectProblems, noBrowser, openBrowser, openPage } from '../support/browser.ts'
import { buildPage } from '../support/built-page.ts'
import { project } from '../support/calls.ts'
import { comparedRuns, runId } from '../support/compared-runs.ts'
import { chatCall, idOf, traceCalls } from '../support/page-app.ts'
import { startPostgres } from '../support/postgres.ts'
import { newFolder, type RunningServer, startServer } from '../support/server.ts'

const skip = noBrowser
const calls = `/ui/${project}/calls`
const rowText = (text: string) => `[role=row]:has-text("${text}")`

if (!skip) buildPage()
const browser = skip ? undefined : await openBrowser({ after })

/** More than a browser has connections to one server; the storage makes no difference to that. */
const tabsOn = { SQLite: 7, PostgreSQL: 2 }

const storages = {
  SQLite: async () => ({}),
  PostgreSQL: async (t: TestContext): Promise<Record<string, string>> => {
    const postgres = await startPostgres()
    t.after(() => postgres.stop())
    return { HEDDLE_DATABASE_URL: await postgres.createDatabase() }
  },
}

async function write({ post }: RunningServer, batch: readonly object[]): Promise<void> {
  const response = await post(`/v2/${project}/calls/complete`, { batch })
  assert.equal(response.status, 200, await response.text())
}

const question = (index: number) => chatCall(index, `Question ${index}?`, `Answer ${index}.`)

/** The questions on the screen, from top to bottom. */
const shown = (page: Page): Promise<string[]> =>
  page
    .locator('[role=row] .preview')
    .evaluateAll((rows) => rows.map((row) => /\d+/.exec(row.textContent ?? '')?.[0] ?? ''))

test('a screen that is opened while the server is away loads by itself when the server is back', {
  skip,
}, async (t) => {
  const settings = { HEDDLE_DATA: await newFolder(t) }
  const first = await startServer(t, settings)
  const { address } = first
  assert.ok(browser)
  const { page } = await openPage(browser, t, `${address}${calls}#key=${keys.alice}`)
  await page.getByText('No calls yet').waitFor()
  await first.end('SIGKILL')
  // Neither its code nor its data has been loaded.
  await page.getByRole('link', { name: 'Queues' }).click()
  await page.getByText('The server does not answer. Retrying automatically.').waitFor()
  await startServer(t, { ...settings, HEDDLE_PORT: new URL(address).port })
  await page
    .getByText('No queues yet')
    .or(page.getByRole('button', { name: 'New queue' }))
    .first()
    .waitFor()

  let refusals = 0
  await page.route('**/views/buckets', async (route) => {
    if (++refusals > 2) return route.continue()
    const body = JSON.stringify({ reason: 'The record rests.', code: 'record_refuses_writes' })
    await route.fulfill({
      status: 503,
      headers: { 'retry-after': '1' },
      contentType: 'application/json',
      body,
    })
  })
  await page.getByRole('link', { name: 'Charts' }).click()
  await page.getByText('The record rests. Retrying automatically.').waitFor()
  await page.getByText('No calls in this time range').waitFor()
})

for (const storage of ['SQLite', 'PostgreSQL'] as const) {
  test(`${tabsOn[storage]} tabs resume live updates after a server on ${storage} is killed and restarted`, {
    skip,
  }, async (t) => {
    const settings = { HEDDLE_DATA: await newFolder(t), ...(await storages[storage](t)) }
    const first = await startServer(t, settings)
    const { address } = first
    const { port } = new URL(address)
    await write(first, [1, 2, 3].map(question))
    assert.ok(browser)
    const { page } = await openPage(browser, t, `${address}${calls}#key=${keys.alice}`)
    const tabs = [page]
    await page.waitForSelector(rowText('Question 3?'))
    for (let tab = 1; tab < tabsOn[storage]; tab++) {
      const next = await page.context().newPage()
      await next.goto(address + calls)
      tabs.push(next)
    }
    for (const tab of tabs) await tab.waitForSelector('.live-switch[data-state=live]')
    await write(first, [question(4)])
    for (const tab of tabs) await tab.waitForSelector(rowText('Question 4?'))

    await first.end('SIGKILL')
    for (const tab of tabs) await tab.getByText('The server does not answer.').waitFor()
    const second = await startServer(t, { ...settings, HEDDLE_PORT: port })
    // Before the tabs have reconnected, or after: no row may be missing or appear twice.
    await write(second, [5, 6].map(question))
    await write(second, [question(2)])
    for (const tab of tabs) {
      await tab.waitForSelector(rowText('Question 6?'))
      await tab.getByText('The server does not answer.').waitFor({ state: 'detached' })
      await tab.getByText('6 calls', { exact: true }).waitFor()
      assert.deepEqual(await shown(tab), ['6', '5', '4', '3', '2', '1'])
    }
    await write(second, [question(7)])
    for (const tab of tabs) await tab.waitForSelector(rowText('Question 7?'))
    await page.close()
    await write(second, [question(8)])
    for (const tab of tabs.slice(1)) await tab.waitForSelector(rowText('Question 8?'))
  })
}

test('the page works on PostgreSQL without a model: list, trace, feedback, queue, review, comparison, charts', {
  skip,
}, async (t) => {
  const settings = { HEDDLE_DATA: await newFolder(t), ...(await storages.PostgreSQL(t)) }
  const server = await startServer(t, settings)
  await write(server, [
    ...Array.from({ length: 150 }, (_, index) => question(index)),
    ...traceCalls(300),
    ...comparedRuns({ runs: 2, rows: 20 }),
  ])
  assert.ok(browser)
  const { page } = await openPage(browser, t, `${server.address}/ui/#key=${keys.alice}`)
  const problems = collectProblems(page, server.address)
  await page.getByText('No model is served; the record is available.').waitFor()
  await page.getByRole('link', { name: project }).click()
  await page.getByText('151 calls', { exact: true }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('"question 14" -status:error')
  await page.keyboard.press('Enter')
  await page.getByText('11 calls', { exact: true }).waitFor()
  await page.goto(`${server.address}/ui/${project}/call/${idOf('search', 300)}`)
  await page.waitForSelector('[role=treeitem][aria-selected=true]:has-text("search")')
  await page.keyboard.press('n')
  await page.getByRole('button', { name: 'Bad' }).click()
  await page.waitForSelector('.feedback-list >> text=👎')
  await page.keyboard.press('a')
  await page.getByLabel('Queue name').fill('Slow ones')
  await page.getByRole('option', { name: 'Create “Slow ones”' }).click()
  await page.getByRole('link', { name: 'Open Slow ones' }).click()
  await page.getByRole('link', { name: 'Review', exact: true }).click()
  await page.waitForSelector('.reading >> text=capital of Chad')
  await page.keyboard.press('1')
  await page.keyboard.press('Control+Enter')
  await page.getByText('Saved', { exact: true }).waitFor()
  const runs = [0, 1].map(runId).join(',')
  await page.goto(`${server.address}/ui/${project}/evals/compare?ids=${runs}&sort=diff:scores.judge.score`)
  await page.waitForSelector('[role=row] .cell-run')
  await page.locator('.heat').waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByText('Row 1 of 20').waitFor()
  await page.goto(`${server.address}/ui/${project}/objects`)
  await page.getByText('No objects yet').or(page.locator('table')).first().waitFor()
  await page.goto(
    `${server.address}/ui/${project}/charts?range=2026-01-02T00:00:00.000Z..2026-01-03T00:00:00.000Z`,
  )
  await page.locator('[data-panel]').first().waitFor()
  assert.deepEqual(problems, [])
})
