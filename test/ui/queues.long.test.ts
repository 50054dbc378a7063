import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { noBrowser } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { chatCall, idOf, pageTests, writeCalls } from '../support/page-app.ts'
import { createQueue } from '../support/queues.ts'
import { assertAccessible, goNarrow, narrow } from './accessible.ts'

const skip = noBrowser

const hostile = '<img src=x onerror="document.title=`taken`">'

const { served, open } = await pageTests(
  { after },
  {
    async fill(page) {
      const batch = Array.from({ length: 120 }, (_, index) =>
        chatCall(index, `Question ${index}?`, 'Answer.'),
      )
      await writeCalls(page, batch)
      const queueId = await createQueue(page.post, { name: `Hard ${hostile}`, description: hostile })
      const call_ids = batch.map(({ id }) => id)
      await page.post(`/annotation_queues/${queueId}/items`, { project_id: project, call_ids })
      return { queueId }
    },
  },
)

const queuesPath = '/ui/acme/qa/queues'

test('a queue is created with the keyboard alone, along with a new question', { skip }, async (t) => {
  const { page, problems } = await open(t, queuesPath)
  await page.getByRole('link', { name: 'Hard', exact: false }).first().waitFor()
  await page.keyboard.press('n')
  await page.getByLabel('Name', { exact: true }).fill('Friday round')
  await page.getByRole('button', { name: 'Add a question' }).focus()
  await page.keyboard.press('Enter')
  await page.keyboard.type('Is it right?')
  await page.getByLabel('Choices, separated by commas').fill('right, partly, wrong')
  await page.keyboard.press('Enter')
  await page.getByRole('checkbox', { name: 'Is it right?' }).waitFor()
  assert.equal(await page.getByRole('checkbox', { name: 'Is it right?' }).isChecked(), true)
  await page.getByRole('button', { name: 'Create queue' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Friday round' }).waitFor()
  await page.getByText('No calls in this queue yet').waitFor()
  const id = new URL(page.url()).pathname.split('/').at(-1)
  const { json } = await served().get(`/annotation_queues/${id}?project_id=${project}`)
  assert.match(json.queue.scorer_refs[0], /^weave:\/\/\/acme\/qa\/object\/is_it_right:/)
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: 'Friday round', exact: true }).waitFor()
  assert.deepEqual(problems, [])
})

test('deleting a queue that another user has deleted says so, and leads to the list', { skip }, async (t) => {
  const id = await createQueue(served().post, { name: 'Deleted twice' })
  const { page } = await open(t, `${queuesPath}/${id}`)
  await page.getByRole('button', { name: 'Delete' }).click()
  const search = new URLSearchParams({ project_id: project })
  const { status } = await served().send('DELETE', `/annotation_queues/${id}?${search}`)
  assert.equal(status, 200)
  await page.getByRole('button', { name: 'Delete queue' }).click()
  await page.getByRole('heading', { name: 'Queue not found' }).waitFor()
  await page.getByRole('link', { name: 'All queues' }).click()
  await page.getByRole('heading', { name: 'Queues', exact: true }).waitFor()
})

test('a call is added to a queue from its own view', { skip }, async (t) => {
  const { page, problems } = await open(t, `/ui/acme/qa/calls?peek=${idOf('chat', 5)}`)
  await page.waitForSelector('.peek .said.is-answer')
  await page.keyboard.press('a')
  await page.getByRole('combobox', { name: 'Queue name' }).waitFor()
  await page.keyboard.type('Fresh one')
  await page.waitForSelector('[role=option] >> text=Create “Fresh one”')
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText('1 added.').waitFor()
  await page.keyboard.press('Enter')
  await page.keyboard.press('a')
  await page.keyboard.type('Fresh')
  await page.waitForSelector('[role=option] >> text=Fresh one')
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText('0 added, 1 already there.').waitFor()
  await page.getByRole('link', { name: 'Open Fresh one' }).click()
  await page.getByRole('row').getByText('Question 5?', { exact: true }).waitFor()
  assert.deepEqual(problems, [])
})

test('a queue is found by name however many newer ones exist, and is not created twice', {
  skip,
}, async (t) => {
  const project_id = 'acme/older'
  const call = chatCall(900, 'Question?', 'Answer.', { project_id })
  await writeCalls(served(), [call], project_id)
  const id = await createQueue(served().post, { project_id, name: 'Oldest of all' })
  for (let index = 0; index < 500; index++) {
    await createQueue(served().post, { project_id, name: `Later ${index}` })
  }
  const { page, problems } = await open(t, `/ui/${project_id}/calls?peek=${call.id}`)
  await page.waitForSelector('.peek .said.is-answer')
  await page.keyboard.press('a')
  await page.getByRole('option').getByText('Later 499').waitFor()
  await page.keyboard.type('Oldest')
  await page.getByRole('option').getByText('Oldest of all').waitFor()
  // Enter is pressed before the server has looked for the whole name.
  const { promise: pressed, resolve: release } = Promise.withResolvers<void>()
  await page.route('**/annotation_queues/query', async (route) => {
    await pressed
    await route.continue()
  })
  await page.keyboard.type(' of all')
  await page.keyboard.press('Enter')
  release()
  await page.getByRole('status').getByText('1 added.').waitFor()
  const link = page.getByRole('link', { name: 'Open Oldest of all' })
  assert.match((await link.getAttribute('href')) ?? '', new RegExp(id))
  assert.deepEqual(problems, [])
})

