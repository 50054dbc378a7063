import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { TestApp } from '../support/app.ts'
import { noBrowser } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { giveFeedback } from '../support/feedback.ts'
import { chatCall, idOf, pageTests, servePageApp, traceCalls, writeCalls } from '../support/page-app.ts'
import { assertAccessible, goNarrow, narrow } from './accessible.ts'

const skip = noBrowser
const screen = '/ui/acme/qa/search'
const list = '/ui/acme/qa/calls'
const evil = '<img src=x onerror="document.title=`taken`"> <mark>refund</mark>'

const indexAll = async ({ database }: TestApp) => {
  while (await database.writeInBackground('indexCalls', { limit: 100, characters: 1 << 20 }));
}

const { open, served } = await pageTests(
  { after },
  {
    async fill(page) {
      await writeCalls(page, [
        ...Array.from({ length: 40 }, (_, index) =>
          chatCall(index, `Where is order ${index}?`, `It is on its way, number ${index}.`, {
            attributes: { env: index % 4 === 0 ? 'test' : 'prod' },
          }),
        ),
        chatCall(41, 'I want a refund, please', `${'Some words before. '.repeat(20)}Your Refund comes.`),
        chatCall(42, evil, evil, { display_name: evil, exception: evil, attributes: { env: evil } }),
        ...traceCalls(43),
      ])
      const said = async (call: number, feedback_type: string, payload: object) => {
        const svc_ref = `weave:///${project}/call/${idOf('chat', call)}`
        await giveFeedback(page.post, { svc_ref, feedback_type, payload })
      }
      for (const call of [1, 2, 3]) await said(call, 'wandb.reaction.1', { emoji: '👎' })
      await said(4, 'wandb.reaction.1', { emoji: '👍' })
      await said(3, 'wandb.note.1', { note: 'It is late.' })
      await said(5, evil, {})
      await indexAll(page)
    },
  },
)

test('a search shows where the words occur, and the keyboard moves through the results', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, screen)
  await page.getByText('Find calls by the words in them').waitFor()
  await page.getByLabel('Search', { exact: true }).waitFor()
  await page.keyboard.type('refund')
  await page.waitForFunction(() => document.querySelectorAll('.hit').length === 2)
  assert.equal(new URL(page.url()).searchParams.get('q'), 'refund')
  const marks = await page.locator('.hit:nth-child(2) mark').allTextContents()
  assert.deepEqual(marks, ['refund', 'Refund'].slice(0, marks.length))
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/trace\//)
  await page.goBack()
  await page.waitForSelector('.hit')
  await page.getByLabel('Search', { exact: true }).fill('zebra')
  await page.getByText('No calls contain these words').waitFor()
  await page.getByLabel('Search', { exact: true }).fill('order')
  await page.getByText('30 found so far').waitFor()
  await page.getByRole('button', { name: 'Show more' }).click()
  await page.getByText('40 found').waitFor()
  assert.notEqual(await page.title(), 'taken')
  assert.deepEqual(problems, [])
})

test('the palette searches for the typed words', { skip }, async (t) => {
  const { page, problems } = await open(t, list)
  await page.keyboard.press('Control+k')
  await page.keyboard.type('refund please')
  await page.getByRole('option', { name: /Search calls for/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForFunction(() => document.querySelectorAll('.hit').length === 1)
  assert.deepEqual(problems, [])
})

test('the search says when calls are not indexed yet', { skip }, async (t) => {
  const at = await servePageApp(t)
  await writeCalls(at, [chatCall(1, 'hello', 'world')])
  const { page } = await open(t, `${screen}?q=hello`, { at })
  await page.getByText('0 of 1 calls are searchable so far.').waitFor()
  await page.getByText('No searchable call contains these words').waitFor()
  await indexAll(at)
  await page.getByRole('button', { name: 'Search again' }).click()
  await page.waitForSelector('.hit')
})

test('facets show counts, a click filters, and other values of the field stay available', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, list)
  await page.waitForSelector('[role=row]:has-text("agent")')
  await page.keyboard.press('v')
  const status = page.getByRole('region', { name: 'Status' })
  const failed = status.getByRole('button', { name: /^error \d/ })
  await failed.waitFor()
  assert.match((await failed.textContent()) ?? '', /1$/)
  await failed.press('Enter')
  await page.waitForURL(/q=status/)
  await status.getByRole('button', { name: /^error \d/, pressed: true }).waitFor()
  await page.getByText('1 call', { exact: true }).waitFor()
  await status.getByRole('button', { name: /^success/ }).click()
  await page.getByText('42 calls', { exact: true }).waitFor()
  await page.goBack()
  await page.getByText('1 call', { exact: true }).waitFor()
  await failed.click()
  await page.getByText('43 calls', { exact: true }).waitFor()

  await page.getByRole('button', { name: 'Add a facet' }).click()
  await page.getByLabel('Add a facet').selectOption('attributes.env')
  const env = page.getByRole('region', { name: 'attributes.env' })
  await env.getByRole('button', { name: /^test/ }).click()
  await page.getByText('10 calls', { exact: true }).waitFor()
  assert.equal(new URL(page.url()).searchParams.get('q'), 'attributes.env:="test"')
  assert.deepEqual(problems, [])
})

