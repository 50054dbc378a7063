import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { noBrowser, type OpenedPage, openPage } from '../support/browser.ts'
import { completeOf, project } from '../support/calls.ts'
import { comparedRuns, runId } from '../support/compared-runs.ts'
import { chatCall, idOf, pageTests, servePageApp, traceCalls, writeCalls } from '../support/page-app.ts'
import { createQueue } from '../support/queues.ts'
import { assertAccessible } from './accessible.ts'

const skip = noBrowser
const evil = [
  '<img src=x onerror="document.title=`taken`"></script><script>document.title="taken"</script>',
  '![leak](https://evil.example/pixel.png) [click](javascript:document.title="taken") <!-- -->',
].join('\n')
const trace = `/ui/${project}/trace/${idOf('trace', 300)}`
const compare = `/ui/${project}/evals/compare?ids=${[0, 1, 2].map(runId).join(',')}&sort=diff:scores.judge.score`

const treeText = (text: string) => `[role=treeitem]:has-text("${text}")`

const folder = mkdtempSync(join(tmpdir(), 'heddle-files-'))
after(() => rmSync(folder, { recursive: true }))
let files = 0

const { browser, open, served } = await pageTests(
  { after },
  {
    async fill(page) {
      const text = JSON.stringify({
        batch: [chatCall(1, evil, evil, { display_name: evil, attributes: { number: 'HERE' } })],
      })
      const { status } = await page.post(
        `/v2/${project}/calls/complete`,
        text.replace('"HERE"', '9007199254740993'),
      )
      assert.equal(status, 200)
      await writeCalls(page, traceCalls(300))
      await writeCalls(page, comparedRuns({ runs: 3, rows: 60, trials: 2 }))
      const weave_ref = `weave:///${project}/call/${idOf('search', 300)}`
      const note = { feedback_type: 'wandb.note.1', payload: { note: `Too slow. ${evil}` } }
      const said = await page.post('/feedback/create', { project_id: project, weave_ref, ...note })
      assert.equal(said.status, 200, said.text)
      const queue = await createQueue(page.post, { name: `Round ${evil}`, description: evil })
      const call_ids = [idOf('chat', 1), idOf('search', 300)]
      const added = await page.post(`/annotation_queues/${queue}/items`, { project_id: project, call_ids })
      assert.equal(added.status, 200, added.text)
      while (await page.database.writeInBackground('indexCalls', { limit: 100, characters: 1 << 20 }));
      return { queue }
    },
  },
)

/** The exported file as its recipient opens it, without a server. */
async function reopened(t: Parameters<typeof open>[0], page: Page, what: string): Promise<OpenedPage> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: `Export ${what} as one file` }).click(),
  ])
  const path = join(folder, `${++files}-${download.suggestedFilename()}`)
  await download.saveAs(path)
  const file = pathToFileURL(path).href
  const seen = await openPage(browser(), t, file, { offline: true })
  seen.page.on('request', (request) => {
    if (request.url() !== file) seen.problems.push(`asked for ${request.url()}`)
  })
  await seen.page.waitForSelector('.file-note')
  return seen
}

test('a trace is exported as one file, which can be browsed, read and searched without a server', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, `${trace}?call=${idOf('search', 300)}`)
  await page.waitForSelector(treeText('search'))
  const file = await reopened(t, page, 'trace')
  await file.page.getByText('It contains all 3 calls of the trace in full').waitFor()
  await file.page.waitForSelector(`${treeText('search')}[aria-selected=true]`)
  await file.page.waitForSelector('.exception >> text=TimeoutError: too slow')
  await assertAccessible(file.page)
  await file.page.keyboard.press('n')
  await file.page.waitForSelector('.feedback-list >> text=Too slow. <img')
  assert.equal(await file.page.getByRole('button', { name: 'Bad' }).count(), 0)
  await file.page.keyboard.press('k')
  await file.page.waitForSelector(`${treeText('agent')}[aria-selected=true]`)
  await file.page.getByText('No feedback on this call yet.').waitFor()
  await file.page.keyboard.press('i')
  await file.page.waitForSelector('.json >> text=ticket')
  await file.page.reload()
  await file.page.waitForSelector(`${treeText('agent')}[aria-selected=true]`)
  for (const name of ['To queue', 'To dataset', 'Playground', /^Export/]) {
    assert.equal(await file.page.getByRole('button', { name }).count(), 0)
  }
  await file.page.evaluate(() => {
    location.hash = '#/ui/acme/qa/charts'
  })
  await file.page.getByText('This is not in the file').waitFor()
  await file.page.getByRole('link', { name: 'Show what is in it' }).click()
  await file.page.waitForSelector(`${treeText('search')}[aria-selected=true]`)
  await file.page.goBack()
  await file.page.getByText('This is not in the file').waitFor()
  assert.deepEqual([...problems, ...file.problems], [])
})