test('the keyboard moves through the items of a queue, and a filter shows one state', { skip }, async (t) => {
  const { page, problems } = await open(t, `${queuesPath}/${served().queueId}`)
  await page.getByRole('row').getByText('Question 0?', { exact: true }).waitFor()
  await page.keyboard.press('G')
  await page.getByRole('row').getByText('Question 119?', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Skipped 0' }).click()
  await page.getByText('No items in this state').waitFor()
  await page.getByRole('button', { name: 'All items' }).click()
  await page.getByRole('tab', { name: 'Rules' }).click()
  await page.getByLabel('n', { exact: true }).fill('25')
  await page.getByRole('button', { name: 'Create rule' }).click()
  await page.getByText('every 25th call, 0 counted').waitFor()
  await page.getByRole('checkbox', { name: 'On' }).click()
  await page.getByRole('checkbox', { name: 'Paused' }).waitFor()
  await page.getByRole('button', { name: 'Delete rule' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText('No rules yet').waitFor()
  assert.deepEqual(problems, [])
})

test('a queue is renamed, and deleted after a confirmation', { skip }, async (t) => {
  const id = await createQueue(served().post, { name: 'Old name' })
  const { page, problems } = await open(t, `${queuesPath}/${id}`)
  await page.getByRole('heading', { name: 'Old name' }).waitFor()
  await page.keyboard.press('e')
  await page.getByLabel('Name', { exact: true }).fill('New name')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'New name' }).waitFor()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByText('“New name” and its rules will be deleted').waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Delete queue' }).click()
  await page.getByRole('heading', { name: 'Queues' }).waitFor()
  assert.equal((await served().get(`/annotation_queues/${id}?project_id=${project}`)).status, 404)
  assert.deepEqual(problems, [])
})

test('queues after the first hundred load as the list is scrolled', { skip }, async (t) => {
  const at = 'acme/many'
  for (let index = 0; index < 130; index++) {
    await createQueue(served().post, { project_id: at, name: `Queue number ${index}` })
  }
  const { page, problems } = await open(t, `/ui/${at}/queues`)
  await page.getByText('The newest 100; scroll for more').waitFor()
  await page.keyboard.press('G')
  await page.getByRole('main').getByText('130', { exact: true }).waitFor()
  await page.keyboard.press('G')
  await page.getByRole('link', { name: 'Queue number 0', exact: true }).waitFor()
  const rows = await page.getByRole('row').count()
  assert.ok(rows < 100, `the document contains ${rows} rows`)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Queue number 0', exact: true }).waitFor()
  assert.deepEqual(problems, [])
})

test('queues are accessible, and on a phone a name has two lines', { skip }, async (t) => {
  const queue = `${queuesPath}/${served().queueId}`
  const places: [path: string, text: string, press?: string][] = [
    [queuesPath, 'Hard'],
    [queuesPath, 'Hard', 'n'],
    ['/ui/acme/none/queues', 'No queues yet'],
    [queue, 'Question 0?'],
    [`${queue}?tab=rules`, 'Create rule'],
    [`${queue}?tab=reviewers`, 'No reviews yet'],
  ]
  const { page, problems } = await open(t, '/ui/me', narrow)
  await goNarrow(page, served().address + queuesPath)
  const name = page.locator('.queue-title a').first()
  await name.waitFor()
  const lines = await name.evaluate((link) => {
    link.textContent = 'ما هي عاصمة بوركينا فاسو وكيف يكتب اسمها بالفرنسية؟'
    const { lineHeight, direction } = getComputedStyle(link)
    return { direction, lines: Math.round(link.clientHeight / Number.parseFloat(lineHeight)) }
  })
  assert.deepEqual(lines, { direction: 'rtl', lines: 2 })
  for (const [path, text, press] of places) {
    await goNarrow(page, served().address + path)
    await page.getByText(text).first().waitFor()
    if (press) await page.keyboard.press(press)
    await assertAccessible(page)
    const heading = await page.locator('main h1').textContent()
    const [, , entity, name] = path.split(/[/?]/)
    assert.equal(await page.title(), `${heading} · ${entity}/${name} · Heddle`)
    assert.equal(await page.locator('img[src=x]').count(), 0)
    assert.deepEqual(problems, [])
  }
})
