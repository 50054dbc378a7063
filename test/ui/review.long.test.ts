import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { keys } from '../support/app.ts'
import { noBrowser, type OpenedPage } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { chatCall, idOf, pageTests, writeCalls } from '../support/page-app.ts'
import { createQueue } from '../support/queues.ts'
import { until } from '../support/wait.ts'
import { assertAccessible, narrow } from './accessible.ts'

const skip = noBrowser

const hostile = '<img src=x onerror="document.title=`taken`">'

const batch = Array.from({ length: 40 }, (_, index) =>
  chatCall(index, `Question ${index}? ${hostile}`, `Answer ${index}. ${hostile}`),
)
const {
  served,
  browser,
  open: openPath,
} = await pageTests({ after }, { fill: (page) => writeCalls(page, batch) })

/** Creates an annotation spec with this schema, and returns its ref. */
async function specOf(name: string, field_schema: object): Promise<string> {
  const obj = {
    project_id: project,
    object_id: name,
    val: { name, field_schema },
    builtin_object_class: 'AnnotationSpec',
  }
  const { json, text, status } = await served().post('/obj/create', { obj })
  assert.equal(status, 200, text)
  return `weave:///${project}/object/${name}:${json.digest}`
}

/** Creates a queue of the calls from `first` on. */
async function queueOf(specs: string[], first: number, size: number): Promise<string> {
  const id = await createQueue(served().post, { name: `Round ${first}`, scorer_refs: specs })
  const call_ids = Array.from({ length: size }, (_, index) => idOf('chat', first + index))
  const added = await served().post(`/annotation_queues/${id}/items`, { project_id: project, call_ids })
  assert.equal(added.json.added_count, size, added.text)
  return id
}

const open = (
  t: TestContext,
  queue: string,
  search = '',
  opening: Parameters<typeof openPath>[2] = {},
): Promise<OpenedPage> => openPath(t, `/ui/acme/qa/queues/${queue}/review${search}`, opening)

async function said(call: number): Promise<[string, unknown][]> {
  const ref = `weave:///${project}/call/${idOf('chat', call)}`
  const query = { $expr: { $eq: [{ $getField: 'weave_ref' }, { $literal: ref }] } }
  const { json } = await served().post('/feedback/query', { project_id: project, query })
  return json.result.map((one: { feedback_type: string; payload: unknown }) => [
    one.feedback_type,
    one.payload,
  ])
}

async function states(queue: string): Promise<Record<string, number>> {
  const { json } = await served().post('/annotation_queues/stats', {
    project_id: project,
    queue_ids: [queue],
  })
  return json.stats[0].by_state
}

const question = (index: number) => `.reading >> text=Question ${index}?`

test('a queue is reviewed with the keyboard alone: choose, complete, skip, undo', { skip }, async (t) => {
  const tone = await specOf('tone', { enum: ['kind', 'neutral', 'rude'] })
  const grade = await specOf('grade', { type: 'integer', minimum: 0, maximum: 5 })
  const queue = await queueOf([tone, grade], 0, 4)
  const { page, problems } = await open(t, queue)
  await page.waitForSelector(question(0))
  await page.keyboard.press('2')
  await page.keyboard.press('Tab')
  await page.keyboard.press('5')
  await page.keyboard.press('Tab')
  await page.keyboard.type('Skips the date: 1, 2 and u')
  await page.keyboard.press('Control+Enter')
  await page.waitForSelector(question(1))
  await page.getByRole('status').getByText('Saved', { exact: true }).waitFor()
  assert.deepEqual(await said(0), [
    ['wandb.annotation.tone', { value: 'neutral' }],
    ['wandb.annotation.grade', { value: 5 }],
    ['wandb.note.1', { note: 'Skips the date: 1, 2 and u' }],
  ])
  await page.keyboard.press('s')
  await page.waitForSelector(question(2))
  await page.keyboard.press('u')
  await page.waitForSelector(question(1))
  await page.keyboard.press('1')
  await page.keyboard.press('Control+Enter')
  await page.waitForSelector(question(2))
  await page.keyboard.press('u')
  await page.waitForSelector(question(1))
  assert.equal(await page.getByRole('button', { name: '1 kind' }).getAttribute('aria-pressed'), 'true')
  await page.keyboard.press('3')
  await page.keyboard.press('Control+Enter')
  await page.waitForSelector(question(2))
  await page.getByRole('status').getByText('Saved', { exact: true }).waitFor()
  assert.deepEqual(await said(1), [['wandb.annotation.tone', { value: 'rude' }]])
  await page.keyboard.press('s')
  await page.waitForSelector(question(3))
  await page.keyboard.press('Control+Enter')
  await page.getByText('Nothing left to review').waitFor()
  await page.getByText('4 of 4').waitFor()
  assert.deepEqual(await states(queue), { unstarted: 0, in_progress: 0, completed: 3, skipped: 1 })
  assert.deepEqual(problems, [])
})

