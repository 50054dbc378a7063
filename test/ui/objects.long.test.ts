import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { noBrowser } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { chatCall, idOf, type PageApp, pageTests } from '../support/page-app.ts'
import { assertAccessible, goNarrow, narrow } from './accessible.ts'

const skip = noBrowser

const hostile = '<img src=x onerror="document.title=`taken`">'

async function fill(served: PageApp) {
  const post = async (url: string, body: unknown) => {
    const { status, text, json } = await served.post(url, body)
    assert.equal(status, 200, text)
    return json
  }
  const row = (index: number) => ({
    question: `Question ${index}?`,
    answer: `The answer is ${index}.`,
    hostile,
  })
  const rows = Array.from({ length: 1_200 }, (_, index) => row(index))
  const text = JSON.stringify({ name: 'capitals', rows }).replace('"Question 0?"', '9007199254740993')
  await post(`/v2/${project}/datasets`, text)
  rows[3] = { ...row(3), answer: 'The reply is 3.' }
  rows.splice(7, 1)
  await post(`/v2/${project}/datasets`, { name: 'capitals', rows: [...rows, row(5_000)] })
  const prompt = {
    _type: 'MessagesPrompt',
    _class_name: 'MessagesPrompt',
    _bases: ['Prompt', 'Object', 'BaseModel'],
  }
  const dataset = `weave:///${project}/object/capitals:v0`
  const messages = [{ role: 'system', content: `Be brief. ${hostile}` }]
  const obj = { project_id: project, object_id: 'brief', val: { ...prompt, messages, about: dataset } }
  await post('/obj/create', { obj })
  const call = chatCall(1, 'Which?', 'That.', { inputs: { example: dataset } })
  await post(`/v2/${project}/calls/complete`, { batch: [call] })
}

const { served, open } = await pageTests({ after }, { fill })

const objects = '/ui/acme/qa/objects'
const dataset = '/ui/acme/qa/data/capitals'

test('objects are filtered by class and opened with the keyboard alone', { skip }, async (t) => {
  const { page, problems } = await open(t, objects)
  await page.getByRole('link', { name: 'brief' }).waitFor()
  await page.getByRole('cell', { name: 'Messages prompt' }).waitFor()
  await page.getByRole('button', { name: 'Dataset 1' }).click()
  await page.getByRole('link', { name: 'brief' }).waitFor({ state: 'detached' })
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'capitals' }).waitFor()
  await page.getByText('1,200 rows').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('heading', { name: 'Datasets' }).waitFor()
  assert.deepEqual(problems, [])
})

test('an object with more versions than are listed says so, and an older version can be shown', {
  skip,
}, async (t) => {
  for (let index = 0; index < 502; index++) {
    const obj = { project_id: 'acme/long', object_id: 'often', val: { turn: `turn ${index}` } }
    const { status, text } = await served().post('/obj/create', { obj })
    assert.equal(status, 200, text)
  }
  const { page, problems } = await open(t, '/ui/acme/long/data/often?v=v0')
  await page.getByText('The newest 500 versions are listed.').waitFor()
  await page.getByText('turn 0', { exact: true }).waitFor()
  assert.equal(await page.getByRole('combobox').first().locator('option:checked').textContent(), 'v0')
  await page.keyboard.press(']')
  await page.getByText('turn 2', { exact: true }).waitFor()
  assert.deepEqual(problems, [])
})

test('a dataset is shown as a table: its end, a sort, a whole row, an older version, every digit', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, dataset)
  await page.getByRole('gridcell', { name: 'Question 1?', exact: true }).waitFor()
  // The bytes of the object are not those of its rows.
  assert.doesNotMatch((await page.locator('.object-head').textContent()) ?? '', /\d (B|kB) by/)
  await page.keyboard.press('G')
  await page.getByRole('gridcell', { name: 'Question 5000?' }).waitFor()
  await page.getByRole('columnheader', { name: 'answer' }).getByRole('button').click()
  await page.getByRole('columnheader', { name: 'answer ↑' }).waitFor()
  await page.getByRole('gridcell', { name: 'The answer is 0.' }).click()
  await page.getByRole('complementary', { name: 'Row details' }).getByText('The answer is 0.').waitFor()
  await page.keyboard.press('[')
  await page.getByRole('gridcell', { name: '9007199254740993' }).waitFor()
  assert.equal(new URL(page.url()).searchParams.get('v'), 'v0')
  assert.deepEqual(problems, [])
})

test('a dataset on a narrow screen has all of its columns', { skip }, async (t) => {
  for (const width of [360, 768]) {
    const { page } = await open(t, dataset, { viewport: { width, height: 800 } })
    for (const name of ['question', 'answer', 'hostile']) {
      await page.getByRole('columnheader', { name }).scrollIntoViewIfNeeded()
    }
    await page.getByRole('gridcell', { name: hostile }).first().scrollIntoViewIfNeeded()
  }
})

