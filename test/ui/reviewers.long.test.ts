import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { keys } from '../support/app.ts'
import { noBrowser } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { createSpec } from '../support/feedback.ts'
import { chatCall, idOf, pageTests, writeCalls } from '../support/page-app.ts'
import { until } from '../support/wait.ts'
import { assertAccessible } from './accessible.ts'

const { served, open } = await pageTests(
  { after },
  { fill: (page) => writeCalls(page, [chatCall(0, 'Question 0?', 'Answer 0.')]) },
)

test('a queue that two review is created, and who decides sees both answers side by side', {
  skip: noBrowser,
}, async (t) => {
  const { post } = served()
  const ref = await createSpec(post, 'tone', { type: 'integer', minimum: 0, maximum: 5 })
  const { page, problems } = await open(t, '/ui/acme/qa/queues')
  await page.getByRole('button', { name: 'New queue' }).first().click()
  await page.getByLabel('Name', { exact: true }).fill('Tone')
  await page.getByLabel('Reviews per call').fill('2')
  await page.getByLabel('Reviewers', { exact: true }).fill('anna, ben')
  await page.getByLabel('Reviewers see answers of others').check()
  await page.getByLabel('Someone decides').selectOption('where reviewers disagree')
  await page.getByLabel('Who decides').fill('alice')
  await page.getByLabel('Numbers may differ by').fill('tone 1')
  await assertAccessible(page)
  await page.getByRole('button', { name: 'Create queue' }).click()
  await page.waitForURL(/\/queues\/[0-9a-f-]+$/)
  const queue = page.url().split('/').at(-1) as string
  const url = `/annotation_queues/${queue}`
  const stored = (await served().get(`${url}?project_id=${project}`)).json.queue
  const settings = {
    annotators: 2,
    reviewers: ['anna', 'ben'],
    blind: true,
    adjudication: 'on_disagreement',
    adjudicators: ['alice'],
    tolerance: { tone: 1 },
  }
  assert.deepEqual({ ...stored, ...settings }, stored)

  await served().send('PUT', url, { project_id: project, scorer_refs: [ref] })
  await post(`${url}/items`, { project_id: project, call_ids: [idOf('chat', 0)] })
  const { json } = await post(`${url}/items/query`, { project_id: project })
  for (const [name, value] of [
    ['anna', 4],
    ['ben', 2],
  ] as const) {
    const user = { name, grants: [{ scope: project, role: 'annotator' }] }
    const { key } = (await post('/users', user, keys.root)).json.key
    const answer = {
      ...{ project_id: project, queue_id: queue, annotation_ref: ref, payload: { value } },
      weave_ref: `weave:///${project}/call/${idOf('chat', 0)}`,
      feedback_type: 'wandb.annotation.tone',
    }
    assert.equal((await post('/feedback/create', answer, key)).status, 200)
    const state = { project_id: project, annotation_state: 'completed' }
    assert.equal((await post(`${url}/items/${json.items[0].id}/progress`, state, key)).status, 200)
  }
  await page.reload()
  await page.getByRole('button', { name: 'Disagreed 1' }).click()
  await page.getByRole('gridcell', { name: 'disagreed' }).waitFor()
  await page.getByRole('link', { name: 'Review', exact: true }).click()
  const answers = page.getByRole('table', { name: 'Answers of reviewers: tone' })
  await answers.waitFor()
  assert.deepEqual(await answers.getByRole('columnheader').allTextContents(), ['anna', 'ben'])
  assert.deepEqual(await answers.getByRole('cell').allTextContents(), ['4', '2'])
  await assertAccessible(page)
  await page.keyboard.press('3')
  await page.keyboard.press('Control+Enter')
  await page.getByText('Nothing left to review').waitFor()
  // The page shows what comes next while it sends the answer.
  const review = async () => (await post(`${url}/items/query`, { project_id: project })).json.items[0].review
  await until('the decision is stored', async () => (await review()).outcome === 'adjudicated')
  assert.deepEqual(await review(), {
    finished: 2,
    needed: 2,
    outcome: 'adjudicated',
    adjudicated_by: 'alice',
  })
  assert.deepEqual(problems, [])
})

test('a reviewer opens an answered item from the list again; who is no reviewer is not asked to review', {
  skip: noBrowser,
}, async (t) => {
  const { post } = served()
  const ref = await createSpec(post, 'kind', { type: 'boolean' })
  const grants = [{ scope: project, role: 'annotator' }]
  const { key } = (await post('/users', { name: 'rosa', grants }, keys.root)).json.key
  const settings = { name: 'Kindness', scorer_refs: [ref], reviewers: ['rosa'] }
  const { id } = (await post('/annotation_queues', { project_id: project, ...settings })).json
  await post(`/annotation_queues/${id}/items`, { project_id: project, call_ids: [idOf('chat', 0)] })
  const own = await open(t, `/ui/acme/qa/queues/${id}/review`, { key })
  await own.page.locator('.chip', { hasText: 'Yes' }).click()
  await own.page.getByRole('button', { name: 'Complete' }).click()
  await own.page.getByRole('link', { name: 'Open queue' }).click()
  await own.page.getByRole('link', { name: 'heddle.chat.completions' }).click()
  await own.page.getByText('You completed this item.').waitFor()
  await own.page.getByRole('button', { name: 'Reopen' }).click()
  await own.page.getByRole('button', { name: 'Complete' }).waitFor()
  assert.deepEqual(own.problems, [])

  const other = await open(t, `/ui/acme/qa/queues/${id}`)
  const item = other.page.getByRole('link', { name: 'Question 0?' })
  assert.equal(await item.getAttribute('href'), `/ui/acme/qa/call/${idOf('chat', 0)}`)
  assert.equal(await other.page.getByRole('link', { name: 'Review', exact: true }).count(), 0)
  await other.page.keyboard.press('Escape')
  await other.page.getByRole('link', { name: 'Kindness', exact: true }).waitFor()
  assert.equal(await other.page.getByRole('link', { name: 'Review Kindness' }).count(), 0)
  assert.deepEqual(other.problems, [])
})

test('an annotator is led to queues, and to nothing that it may not read', { skip: noBrowser }, async (t) => {
  const { post } = served()
  const grants = [{ scope: project, role: 'annotator' }]
  const { key } = (await post('/users', { name: 'noor', grants }, keys.root)).json.key
  const { page, problems } = await open(t, '/ui/', { key })
  await page.getByRole('link', { name: project }).click()
  await page.getByRole('heading', { name: 'Queues' }).waitFor()
  const sections = page.getByRole('navigation', { name: 'Project' }).getByRole('link')
  assert.deepEqual(await sections.allTextContents(), ['Queues'])
  assert.equal(await page.getByRole('link', { name: 'Playground' }).count(), 0)
  await page.keyboard.press('Control+k')
  const palette = page.getByRole('combobox')
  await palette.fill('Queues')
  await page.getByRole('option', { name: 'Queues' }).waitFor()
  for (const name of ['Charts', 'Judges', 'Playground', 'People']) {
    await palette.fill(name)
    await page.locator('#palette-choices:empty').waitFor({ state: 'attached' })
  }
  assert.deepEqual(problems, [])
})