test('a call is exported as one file, with every digit, and model output in it is plain text', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, `/ui/${project}/calls?peek=${idOf('chat', 1)}`)
  await page.waitForSelector('.peek .chat >> text=onerror')
  const file = await reopened(t, page, 'call')
  await file.page.waitForSelector('.chat >> text=onerror')
  for (const key of ['i', 'u', 'n']) {
    await file.page.keyboard.press(key)
    await file.page.waitForSelector('.tab-panel')
  }
  await file.page.keyboard.press('m')
  await file.page.waitForSelector('.json >> text=9007199254740993')
  assert.equal(await file.page.locator('#page img').count(), 0)
  assert.equal(await file.page.locator('a[href^="javascript:"]').count(), 0)
  assert.equal(await file.page.locator('script').count(), 2)
  assert.doesNotMatch(await file.page.title(), /^taken/)
  // Nothing in the file could run, even if it became an element.
  const ran = await file.page.evaluate(() => {
    const script = document.createElement('script')
    try {
      script.textContent = 'document.title = "taken"'
      document.body.append(script)
    } catch {
      return 'refused'
    }
    return document.title
  })
  assert.notEqual(ran, 'taken')
  assert.deepEqual(problems, [])
})

test('a comparison is exported as one file, with its rows, runs and trials side by side', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, compare)
  await page.waitForSelector('[role=row] .cell-run')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.row-view .row-runs')
  const first = await page.locator('.row-inputs').textContent()
  const file = await reopened(t, page, 'comparison')
  await file.page.getByText('It contains all 60 rows of 3 runs in this order').waitFor()
  await file.page.waitForSelector('.row-view .row-runs')
  assert.equal(await file.page.locator('.row-inputs').textContent(), first)
  await file.page.keyboard.press('j')
  await file.page.getByText('Row 2 of 60').waitFor()
  await file.page.keyboard.press(']')
  await file.page.waitForSelector('.run-bar li.is-side:has-text("large")')
  await file.page.keyboard.press('}')
  await file.page.waitForSelector('[role=tab][aria-selected=true]:has-text("Trial 2")')
  await file.page.keyboard.press('G')
  await file.page.getByText('Row 60 of 60').waitFor()
  await file.page.keyboard.press('Escape')
  await file.page.waitForSelector('.row-view', { state: 'detached' })
  await file.page.locator('.heat').waitFor()
  await assertAccessible(file.page)
  assert.equal(await file.page.getByRole('button', { name: /make baseline|Remove/ }).count(), 0)
  assert.deepEqual([...problems, ...file.problems], [])
})

test('a list of calls is exported as one file, with its columns and each call in full', {
  skip,
}, async (t) => {
  const filter = encodeURIComponent('-op:Evaluation.predict_and_score')
  const { page, problems } = await open(
    t,
    `/ui/${project}/calls?all=1&judged=1&q=${filter}&cols=model,inputs.ticket`,
  )
  await page.waitForSelector('.grid-row .call-name')
  const rows = await page.locator('.grid-row').allTextContents()
  const file = await reopened(t, page, 'list')
  await file.page.getByText('It contains all 7 calls in full, with their feedback.').waitFor()
  await file.page.waitForFunction(() => document.querySelectorAll('.grid-row .call-name').length === 7)
  assert.deepEqual(await file.page.locator('.grid-row').allTextContents(), rows)
  await assertAccessible(file.page)
  await file.page.getByText('7 calls', { exact: true }).waitFor()
  await file.page.locator('.filter-text >> text=-op:Evaluation.predict_and_score').waitFor()
  await file.page.keyboard.press('j')
  await file.page.keyboard.press('p')
  await file.page.waitForSelector('.peek .tab-panel')
  await file.page.keyboard.press('Escape')
  await file.page.locator('.grid-row:has-text("onerror") a').click()
  await file.page.waitForSelector('.file-call .chat >> text=onerror')
  await file.page.keyboard.press('m')
  await file.page.waitForSelector('.json >> text=9007199254740993')
  await file.page.getByRole('link', { name: 'Back to the exported screen' }).click()
  await file.page.waitForSelector('.grid-row .call-name')
  for (const role of ['checkbox', 'combobox', 'columnheader'] as const) {
    assert.equal(await file.page.locator('main').getByRole(role).getByRole('button').count(), 0, role)
  }
  assert.equal(await file.page.locator('main').getByRole('checkbox').count(), 0)
  assert.equal(await file.page.locator('#page img').count(), 0)
  assert.doesNotMatch(await file.page.title(), /^taken/)
  assert.deepEqual([...problems, ...file.problems], [])
})

