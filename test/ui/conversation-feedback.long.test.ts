import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { keys } from '../support/app.ts'
import { noBrowser, type Page } from '../support/browser.ts'
import { completeOf, project } from '../support/calls.ts'
import { pageTests, writeCalls } from '../support/page-app.ts'
import { createQueue } from '../support/queues.ts'
import { assertAccessible, narrow } from './accessible.ts'

const skip = noBrowser
const odd = '../weave & wait?'
const id = (prefix: string, index: number) => prefix + String(index).padStart(15, '0')
const user = (content: string) => ({ role: 'user', content })
const assistant = (content: string | null, more: object = {}) => ({ role: 'assistant', content, ...more })
const tool = { id: 'k1', type: 'function', function: { name: 'count_ends', arguments: '{"side":"warp"}' } }

/** Turns of which each repeats those before, the last with a tool. */
function turnsOf(prefix: string, thread_id: string, count: number, second = 0) {
  const messages: object[] = [{ role: 'system', content: 'Be brief.' }]
  return Array.from({ length: count }, (_, index) => {
    const at = new Date(Date.UTC(2026, 0, 2, 3, 0, second + index)).toISOString()
    messages.push(user(`question ${index} of ${thread_id}`))
    if (index === count - 1)
      messages.push(assistant(null, { tool_calls: [tool] }), {
        role: 'tool',
        tool_call_id: 'k1',
        content: '12',
      })
    const call = completeOf({
      ...{ id: id(prefix, index), trace_id: id(prefix, index).repeat(2), thread_id, op_name: 'chat' },
      ...{ started_at: at, ended_at: at, inputs: { messages: [...messages] } },
      output: { choices: [{ message: assistant(`answer ${index}`) }] },
    })
    messages.push(assistant(`answer ${index}`))
    return call
  })
}

const { served, open } = await pageTests(
  { after },
  {
    fill: (page) =>
      writeCalls(page, [
        ...turnsOf('a', odd, 3),
        ...turnsOf('b', 'second', 1, 20),
        ...turnsOf('c', 'third', 2, 40),
      ]),
  },
)

const list = '/ui/acme/qa/conversations'
const path = (thread: string) => `/ui/acme/qa/conversation?thread=${encodeURIComponent(thread)}`
const row = (page: Page, text: string) => page.locator('.threads-grid .grid-row', { hasText: text })
const whole = (page: Page) => page.getByRole('region', { name: 'Feedback on the conversation' })

/** The rows of the newest version of a dataset. */
async function rowsOf(dataset: string): Promise<{ messages: object[]; thread_id: string }[]> {
  const { post } = served()
  const object = await post('/obj/read', { project_id: project, object_id: dataset, digest: 'latest' })
  const digest = String(object.json.obj.val.rows).split('/').at(-1)
  const { json, text } = await post('/table/query', { project_id: project, digest })
  assert.ok(json?.rows, text)
  return json.rows.map(({ val }: { val: object }) => val)
}

test('a conversation gets a thumb and a note, which its list counts and finds', { skip }, async (t) => {
  const { page, problems } = await open(t, path(odd), narrow)
  const about = whole(page)
  // A phone has no room to show it.
  await about.getByText('No feedback on this conversation yet.').waitFor({ state: 'attached' })
  await about.getByRole('button', { name: 'Good' }).click()
  await about.locator('button[aria-label=Good][aria-pressed=true]').waitFor()
  await about.getByRole('textbox', { name: 'A note on this conversation' }).fill('Asked twice.')
  // It outlasts a reload until it is sent, and is sent once.
  await page.reload()
  await about.getByRole('button', { name: 'Add note' }).dblclick()
  await about.getByRole('listitem').filter({ hasText: 'Asked twice.' }).waitFor()
  assert.equal(await about.getByRole('listitem').count(), 2)
  await assertAccessible(page)
  await page.goto(`${served().address}${list}?q=${encodeURIComponent('reaction:👍')}`)
  await page.getByText('1 conversation', { exact: true }).waitFor()
  const counts = row(page, odd).locator('.feedback-count')
  await counts.first().waitFor()
  assert.equal(await counts.count(), 2)
  await row(page, odd).getByRole('link').click()
  await about.getByRole('listitem').filter({ hasText: 'Asked twice.' }).waitFor()
  await about.locator('button[aria-label=Good][aria-pressed=true]').click()
  await about.locator('button[aria-label=Good][aria-pressed=false]').waitFor()
  assert.deepEqual(problems, [])
})

