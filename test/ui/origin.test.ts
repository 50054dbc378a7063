import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { noBrowser } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { chatCall, idOf, pageTests, writeCalls } from '../support/page-app.ts'
import { assertAccessible, narrow } from './accessible.ts'

const skip = noBrowser
const calls = `/ui/${project}/calls`

const { open } = await pageTests(
  { after },
  {
    fill: async (page) => {
      await writeCalls(page, [
        chatCall(0, 'A question of a user?', 'Yes.'),
        ...[1, 2, 3].map((index) =>
          chatCall(index, `Is answer ${index} right?`, 'Yes.', { op_name: 'heddle.judge' }),
        ),
      ])
      while (await page.database.writeInBackground('indexCalls', { limit: 100, characters: 1 << 20 }));
    },
  },
)

test('calls of judges are hidden, counted apart and one click away', { skip }, async (t) => {
  const { page, problems } = await open(t, calls, narrow)
  await page.getByText('1 call', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Facets' }).click()
  const ops = page.getByRole('region', { name: 'Op' }).getByRole('listitem')
  await ops.getByText('heddle.chat.completions').waitFor()
  assert.deepEqual(await ops.allInnerTexts(), ['heddle.chat.completions\n1'])
  await page.getByRole('button', { name: 'Facets' }).click()
  await page.getByLabel('Show 3 of judges and evaluations').check()
  await page.getByText('4 calls', { exact: true }).waitFor()
  await page.reload()
  await page.getByText('4 calls', { exact: true }).waitFor()
  await assertAccessible(page)
  // Who asks for certain calls gets them.
  const { page: one, problems: others } = await open(t, `${calls}?q=trace:${idOf('trace', 2)}`)
  await one.getByText('1 call', { exact: true }).waitFor()
  await one.waitForSelector('[role=row]:has-text("Is answer 2 right?")')
  assert.deepEqual([...problems, ...others], [])
})

test('the bar is as high before the calls of judges are counted as afterwards', { skip }, async (t) => {
  const { page, problems } = await open(t, `/ui/${project}/queues`, {
    viewport: { width: 1440, height: 800 },
  })
  const held = Promise.withResolvers<void>()
  await page.route('**/views/facets', async (route) => {
    await held.promise
    await route.continue()
  })
  await page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: 'Calls' }).click()
  await page.getByText('1 call', { exact: true }).waitFor()
  const bar = () => page.locator('.filter-bar').evaluate(({ clientHeight }) => clientHeight)
  const before = await bar()
  held.resolve()
  await page.getByLabel('Show 3 of judges and evaluations').waitFor()
  assert.equal(await bar(), before)
  assert.deepEqual(problems, [])
})

test('search and charts leave them out, too', { skip }, async (t) => {
  const { page, problems } = await open(t, `/ui/${project}/search?q=yes`)
  await page.getByText('1 found', { exact: true }).waitFor()
  await page.getByLabel('Show judges and evaluations').check()
  await page.getByText('4 found', { exact: true }).waitFor()
  const charts = await open(t, `/ui/${project}/charts?by=origin`)
  await charts.page.getByLabel('Show 3 of judges and evaluations').waitFor()
  assert.deepEqual([...problems, ...charts.problems], [])
})