test('charts are exported as one file with a fixed time range', { skip }, async (t) => {
  const { page, problems } = await open(t, `/ui/${project}/charts?range=1y&by=op&all=1`)
  await page.waitForSelector('[data-panel="calls"] .legend li')
  const shown = await page.locator('.chart figcaption').allTextContents()
  const file = await reopened(t, page, 'charts')
  await file.page.waitForSelector('[data-panel="calls"] .legend li')
  assert.deepEqual(await file.page.locator('.chart figcaption').allTextContents(), shown)
  assert.deepEqual(
    await file.page.locator('.chart .legend').allTextContents(),
    await page.locator('.chart .legend').allTextContents(),
  )
  await file.page.locator('[data-panel="errors"] summary').press('Enter')
  await file.page.locator('[data-panel="errors"] tbody td').first().waitFor()
  await assertAccessible(file.page)
  assert.equal(await file.page.locator('.chart a').count(), 0)
  await file.page.locator('[data-panel="calls"] svg').first().click()
  await file.page.keyboard.press('1')
  await file.page.waitForSelector('[data-panel="calls"] .legend li')
  assert.deepEqual(await file.page.locator('.chart figcaption h2').count(), shown.length)
  assert.deepEqual([...problems, ...file.problems], [])
})

test('search results are exported as one file', { skip }, async (t) => {
  const { page, problems } = await open(t, `/ui/${project}/search?q=Chad&judged=1`)
  await page.waitForSelector('.hit')
  await page.getByRole('button', { name: 'Show more' }).click()
  await page.waitForSelector('.hit:nth-child(31)')
  const found = await page.locator('.hit').count()
  const file = await reopened(t, page, 'search')
  await file.page.getByText(`It contains all ${found} matching calls`).waitFor()
  await file.page.waitForFunction((count) => document.querySelectorAll('.hit').length === count, found)
  assert.deepEqual(
    await file.page.locator('.hit mark').allTextContents(),
    await page.locator('.hit mark').allTextContents(),
  )
  await assertAccessible(file.page)
  await file.page.keyboard.press('j')
  await file.page.keyboard.press('Enter')
  await file.page.waitForSelector('.file-call .tab-panel')
  await file.page.goBack()
  await file.page.waitForSelector('.hit.is-active')
  assert.equal(await file.page.getByRole('button', { name: 'Show more' }).count(), 0)
  assert.deepEqual([...problems, ...file.problems], [])
})

test('a queue is exported as one file, with its items and their feedback', { skip }, async (t) => {
  const { page, problems } = await open(t, `/ui/${project}/queues/${served().queue}`)
  await page.waitForSelector('.item-call a')
  const file = await reopened(t, page, 'queue')
  await file.page.getByText('It contains all 2 items in full, with their feedback.').waitFor()
  await file.page.waitForSelector('.queue-head >> text=onerror')
  await file.page.waitForSelector('.item-call a')
  await assertAccessible(file.page)
  for (const name of ['Edit', 'Delete', 'Review', /^Export/]) {
    assert.equal(await file.page.locator('main').getByRole('button', { name }).count(), 0)
  }
  await file.page.getByRole('tab', { name: 'Rules' }).click()
  await file.page.getByText('No rules yet').waitFor()
  await file.page.getByRole('tab', { name: 'Reviewers' }).click()
  await file.page.getByText('No reviews yet.').waitFor()
  await file.page.getByRole('tab', { name: 'Items' }).click()
  await file.page.locator('[role=row]:has-text("search") a').click()
  await file.page.waitForSelector('.exception >> text=TimeoutError: too slow')
  await file.page.keyboard.press('n')
  await file.page.waitForSelector('.feedback-list >> text=Too slow. <img')
  assert.equal(await file.page.locator('#page img').count(), 0)
  assert.doesNotMatch(await file.page.title(), /^taken/)
  assert.deepEqual([...problems, ...file.problems], [])
})

test('the call under review is exported as one file', { skip }, async (t) => {
  const queue = await createQueue(served().post, { name: 'One by one' })
  const call_ids = [idOf('search', 300)]
  await served().post(`/annotation_queues/${queue}/items`, { project_id: project, call_ids })
  const { page, problems } = await open(t, `/ui/${project}/queues/${queue}/review`)
  await page.waitForSelector('.reading .exception')
  const file = await reopened(t, page, 'call')
  await file.page.waitForSelector('.exception >> text=TimeoutError: too slow')
  assert.deepEqual([...problems, ...file.problems], [])
})

test('an exported file says what it does not contain', { skip }, async (t) => {
  const at = await servePageApp(t)
  const root = { id: 'a'.repeat(16), trace_id: 'b'.repeat(32), parent_id: null }
  const below = Array.from({ length: 1_100 }, (_, index) => ({
    ...root,
    id: `c${String(index).padStart(15, '0')}`,
    parent_id: root.id,
  }))
  await writeCalls(at, [root, ...below].map(completeOf))
  const { page } = await open(t, `/ui/${project}/trace/${root.trace_id}`, { at })
  await page.waitForSelector('[role=treeitem]')
  const file = await reopened(t, page, 'trace')
  await file.page
    .getByText('It contains all 1,101 calls of the trace, and the values of 1,000 of them.')
    .waitFor()
  await file.page.keyboard.press('G')
  await file.page.getByRole('alert').getByText('This is not in the file.').waitFor()
  assert.deepEqual(file.problems, [])
})
