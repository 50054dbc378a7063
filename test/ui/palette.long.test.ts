import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { keys } from '../support/app.ts'
import { noBrowser, type Page } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { giveFeedback } from '../support/feedback.ts'
import { create } from '../support/objects.ts'
import { idOf, pageTests, traceCalls, writeCalls } from '../support/page-app.ts'
import { type FilledQueue, fillQueue } from '../support/queues.ts'

const skip = noBrowser
const other = 'acme/other'

interface Filled extends FilledQueue {
  feedbackId: string
  digest: string
}

const { open, served } = await pageTests<Filled>(
  { after },
  {
    async fill(page) {
      await writeCalls(page, traceCalls(1))
      await writeCalls(
        page,
        traceCalls(2).map((call) => ({ ...call, project_id: other })),
        other,
      )
      const weave_ref = `weave:///${project}/call/${idOf('search', 1)}`
      const feedbackId = await giveFeedback(page.post, { svc_ref: weave_ref })
      const digest = await create(page, 'capitals', { rows: 3 })
      return { ...(await fillQueue(page.post, 2)), feedbackId, digest }
    },
  },
)

async function paste(page: Page, text: string): Promise<void> {
  await page.evaluate((given) => {
    const clipboardData = new DataTransfer()
    clipboardData.setData('text/plain', given)
    document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }))
  }, text)
}

test('an id of any kind is found in any project', { skip }, async (t) => {
  const { queueId, itemIds, feedbackId, digest } = served()
  const callId = idOf('search', 1)
  const { page, problems } = await open(t, `/ui/${project}/objects`)
  for (const [text, option, path] of [
    [callId, `Call ${callId}`, `/ui/${project}/trace/${idOf('trace', 1)}`],
    [idOf('trace', 1), '3 calls, acme/qa', `/ui/${project}/trace/${idOf('trace', 1)}`],
    [queueId, 'Queue Hard questions', `/ui/${project}/queues/${queueId}`],
    [itemIds[1] as string, 'item of Hard questions', `/ui/${project}/queues/${queueId}/review`],
    [feedbackId, `Feedback on call ${callId}`, `/ui/${project}/trace/${idOf('trace', 1)}`],
    [digest, 'Object capitals', `/ui/${project}/data/capitals`],
    // In another project than the open one.
    [idOf('answer', 2), `Call ${idOf('answer', 2)}`, `/ui/${other}/trace/${idOf('trace', 2)}`],
    [
      `level=error span=${callId} msg="too slow"`,
      `Call ${callId}`,
      `/ui/${project}/trace/${idOf('trace', 1)}`,
    ],
    [
      JSON.stringify({ call: { project_id: other, id: idOf('agent', 2), inputs: {} } }, null, 2),
      `Call ${idOf('agent', 2)}`,
      `/ui/${other}/trace/${idOf('trace', 2)}`,
    ],
  ] as const) {
    await page.goto(`${served().address}/ui/${project}/objects`)
    await page.waitForSelector('header.top')
    await paste(page, text)
    await page.locator('[role=option][aria-selected=true]').filter({ hasText: option }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForFunction((wanted) => location.pathname === wanted, path)
  }
  assert.deepEqual(problems, [])
})

test('an unknown id says so, and its words can be searched for', { skip }, async (t) => {
  const { page, problems } = await open(t, `/ui/${project}/objects`)
  await paste(page, 'f'.repeat(16))
  await page.getByText('Nothing you have access to has this ID.').waitFor()
  await page.getByRole('option', { name: /Search calls for/ }).waitFor()
  assert.deepEqual(problems, [])
})

test('what can be made or exported is a command', { skip }, async (t) => {
  const { page, problems } = await open(t, `/ui/${project}/calls`, { key: keys.root })
  const command = async (text: string) => {
    await page.keyboard.press('Control+k')
    await page.keyboard.type(text)
    await page.locator('[role=option][aria-selected=true]').filter({ hasText: text }).waitFor()
    await page.keyboard.press('Enter')
  }
  await page.getByRole('button', { name: 'Export JSONL' }).waitFor()
  const download = page.waitForEvent('download')
  await command('Export JSONL')
  assert.match((await download).suggestedFilename(), /\.jsonl$/)
  await command('New queue')
  await page.getByRole('dialog', { name: 'New queue' }).waitFor()
  await page.keyboard.press('Escape')
  await command('Invite')
  await page.getByRole('dialog', { name: 'Invite' }).waitFor()
  await page.keyboard.press('Escape')
  // This screen has nothing to export.
  await page.keyboard.press('Control+k')
  await page.keyboard.type('Export')
  await page.getByRole('option', { name: /^Search/ }).waitFor()
  assert.equal(await page.getByRole('option', { name: /^Export/ }).count(), 0)
  assert.deepEqual(problems, [])
})

test('without a word come the last places, then those of the project, and no export', { skip }, async (t) => {
  const { page, problems } = await open(t, `/ui/${project}/objects`)
  await page.getByRole('link', { name: 'capitals', exact: true }).click()
  await page.getByRole('heading', { name: 'capitals' }).waitFor()
  await page.getByRole('link', { name: 'Calls', exact: true }).click()
  await page.getByRole('button', { name: 'Export JSONL' }).waitFor()
  await page.keyboard.press('Control+k')
  const choices = page.getByRole('dialog', { name: 'Go to' }).getByRole('option')
  await choices.getByText('capitals').waitFor()
  const texts = await choices.locator('span:first-child').allInnerTexts()
  assert.deepEqual(texts.slice(0, 4), ['capitals', 'Objects', 'Calls', 'Conversations'])
  assert.equal(texts.filter((text) => text.startsWith('Export')).length, 0)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/data/capitals')
  assert.deepEqual(problems, [])
})

test('who may make nothing has no command for it', { skip }, async (t) => {
  const { page, problems } = await open(t, `/ui/${project}/calls`)
  await page.keyboard.press('Control+k')
  await page.keyboard.type('invit')
  await page.getByRole('option', { name: /^Search/ }).waitFor()
  assert.equal(await page.getByRole('option', { name: /^Invite/ }).count(), 0)
  assert.deepEqual(problems, [])
})

test('the screens of the project are opened by name', { skip }, async (t) => {
  const { page, problems } = await open(t, `/ui/${project}/objects`)
  await page.keyboard.press('Control+k')
  await page.keyboard.type('eval')
  await page.locator('[role=option][aria-selected=true]').filter({ hasText: 'Evaluation runs' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByText('No evaluations yet').waitFor()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('new monitor')
  await page.locator('[role=option][aria-selected=true]').filter({ hasText: 'New monitor' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'New monitor' }).waitFor()
  // The first field has the focus, while the judges are on their way.
  await page.keyboard.type('watched')
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'watched')
  assert.deepEqual(problems, [])
})
