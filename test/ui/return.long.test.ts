import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { noBrowser } from '../support/browser.ts'
import { completeOf, project } from '../support/calls.ts'
import { comparedRuns, runId } from '../support/compared-runs.ts'
import { chatCall, idOf, type PageApp, pageTests, writeCalls } from '../support/page-app.ts'
import { createQueue } from '../support/queues.ts'

const skip = noBrowser
const ui = `/ui/${project}`
const manyRuns = 'acme/runs'
const trace = idOf('trace', 900)
const two = (index: number) => String(index).padStart(2, '0')

async function fill(page: PageApp) {
  const chats = Array.from({ length: 100 }, (_, index) =>
    chatCall(index, `Where is order ${two(index)}?`, `On its way. ${'Much is said of it. '.repeat(8)}`),
  )
  await writeCalls(page, chats)
  const root = { id: idOf('agent', 900), trace_id: trace, parent_id: null, op_name: 'agent' }
  const below = Array.from({ length: 150 }, (_, index) => ({
    ...{ id: idOf('search', index), trace_id: trace, parent_id: root.id, op_name: `step ${index}` },
    started_at: new Date(Date.UTC(2026, 0, 2, 3, 4, 6) + index).toISOString(),
  }))
  await writeCalls(page, [root, ...below].map(completeOf))
  await writeCalls(page, comparedRuns({ runs: 2, rows: 120 }))
  // Enough for two pages.
  const runs = comparedRuns({ runs: 70, rows: 1 }).map((call) => ({ ...call, project_id: manyRuns }))
  await writeCalls(page, runs, manyRuns)
  for (let index = 0; index < 60; index++) {
    const obj = { project_id: project, object_id: `prompt-${two(index)}`, val: { text: 'Be brief.' } }
    assert.equal((await page.post('/obj/create', { obj })).status, 200)
  }
  const rows = Array.from({ length: 300 }, (_, index) => ({ question: `Question ${index}?` }))
  assert.equal((await page.post(`/v2/${project}/datasets`, { name: 'capitals', rows })).status, 200)
  const queue = await createQueue(page.post, { name: 'Orders' })
  const call_ids = chats.map(({ id }) => id)
  const added = await page.post(`/annotation_queues/${queue}/items`, { project_id: project, call_ids })
  assert.equal(added.status, 200, added.text)
  while (await page.database.writeInBackground('indexCalls', { limit: 100, characters: 1 << 20 }));
  return { queue }
}

const { served, open } = await pageTests({ after }, { fill })

interface Long {
  name: string
  path(): string
  /** The element that scrolls. */
  scroller: string
  /** Appears once there is something to scroll. */
  ready: string
  /** Pressed until the list is long enough. */
  more?: { button: string; until: string }
  /** A link in the list that is followed, and active after going back. */
  link?: string
}

const longs: Long[] = [
  {
    ...{ name: 'trace', path: () => `${ui}/trace/${trace}?call=${idOf('search', 75)}` },
    ...{ scroller: '.tree', ready: '[role=treeitem]:has-text("step 75")' },
  },
  {
    ...{ name: 'comparison', path: () => `${ui}/evals/compare?ids=${runId(0)},${runId(1)}` },
    ...{ scroller: '.compare-grid', ready: '[role=row] .cell-run' },
  },
  {
    ...{ name: 'evaluations', path: () => `/ui/${manyRuns}/evals`, scroller: '.table-scroll' },
    ...{
      ready: 'tr:has-text("small:v69")',
      more: { button: 'Show more', until: 'tr:has-text("first try")' },
    },
  },
  {
    ...{ name: 'objects', path: () => `${ui}/objects`, scroller: '.sheet' },
    ...{ ready: 'tr:has-text("prompt-30")', link: 'prompt-30' },
  },
  {
    ...{ name: 'rows of a dataset', path: () => `${ui}/data/capitals`, scroller: '.rows-grid' },
    ready: '[role=row]:has-text("Question 3?")',
  },
  {
    ...{ name: 'search', path: () => `${ui}/search?q=order`, scroller: '.search-body', ready: '.hit' },
    more: { button: 'Show more', until: '.hit:nth-child(60)' },
  },
  {
    ...{ name: 'items of a queue', path: () => `${ui}/queues/${served().queue}`, scroller: '.items-grid' },
    ...{ ready: '[role=row]:has-text("order 03?")', link: 'Where is order 50?' },
  },
  {
    ...{ name: 'charts', path: () => `${ui}/charts?range=1y`, scroller: '.charts' },
    ready: '[data-panel="calls"] svg path',
  },
]

for (const { name, path, scroller, ready, more, link } of longs) {
  test(`going back or reloading restores the scroll position: ${name}`, { skip }, async (t) => {
    const { page, problems } = await open(t, path(), { viewport: { width: 900, height: 500 } })
    await page.waitForSelector(ready)
    while (more && (await page.locator(more.until).count()) === 0) {
      const count = await page.locator('tbody tr, .hit').count()
      await page.getByRole('button', { name: more.button }).click()
      await page.waitForFunction(
        (before) => document.querySelectorAll('tbody tr, .hit').length > before,
        count,
      )
    }
    const list = page.locator(scroller)
    const follow = page.getByRole('link', { name: link ?? 'Engine', exact: true })
    // Scrolls to the middle; the list itself decides where exactly that is.
    const left = await list.evaluate(
      (element) =>
        new Promise<number>((resolve) => {
          element.addEventListener('scroll', () => resolve(element.scrollTop), { once: true })
          element.scrollTo({ top: Math.floor((element.scrollHeight - element.clientHeight) / 2) })
        }),
    )
    assert.ok(left > 200, `${left}`)
    if (link !== undefined) await follow.waitFor()
    await follow.evaluate((element) => (element as HTMLElement).click())
    const restored = () =>
      page.waitForFunction(([selector, top]) => document.querySelector(selector)?.scrollTop === top, [
        scroller,
        left,
      ] as const)
    for (const isReloaded of [false, true]) {
      await list.waitFor({ state: 'detached' })
      await page.goBack()
      await restored()
      if (isReloaded) {
        await page.reload()
        await restored()
      }
      if (link !== undefined) await page.waitForSelector(`.is-active:has-text("${link}")`)
      await page.goForward()
    }
    await list.waitFor({ state: 'detached' })
    assert.deepEqual(problems, [])
  })
}

test('of two fields that change at once, a form keeps both', { skip }, async (t) => {
  const { page, problems } = await open(t, `/ui/${project}/monitors?new=-`)
  await page.getByLabel('Name', { exact: true }).waitFor()
  // As a program that fills forms does it: the second change comes before the form is drawn again.
  await page.evaluate(() => {
    for (const field of document.querySelectorAll<HTMLInputElement>('dialog input:not([type=checkbox])')) {
      field.value = '7'
      field.dispatchEvent(new InputEvent('input', { bubbles: true }))
    }
  })
  await page.reload()
  for (const name of ['Name', 'Calls, by the filter of the list of calls'])
    assert.equal(await page.getByLabel(name, { exact: true }).inputValue(), '7')
  assert.deepEqual(problems, [])
})

test('a filter of runs says that it covers the newest alone, and loads the others', { skip }, async (t) => {
  const { page, problems } = await open(t, `/ui/${manyRuns}/evals?named=trials<2`)
  await page.getByText('50 of the newest 50 of 70', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Load all 70' }).click()
  await page.getByText('70 of 70', { exact: true }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Load all 70' }).count(), 0)
  assert.deepEqual(problems, [])
})
