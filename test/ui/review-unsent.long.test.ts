import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { keys, openApp } from '../support/app.ts'
import { noBrowser, openPage } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { chatCall, idOf, type PageApp, pageTests, servePageApp, writeCalls } from '../support/page-app.ts'
import { createQueue } from '../support/queues.ts'

const skip = noBrowser

const { browser } = await pageTests({ after })

/** A server with a queue of three calls. */
async function serve(t: { after(end: () => Promise<void>): void }) {
  const served = await servePageApp(t)
  const batch = [0, 1, 2].map((index) => chatCall(index, `Question ${index}?`, 'Answer.'))
  await writeCalls(served, batch)
  const queue = await createQueue(served.post, { name: 'Round', scorer_refs: [] })
  const call_ids = batch.map(({ id }) => id)
  await served.post(`/annotation_queues/${queue}/items`, { project_id: project, call_ids })
  return { served, queue, path: `/ui/acme/qa/queues/${queue}/review` }
}

async function said({ post }: Pick<PageApp, 'post'>, call: number): Promise<(string | undefined)[]> {
  const ref = `weave:///${project}/call/${idOf('chat', call)}`
  const query = { $expr: { $eq: [{ $getField: 'weave_ref' }, { $literal: ref }] } }
  const { json } = await post('/feedback/query', { project_id: project, query })
  return json.result.map(
    ({ payload }: { payload: { emoji?: string; note?: string } }) => payload.emoji ?? payload.note,
  )
}

async function completed({ post }: Pick<PageApp, 'post'>, queue: string): Promise<number> {
  const { json } = await post('/annotation_queues/stats', { project_id: project, queue_ids: [queue] })
  return json.stats[0].by_state.completed
}

const question = (index: number) => `.reading >> text=Question ${index}?`
const status = (page: Page, text: string | RegExp) =>
  page.getByRole('status').getByText(text, { exact: true }).waitFor()

const isWrite = (url: URL) => url.pathname.endsWith('/feedback/batch/create')

test('unsaved answers survive a reload: an answer that the server already has is stored once, and a draft is kept', {
  skip,
}, async (t) => {
  const { served, queue, path } = await serve(t)
  const { page } = await openPage(browser(), t, `${served.address}${path}#key=${keys.alice}`)
  await page.waitForSelector(question(0))
  // The server stores the answer, but its response never arrives.
  await page.route(isWrite, async (route) => {
    await route.fetch()
    await route.abort()
  })
  await page.keyboard.press('2')
  await page.keyboard.press('Control+Enter')
  await page.waitForSelector(question(1))
  await status(page, '1 not saved: The server does not answer. Trying again.')
  assert.deepEqual(await said(served, 0), ['👎'])
  assert.equal(await completed(served, queue), 0)
  await page.getByRole('textbox', { name: 'Note' }).fill('Half a tho')
  page.on('dialog', (dialog) => void dialog.accept())
  await page.reload()
  await page.waitForSelector(question(1))
  assert.equal(await page.getByRole('textbox', { name: 'Note' }).inputValue(), 'Half a tho')
  await status(page, '1 not saved: The server does not answer. Trying again.')
  await page.unroute(isWrite)
  await page.getByText('1 of 3').waitFor()
  assert.deepEqual(await said(served, 0), ['👎'])
  assert.deepEqual(await said(served, 1), [])
  await page.keyboard.press('Control+Enter')
  await page.waitForSelector(question(2))
  await page.getByText('2 of 3').waitFor()
  assert.deepEqual(await said(served, 1), ['Half a tho'])
  await page.reload()
  await page.waitForSelector(question(2))
  assert.equal(await page.getByRole('textbox', { name: 'Note' }).inputValue(), '')
})

test('unsaved answers are sent after the user signs in again', { skip }, async (t) => {
  const { served, queue, path } = await serve(t)
  const { page } = await openPage(browser(), t, `${served.address}${path}#key=${keys.alice}`)
  await page.waitForSelector(question(0))
  const reason = { reason: 'Your session has ended.', code: 'unauthorized' }
  await page.route(isWrite, (route) => route.fulfill({ status: 401, json: reason }))
  await page.keyboard.press('1')
  await page.keyboard.press('Control+Enter')
  await page.getByLabel('Key', { exact: true }).waitFor()
  assert.deepEqual(await said(served, 0), [])
  await page.unroute(isWrite)
  await page.getByLabel('Key', { exact: true }).fill(keys.alice)
  await page.keyboard.press('Enter')
  await page.getByText('1 of 3').waitFor()
  assert.deepEqual(await said(served, 0), ['👍'])
  assert.equal(await completed(served, queue), 1)
})

test('a review continues across a restart of the server, and the answer given meanwhile is saved once', {
  skip,
}, async (t) => {
  const { served, queue, path } = await serve(t)
  const { page } = await openPage(browser(), t, `${served.address}${path}#key=${keys.alice}`)
  await page.waitForSelector(question(0))
  const { port } = served.app.server.address() as AddressInfo
  served.app.server.closeAllConnections()
  await served.app.close()
  await page.keyboard.press('1')
  await page.keyboard.press('Control+Enter')
  await status(page, '1 not saved: The server does not answer. Trying again.')
  const restarted = await openApp(t, { database: served.database })
  await restarted.app.listen({ host: '127.0.0.1', port })
  await status(page, 'Saved')
  await page.getByText('1 of 3').waitFor()
  assert.deepEqual(await said(restarted, 0), ['👍'])
  assert.equal(await completed(restarted, queue), 1)
})