test('a conversation becomes one row of a dataset, with its tools', { skip }, async (t) => {
  const { page, problems } = await open(t, path(odd))
  await page.getByRole('button', { name: 'Conversation to dataset' }).click()
  await page.getByRole('dialog', { name: 'Add this conversation to a dataset' }).waitFor()
  await page.getByLabel('Dataset name').fill('talks')
  await page.getByRole('button', { name: 'Add 1 row' }).click()
  await page.getByRole('status').getByText('1 row added.').waitFor()
  const asked = (index: number) => user(`question ${index} of ${odd}`)
  assert.deepEqual(await rowsOf('talks'), [
    {
      messages: [
        { role: 'system', content: 'Be brief.' },
        ...[asked(0), assistant('answer 0'), asked(1), assistant('answer 1'), asked(2)],
        assistant(null, { tool_calls: [tool] }),
        { role: 'tool', content: '12', tool_call_id: 'k1' },
        assistant('answer 2'),
      ],
      thread_id: odd,
    },
  ])
  assert.deepEqual(problems, [])
})

test('ticked conversations become rows and items, and twice adds nothing', { skip }, async (t) => {
  const { page, problems } = await open(t, list)
  await row(page, 'second').getByRole('checkbox').check()
  await row(page, 'third').getByRole('checkbox').check()
  const toolbar = page.getByRole('toolbar', { name: 'Selected conversations' })
  await toolbar.getByText('2 conversations').waitFor()
  await assertAccessible(page)
  await toolbar.getByRole('button', { name: 'To dataset' }).click()
  await page.getByLabel('Dataset name').fill('both')
  await page.getByRole('button', { name: 'Add 2 rows' }).click()
  await page.getByRole('button', { name: 'Done' }).click()
  const names = (await rowsOf('both')).map(({ thread_id }) => thread_id)
  assert.deepEqual(names, ['second', 'third'])
  await toolbar.getByRole('button', { name: 'To queue' }).click()
  await page.getByRole('dialog', { name: 'Add 2 conversations to a queue' }).waitFor()
  await page.getByRole('combobox', { name: 'Queue name' }).fill('talks')
  await page.keyboard.press('Enter')
  await page.getByText('2 added.').waitFor()
  await page.goto(`${served().address}${path('third')}`)
  await page.getByRole('button', { name: 'Conversation to queue' }).click()
  await page.getByRole('option', { name: 'talks' }).click()
  await page.getByText('0 added, 1 already there.').waitFor()
  assert.deepEqual(problems, [])
})

test('a reviewer reads the whole conversation above the fields of its last turn', { skip }, async (t) => {
  const queue = await createQueue(served().post, { name: 'Whole talks' })
  const body = { project_id: project, call_ids: [id('a', 2)], display_fields: ['output'] }
  const added = await served().post(`/annotation_queues/${queue}/items`, body)
  assert.equal(added.json.added_count, 1, added.text)
  const { page, problems } = await open(t, `/ui/acme/qa/queues/${queue}/review`)
  const before = page.getByRole('region', { name: 'The conversation before' })
  const turn = (number: number) => before.getByRole('region', { name: `Turn ${number}`, exact: true })
  // The review opens below, at the turn that is judged.
  await turn(2).scrollIntoViewIfNeeded()
  await turn(2).locator('.chat:not([aria-busy]) .is-answer', { hasText: 'answer 1' }).waitFor()
  await turn(1).scrollIntoViewIfNeeded()
  await before.getByText(`question 0 of ${odd}`).waitFor()
  assert.equal(await before.getByRole('region').count(), 2)
  assert.equal(await before.getByRole('button', { name: /^(Good|Bad|To )/ }).count(), 0)
  await page.locator('.asked-about').getByText('answer 2').first().waitFor()
  await assertAccessible(page)
  assert.deepEqual(problems, [])
})

test('an annotator reads the turn in the queue, and is told that there are others', { skip }, async (t) => {
  const { post } = served()
  const queue = await createQueue(post, { name: 'Talks of others' })
  const items = { project_id: project, call_ids: [id('c', 1)] }
  assert.equal((await post(`/annotation_queues/${queue}/items`, items)).json.added_count, 1)
  const grants = [{ scope: project, role: 'annotator' }]
  const made = await post('/users', { name: 'ann', grants }, keys.root)
  assert.equal(made.status, 200, made.text)
  const { page } = await open(t, `/ui/acme/qa/queues/${queue}/review`, { key: made.json.key.key })
  await page.getByText('You may read the calls of this queue').waitFor()
  await page.locator('.asked-about').getByText('answer 1').first().waitFor()
})