test('facets count feedback, and a click filters by reaction or kind', { skip }, async (t) => {
  const { page, problems } = await open(t, list)
  await page.waitForSelector('[role=row]:has-text("agent")')
  await page.keyboard.press('v')
  const reaction = page.getByRole('region', { name: 'Reaction' })
  const down = reaction.getByRole('button', { name: /^👎/ })
  await down.press('Enter')
  await page.getByText('3 calls', { exact: true }).waitFor()
  assert.equal(new URL(page.url()).searchParams.get('q'), 'reaction:"👎"')
  const feedback = page.getByRole('region', { name: 'Feedback' })
  await feedback.getByRole('button', { name: /^note/ }).click()
  await page.getByText('1 call', { exact: true }).waitFor()
  assert.equal(new URL(page.url()).searchParams.get('q'), 'reaction:"👎" feedback:note')
  await down.click()
  await feedback.getByRole('button', { name: /^note/, pressed: true }).click()
  await page.getByText('43 calls', { exact: true }).waitFor()
  await feedback.getByRole('button', { name: /^none/ }).click()
  await page.getByText('38 calls', { exact: true }).waitFor()
  assert.equal(new URL(page.url()).searchParams.get('q'), '-has:feedback')
  await page.getByLabel('Filter', { exact: true }).fill('feedback:')
  await page.getByRole('option', { name: /feedback:reaction/ }).waitFor()
  assert.deepEqual(problems, [])
})

test('a value inside calls can be a column, and the filter bar suggests it', { skip }, async (t) => {
  const { page, problems } = await open(t, list)
  await page.waitForSelector('[role=row]:has-text("agent")')
  await page.getByText('Columns').click()
  await page.getByLabel('attributes.env').click()
  await page.waitForSelector('[role=columnheader]:has-text("attributes.env")')
  await page.waitForSelector('[role=row] .cell-value:has-text("prod")')
  assert.match(page.url(), /cols=.*attributes\.env/)
  await page.getByText('Columns').click()
  await page.keyboard.press('/')
  await page.keyboard.type('attributes.e')
  await page.getByRole('option', { name: /^attributes\.env:/ }).waitFor()
  await page.keyboard.press('Tab')
  await page.getByRole('option', { name: /prod/ }).waitFor()
  await page.keyboard.type('te')
  await page.getByRole('option', { name: /test/ }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByText('10 calls', { exact: true }).waitFor()
  await page.getByLabel('Filter', { exact: true }).fill('model:')
  await page.getByRole('option', { name: /model:builtin/ }).waitFor()
  assert.deepEqual(problems, [])
})

test('a view is saved, shared, found in the palette and deleted', { skip }, async (t) => {
  const { page, problems } = await open(t, `${list}?q=status%3Aerror&sort=started_at.asc`)
  await page.getByText('1 call', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Views' }).click()
  await page.getByLabel('Save this view as').fill('What failed')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'What failed' }).waitFor()
  await page.getByLabel('Share What failed').click()
  await page.waitForSelector('[aria-label="Share What failed"]:checked')
  await page.getByRole('button', { name: 'Rename What failed' }).click()
  await page.getByLabel('New name for What failed').fill('Failures')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'Failures' }).waitFor()
  await page.keyboard.press('Escape')
  await page.goto(`${served().address}/ui/acme/qa/charts`)
  await page.waitForSelector('header.top')
  await page.keyboard.press('Control+k')
  await page.keyboard.type('failures')
  await page
    .getByRole('option', { name: /Failures/ })
    .first()
    .waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/sort=started_at\.asc/)
  await page.getByText('1 call', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Views' }).click()
  await page.waitForSelector('[aria-label="Share Failures"]:checked')
  await page.getByRole('button', { name: 'Delete Failures' }).click()
  await page.getByText('No saved views yet.').waitFor()
  assert.deepEqual(problems, [])
})

test('search, facets and views are accessible', { skip }, async (t) => {
  const { page, problems } = await open(t, '/ui/me', narrow)
  for (const [path, ready, ...buttons] of [
    [`${screen}?q=refund`, '.hit'],
    [`${list}?facets=1&facet=attributes.env&q=status:success&cols=attributes.env,model`, '.facet-value'],
    [list, '[role=row]:has-text("agent")', 'More', 'Views'],
  ] as const) {
    await goNarrow(page, served().address + path)
    await page.waitForSelector(ready)
    for (const name of buttons) await page.getByRole('button', { name }).click()
    if (buttons.length > 0) await page.getByText('Save this view as').waitFor()
    await assertAccessible(page)
    assert.notEqual(await page.title(), 'taken')
    assert.deepEqual(problems, [])
  }
})