test('two reviewers never get the same item, and an item fetched ahead is released', {
  skip,
}, async (t) => {
  const queue = await queueOf([], 10, 3)
  const one = await open(t, queue)
  await one.page.waitForSelector(question(10))
  const other = await open(t, queue, '', { key: keys.root })
  await other.page.waitForSelector(question(12))
  await one.page.keyboard.press('Control+Enter')
  await one.page.waitForSelector(question(11))
  await one.page.keyboard.press('Control+Enter')
  await one.page.getByText('Others are still reviewing').waitFor()
  await other.page.keyboard.press('Escape')
  await other.page.getByRole('heading', { name: 'Round 10' }).waitFor()
  await one.page.getByRole('button', { name: 'Check again' }).click()
  await one.page.waitForSelector(question(12))
  assert.deepEqual([...one.problems, ...other.problems], [])
})

test('opening an item that another reviewer has says so, and leads to the next item', { skip }, async (t) => {
  const queue = await queueOf([], 13, 3)
  const one = await open(t, queue)
  await one.page.waitForSelector(question(13))
  const other = await open(t, queue, new URL(one.page.url()).search, { key: keys.root })
  await other.page.waitForSelector(question(13))
  const told = other.page.getByRole('alert').filter({ hasText: 'alice has this item now.' })
  await told.getByRole('button', { name: 'Next item' }).click()
  await other.page.waitForSelector(question(15))
  await told.waitFor({ state: 'detached' })
  await one.page.keyboard.press('Control+Enter')
  await one.page.getByRole('status').getByText('Saved', { exact: true }).waitFor()
  await one.page.waitForSelector(question(14))
  assert.equal((await states(queue)).completed, 1)
  assert.deepEqual([...one.problems, ...other.problems], [])
})

test('no answer is shown as saved when its queue has been deleted meanwhile', { skip }, async (t) => {
  const queue = await queueOf([], 16, 2)
  const { page } = await open(t, queue)
  await page.waitForSelector(question(16))
  const path = `/annotation_queues/${queue}?project_id=${encodeURIComponent(project)}`
  assert.equal((await served().send('DELETE', path)).status, 200)
  await page.keyboard.press('1')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('status').getByText('Not saved', { exact: true }).waitFor()
  await page.getByRole('alert').getByText('Item 1 is not saved').waitFor()
  assert.deepEqual(await said(16), [])
})

test('an invalid value is refused at its field, by the page and by the server', {
  skip,
}, async (t) => {
  const share = await specOf('share', { type: 'number', minimum: 0, maximum: 1 })
  const shape = await specOf('shape', {
    type: 'object',
    properties: { kind: { enum: ['a', 'b'] }, why: { type: 'string', minLength: 3 } },
    required: ['kind'],
  })
  const odd = await specOf('odd', { type: 'array', items: { type: 'integer' }, minItems: 2 })
  const queue = await queueOf([share, shape, odd], 20, 2)
  const { page, problems } = await open(t, queue)
  await page.waitForSelector(question(20))
  await page.locator('#q-share').fill('7')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('alert').getByText('At most 1.').waitFor()
  await page.locator('#q-share').fill('0.10')
  await page.locator('#q-shape-why').fill('because')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('alert').getByText('kind is missing.').waitFor()
  await page.getByRole('button', { name: '1 a' }).click()
  await page.locator('#q-odd').fill('[9007199254740993]')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('alert').getByText('payload.value').waitFor()
  await page.locator('#q-odd').fill('[9007199254740993, 2]')
  await page.keyboard.press('Control+Enter')
  await page.waitForSelector(question(21))
  await page.getByRole('status').getByText('Saved', { exact: true }).waitFor()
  const ref = `weave:///${project}/call/${idOf('chat', 20)}`
  const query = { $expr: { $eq: [{ $getField: 'weave_ref' }, { $literal: ref }] } }
  const { text } = await served().post('/feedback/query', { project_id: project, query })
  for (const digits of ['[9007199254740993,2]', '0.10', '{"kind":"a","why":"because"}']) {
    assert.ok(text.includes(digits), `${digits} in ${text}`)
  }
  // The browser logs the refusals of the server to its console.
  assert.deepEqual(
    problems.filter((one) => !one.includes('400')),
    [],
  )
})