test('two versions are compared row by row and word by word', { skip }, async (t) => {
  const { page, problems } = await open(t, dataset)
  await page.getByText('1,200 rows').waitFor()
  await page.keyboard.press('v')
  await page.getByText('Rows: 1 added, 1 removed, 2 changed; 1,200 before, 1,200 now.').waitFor()
  await page.locator('del', { hasText: 'answer' }).waitFor()
  await page.locator('ins', { hasText: 'reply' }).waitFor()
  await page.getByRole('heading', { name: 'Row 8 removed' }).waitFor()
  await page.getByRole('heading', { name: 'Row 1,200 added' }).waitFor()
  assert.deepEqual(problems, [])
})

test('a prompt is shown as a conversation, and a ref links to its target', { skip }, async (t) => {
  const { page, problems } = await open(t, '/ui/acme/qa/data/brief')
  await page.waitForSelector('.chat >> text=Be brief.')
  await page.getByRole('link', { name: /object\/capitals:v0/ }).click()
  await page.getByRole('heading', { name: 'capitals' }).waitFor()
  assert.equal(new URL(page.url()).searchParams.get('v'), 'v0')
  const call = await open(t, `/ui/acme/qa/calls?peek=${idOf('chat', 1)}`)
  await call.page.getByRole('tab', { name: 'Input' }).click()
  await call.page
    .locator('.peek')
    .getByRole('link', { name: /object\/capitals:v0/ })
    .click()
  await call.page.getByRole('heading', { name: 'capitals' }).waitFor()
  assert.deepEqual([...problems, ...call.problems], [])
})

test('two versions of a prompt are compared message by message', { skip }, async (t) => {
  const versions = [
    [{ role: 'system', content: 'Be brief.\nSay when you are not sure.' }],
    [
      { role: 'system', content: 'Be kind.\nSay when you are not sure.' },
      { role: 'user', content: 'And now?' },
    ],
  ]
  for (const messages of versions) {
    const obj = { project_id: project, object_id: 'manners', val: { messages } }
    assert.equal((await served().post('/obj/create', { obj })).status, 200)
  }
  const { page, problems } = await open(t, '/ui/acme/qa/data/manners?with=v0')
  const changed = page.locator('li.said', { hasText: 'system changed' })
  await changed.locator('del', { hasText: 'brief' }).waitFor()
  await changed.locator('ins', { hasText: 'kind' }).waitFor()
  await page.locator('li.said', { hasText: 'user added' }).locator('ins', { hasText: 'And now?' }).waitFor()
  assert.deepEqual(problems, [])
})

test('a version and an object are deleted after a confirmation', { skip }, async (t) => {
  for (const val of [{ a: 1 }, { a: 2 }]) {
    await served().post('/obj/create', { obj: { project_id: project, object_id: 'short-lived', val } })
  }
  const { page } = await open(t, '/ui/acme/qa/data/short-lived')
  await page.getByRole('button', { name: 'Delete version' }).click()
  await page.getByRole('dialog').getByText('References to this version will stop working.').waitFor()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.locator('.marks', { hasText: 'v0' }).waitFor()
  await page.getByRole('button', { name: 'Delete all' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('heading', { name: 'Objects' }).waitFor()
  await page.getByRole('link', { name: 'brief' }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'short-lived' }).count(), 0)
})

test('objects are accessible', { skip }, async (t) => {
  const places: [path: string, text: string][] = [
    [objects, 'brief'],
    ['/ui/acme/none/objects', 'No objects yet'],
    [dataset, 'Question 1?'],
    [`${dataset}?row=1`, 'Question 1?'],
    [`${dataset}?with=v0`, '2 changed'],
    ['/ui/acme/qa/data/brief', 'Be brief.'],
    ['/ui/acme/qa/data/nothing', 'Object not found'],
  ]
  const { page, problems } = await open(t, '/ui/me', narrow)
  for (const [path, text] of places) {
    await goNarrow(page, served().address + path)
    await page.getByText(text).first().waitFor()
    await assertAccessible(page)
    assert.doesNotMatch(await page.title(), /taken/)
    assert.deepEqual(
      problems.filter((one) => !one.includes('404')),
      [],
    )
  }
})

test('a call is added as a row to a new dataset, and to an existing one', { skip }, async (t) => {
  const { page, problems } = await open(t, `/ui/acme/qa/calls?peek=${idOf('chat', 1)}`)
  await page.waitForSelector('.peek .detail')
  await page.keyboard.press('d')
  await page.getByLabel('Dataset name').fill('from calls')
  await page.getByLabel('Column of conversation.answer').fill('expected')
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText('1 row added.').waitFor()
  await page.keyboard.press('Enter')
  await page.keyboard.press('d')
  await page.getByLabel('Dataset', { exact: true }).selectOption('from_calls')
  await page.getByLabel('output', { exact: true }).check()
  await page.getByRole('button', { name: 'Add 1 row' }).click()
  await page.getByRole('link', { name: 'Open from_calls' }).click()
  await page.getByText('2 rows').waitFor()
  await page.getByRole('columnheader', { name: 'expected' }).waitFor()
  await page.getByRole('columnheader', { name: 'output' }).waitFor()
  await page.getByRole('columnheader', { name: 'answer' }).waitFor()
  assert.deepEqual(await page.getByRole('row').last().getByRole('gridcell', { name: 'That.' }).count(), 2)
  assert.deepEqual(problems, [])
})
