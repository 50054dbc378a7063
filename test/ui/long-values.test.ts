import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { noBrowser } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { chatCall, idOf, pageTests, writeCalls } from '../support/page-app.ts'
import { assertAccessible } from './accessible.ts'

const skip = noBrowser

/** An image as a call contains it: one long word. */
const word = 'CQkJ'.repeat(250_000)

const messages = Array.from({ length: 300 }, (_, index) => ({
  role: index % 2 === 0 ? 'user' : 'assistant',
  content: `Message ${index}.`,
}))

const { open } = await pageTests(
  { after },
  {
    async fill(page) {
      await writeCalls(page, [
        chatCall(0, 'A picture?', '', { output: word }),
        chatCall(1, 'Long', 'The end.', { inputs: { model: 'builtin', messages } }),
      ])
    },
  },
)

const callPath = (index: number) => `/ui/${project}/call/${idOf('chat', index)}`

test('a word of a megabyte is shown in part, and whole on request', { skip }, async (t) => {
  const { page, problems } = await open(t, callPath(0))
  const shown = page.locator('.detail pre.plain')
  await page.getByRole('tab', { name: 'Output' }).click()
  await page.getByRole('button', { name: 'Show all 1,000,000 characters' }).waitFor()
  assert.equal((await shown.textContent())?.length, 20_000)
  await assertAccessible(page)
  await page.getByRole('button', { name: 'Show all 1,000,000 characters' }).click()
  await page.locator('.detail .piece').first().waitFor()
  assert.equal(await shown.textContent(), word)
  assert.deepEqual(problems, [])
})

test('a link to a call reads the call once', { skip }, async (t) => {
  const { page, problems } = await open(t, '/ui/me')
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill(idOf('chat', 1))
  await page.getByRole('option', { name: /^Call/ }).click()
  await page.getByText('The end.').waitFor()
  assert.equal(asked.filter((path) => path === '/call/read').length, 1)
  assert.deepEqual(problems, [])
})

test('the middle of a long conversation is drawn in full once it is expanded', { skip }, async (t) => {
  const { page, problems } = await open(t, callPath(1))
  await page.getByText('The end.').waitFor()
  assert.equal(await page.getByText('Message 150.', { exact: true }).count(), 0)
  await page.getByText('260 more messages').click()
  await page.getByText('Message 279.', { exact: true }).waitFor()
  assert.equal(await page.locator('.said').count(), messages.length + 1)
  // On paper all of it is below one another, in light colours, without the bar.
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
  const paper = await page.evaluate(() => ({
    height: document.documentElement.scrollHeight,
    ground: getComputedStyle(document.documentElement).colorScheme,
    scrolled: [...document.querySelectorAll('main *')].filter(
      (element) => element.querySelector('.said') && element.scrollHeight > element.clientHeight + 1,
    ).length,
  }))
  assert.ok(paper.height > 5_000, `${paper.height} px`)
  assert.deepEqual([paper.ground, paper.scrolled], ['light', 0])
  assert.equal(await page.locator('.top, .trace-tree, .tabs').locator('visible=true').count(), 0)
  assert.deepEqual(problems, [])
})