test('leaving with unsaved answers asks first, and leaving without any does not', { skip }, async (t) => {
  const queue = await queueOf([], 30, 2)
  const { page, problems } = await open(t, queue)
  await page.waitForSelector(question(30))
  await page.keyboard.press('1')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').getByText('Your answers to this item are not saved.').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.waitForSelector(question(30))
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Leave' }).click()
  await page.getByRole('heading', { name: 'Round 30' }).waitFor()
  assert.deepEqual(await said(30), [])
  assert.deepEqual(problems, [])
})

test('nothing is lost while the server is away: the page tries again and shows when the answer is saved', {
  skip,
}, async (t) => {
  const queue = await queueOf([], 33, 3)
  const { page } = await open(t, queue)
  await page.waitForSelector(question(33))
  // Reads of the next item pass: one may still be on its way.
  const isWrite = (url: URL) => url.pathname.startsWith('/feedback/') && !url.pathname.endsWith('/query')
  await page.route(isWrite, (route) => route.abort())
  await page.route('**/progress', (route) => route.abort())
  // A browser that begins to catch requests may let the first one through.
  await until('requests are cut off', () =>
    page.evaluate(() =>
      fetch('/feedback/none').then(
        () => false,
        () => true,
      ),
    ),
  )
  await page.keyboard.press('2')
  await page.keyboard.press('Control+Enter')
  await page.waitForSelector(question(34))
  await page.getByRole('status').getByText('1 not saved: The server does not answer. Trying again.').waitFor()
  assert.deepEqual(await said(33), [])
  await page.unroute(isWrite)
  await page.unroute('**/progress')
  await page.getByRole('status').getByText('Saved', { exact: true }).waitFor()
  assert.equal((await said(33)).length, 1)
  assert.equal((await states(queue)).completed, 1)
})

test('a lease is counted down, its end is shown, and the item is leased again', { skip }, async (t) => {
  const queue = await queueOf([], 36, 1)
  const context = await browser().newContext({ viewport: { width: 1400, height: 800 } })
  t.after(() => context.close())
  const page = await context.newPage()
  await page.clock.install()
  await page.goto(`${served().address}/ui/acme/qa/queues/${queue}/review#key=${keys.alice}`)
  await page.waitForSelector(question(36))
  await page.clock.fastForward(13.5 * 60_000)
  await page.getByRole('timer').getByText('kept for you 1:').waitFor()
  await page.clock.fastForward(2 * 60_000)
  await page.getByRole('alert').getByText('Your lease ran out').waitFor()
  await page.getByRole('button', { name: 'Renew lease' }).click()
  await page.getByText('Your lease ran out').waitFor({ state: 'detached' })
})

test('a review begins at what is judged, below the turns before it', { skip }, async (t) => {
  const long = 'A line of the answer.\n\n'.repeat(40)
  const turns = Array.from({ length: 3 }, (_, index) =>
    chatCall(50 + index, `Turn ${index}?`, `${index}: ${long}`, {
      thread_id: 'long',
      turn_id: `long-${index}`,
    }),
  )
  await writeCalls(served(), turns)
  const queue = await createQueue(served().post, { name: 'Last turns', scorer_refs: [] })
  const items = { project_id: project, call_ids: [idOf('chat', 52)] }
  assert.equal((await served().post(`/annotation_queues/${queue}/items`, items)).status, 200)
  const { page, problems } = await open(t, queue, '', narrow)
  await page.getByRole('heading', { name: 'Turn 3: the one to review' }).waitFor()
  await page.locator('.turns-before .said').first().waitFor({ state: 'attached' })
  const top = (selector: string) =>
    page.locator(selector).evaluate((element) => element.getBoundingClientRect().top)
  assert.ok((await top('.turns-before > h2')) - (await top('.reading')) < 40)
  assert.deepEqual(problems, [])
})

test('the review is accessible', { skip }, async (t) => {
  const specs = await Promise.all([
    specOf('correct', { type: 'boolean' }),
    specOf('score', { type: 'integer', minimum: 1, maximum: 10 }),
    specOf('share', { type: 'number', minimum: 0, maximum: 1 }),
    specOf('free', { type: 'object' }),
  ])
  const queue = await queueOf(specs, 38, 2)
  const { page, problems } = await open(t, queue, '', narrow)
  await page.waitForSelector(question(38))
  await assertAccessible(page)
  await page.keyboard.press('c')
  await page.getByRole('tab', { name: 'Attributes' }).waitFor()
  await assertAccessible(page)
  assert.doesNotMatch(await page.title(), /taken/)
  assert.deepEqual(problems, [])
})
