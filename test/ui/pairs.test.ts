import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { noBrowser } from '../support/browser.ts'
import { completeOf, project } from '../support/calls.ts'
import { chatCall, idOf, pageTests, writeCalls } from '../support/page-app.ts'
import { createQueue } from '../support/queues.ts'
import { until } from '../support/wait.ts'
import { assertAccessible, narrow } from './accessible.ts'

const models = ['secret-one', 'secret-two']
const usage = (n: number) => ({ usage: { [models[n] as string]: { requests: 1 } } })
const chats = models.map((model, n) =>
  chatCall(n, 'What is a warp?', `Thread ${n}.`, {
    op_name: `weave:///${project}/op/loom-${n}:v0`,
    inputs: { model, messages: [{ role: 'user', content: 'What is a warp?' }] },
    summary: usage(n),
  }),
)
const predictions = models.map((model, n) =>
  completeOf({
    op_name: `weave:///${project}/op/loom-${n}:v0`,
    inputs: { self: `weave:///${project}/object/${model}:v0`, model, question: 'A weft?' },
    output: { model, text: `Cross ${n}.` },
    summary: usage(n),
  }),
)

const { served, open } = await pageTests(
  { after },
  { fill: (page) => writeCalls(page, [...chats, ...predictions]) },
)

test('two answers are compared by keys, without a word about who gave them', {
  skip: noBrowser,
}, async (t) => {
  const { post } = served()
  const queue = await createQueue(post, { name: 'Looms' })
  const url = `/annotation_queues/${queue}`
  const pairs = [chats, predictions].map((calls) => ({ call_ids: calls.map(({ id }) => id) }))
  assert.equal((await post(`${url}/items`, { project_id: project, pairs })).json.added_count, 2)
  const itemsOf = async () => (await post(`${url}/items/query`, { project_id: project })).json.items
  const [first, second] = await itemsOf()
  const { page, problems } = await open(t, `/ui/acme/qa/queues/${queue}/review`)
  const answer = (n: number) => page.getByRole('region', { name: `Answer ${n}`, exact: true })

  await answer(2).waitFor()
  const isSwapped = first.display.left !== idOf('chat', 0)
  const texts = isSwapped ? ['Thread 1.', 'Thread 0.'] : ['Thread 0.', 'Thread 1.']
  for (const [n, text] of texts.entries()) assert.ok((await answer(n + 1).textContent())?.includes(text))
  assert.equal(await page.getByText('What is a warp?').count(), 1, 'the question is shown once')
  const boxes = async () => Promise.all([1, 2].map(async (n) => await answer(n).boundingBox()))
  await page.setViewportSize({ width: 1280, height: 800 })
  const [left, right] = await boxes()
  assert.ok(left && right && left.y === right.y && left.x + left.width <= right.x)
  await assertAccessible(page)
  await page.setViewportSize(narrow.viewport)
  const [upper, lower] = await boxes()
  assert.ok(upper && lower && upper.x === lower.x && upper.y + upper.height <= lower.y)
  await page.setViewportSize({ width: 1280, height: 800 })
  const isTold = async () => /secret|loom/.test((await page.locator('body').textContent()) ?? '')
  assert.equal(await isTold(), false)

  await page.keyboard.press('2')
  await page.getByLabel('Reason').fill('shorter')
  await page.keyboard.press('Control+Enter')
  await answer(1).getByText('Cross').waitFor()
  assert.equal(await page.getByText('A weft?').count(), 1)
  assert.equal(await isTold(), false)
  await page.keyboard.press('0')
  await page.keyboard.press('Control+Enter')
  await page.getByText('Nothing left to review').waitFor()

  await until('both are stored', async () =>
    (await itemsOf()).every((item: { annotation_state: string }) => item.annotation_state === 'completed'),
  )
  const { json } = await post('/feedback/query', { project_id: project })
  const about = (id: unknown) => `weave:///${project}/call/${id}`
  assert.deepEqual(
    json.result.map((one: Record<string, unknown>) => [one.feedback_type, one.weave_ref, one.payload]),
    [
      [
        'heddle.preference',
        about(first.call_id),
        { preferred: first.display.right, other: first.other_call_id, reason: 'shorter' },
      ],
      ['heddle.preference', about(second.call_id), { preferred: null, other: second.other_call_id }],
    ],
  )

  // Now it may be told.
  await page.goto(`${page.url().split('?')[0]}?item=${first.id}`)
  await answer(1)
    .getByRole('link', { name: isSwapped ? 'loom-1 · secret-two' : 'loom-0 · secret-one' })
    .waitFor()
  assert.equal(await page.getByRole('button', { name: 'Answer 2' }).getAttribute('aria-pressed'), 'true')
  assert.deepEqual(problems, [])
})
