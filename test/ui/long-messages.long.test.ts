import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { noBrowser, type Page } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { pageTests } from '../support/page-app.ts'
import { scriptedBackend, scriptOf } from '../support/scripted-backend.ts'
import { assertAccessible } from './accessible.ts'

const skip = noBrowser
const backend = scriptedBackend()
const { open, served } = await pageTests({ after }, { backend })

/** Two megabytes of lines, like a log file. */
const log = 'The shuttle went through and came back again.\n'.repeat(45_000)

async function openPlayground(t: TestContext) {
  const seen = await open(t, `/ui/play?p=${encodeURIComponent(project)}`, {
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  await seen.page.waitForSelector('.play')
  return seen
}

async function paste(page: Page, text: string) {
  await page.evaluate((given) => navigator.clipboard.writeText(given), text)
  await page.keyboard.press('Control+V')
}

const messageOf = (page: Page) => page.getByLabel('Message 1', { exact: true })
const endOf = (page: Page) => page.getByLabel('End of Message 1')

async function lastAsked(): Promise<string> {
  const { text } = await served().post('/calls/stream_query', {
    project_id: project,
    sort_by: [{ field: 'started_at', direction: 'desc' }],
    limit: 1,
  })
  return JSON.parse(text).inputs.messages[0].content
}

test('two megabytes pasted between two words can be edited, survive a reload, and are sent whole', {
  skip,
}, async (t) => {
  backend.script = scriptOf('A log.')
  const { page, problems } = await openPlayground(t)
  await messageOf(page).fill('Look: , please')
  await messageOf(page).evaluate((box: HTMLTextAreaElement) => box.setSelectionRange(6, 6))
  await paste(page, log)
  await endOf(page).waitFor()
  // The caret is where it would be in a single text box.
  await page.keyboard.type('What is it')
  const wanted = `Look: ${log}What is it, please`
  const inBoxes = page.locator('.turn textarea')
  const longest = await inBoxes.evaluateAll((boxes) =>
    Math.max(...boxes.map((box) => (box as HTMLTextAreaElement).value.length)),
  )
  assert.ok(longest < 3_000, `${longest} characters are laid out for each keystroke`)
  await assertAccessible(page)
  await page.keyboard.press('Control+Enter')
  await page.getByText(/^success/).waitFor()
  assert.equal(await lastAsked(), wanted)
  await page.reload()
  await endOf(page).waitFor()
  assert.match(await endOf(page).inputValue(), /What is it, please$/)
  await page.getByLabel('Beginning of Message 1').fill('See: ')
  await page.keyboard.press('Control+Enter')
  await page.getByText(/^success/).waitFor()
  const asked = await lastAsked()
  assert.ok(asked.startsWith('See: ') && asked.endsWith('What is it, please'))
  assert.deepEqual(problems, [])
})

test('a long text can be edited whole on request, or removed', { skip }, async (t) => {
  const { page, problems } = await openPlayground(t)
  await messageOf(page).focus()
  await paste(page, log)
  await endOf(page).waitFor()
  await page.getByRole('button', { name: 'Remove them' }).click()
  assert.equal((await messageOf(page).inputValue()).length, 2_000)
  await page.keyboard.press('Control+A')
  await paste(page, log)
  await endOf(page).waitFor()
  await page.getByRole('button', { name: 'Edit all' }).click()
  assert.equal(await messageOf(page).inputValue(), log)
  assert.deepEqual(problems, [])
})

test('a long question is shown in part and copied whole', { skip }, async (t) => {
  const { page, problems } = await openPlayground(t)
  await messageOf(page).focus()
  await paste(page, log)
  await page.getByRole('button', { name: 'Copy as' }).click()
  await page.getByText(/^The first 20,000 of 2,\d+,\d+ characters/).waitFor()
  assert.equal((await page.locator('.copy-as pre').textContent())?.length, 20_000)
  await page.getByRole('button', { name: 'Copy', exact: true }).click()
  await page.getByText('Copied', { exact: true }).waitFor()
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  assert.ok(copied.includes(JSON.stringify(log)))
  assert.deepEqual(problems, [])
})

test('a conversation that is too long for the storage of the browser shows a notice', { skip }, async (t) => {
  const { page, problems } = await openPlayground(t)
  await messageOf(page).focus()
  // Chromium keeps ten megabytes, at two bytes for each character.
  await paste(page, log.repeat(3))
  const notice = page.getByText(/^This conversation is too long for the browser to keep/)
  await notice.waitFor()
  await page.getByRole('button', { name: 'Remove them' }).click()
  await notice.waitFor({ state: 'detached' })
  assert.deepEqual(problems, [])
})

test('a pasted schema of a megabyte can be edited at its start and end', { skip }, async (t) => {
  const { page, problems } = await openPlayground(t)
  const properties = Array.from({ length: 30_000 }, (_, index) => `"field ${index}":{"type":"string"}`)
  const schema = `{"type":"object","properties":{${properties.join(',\n')}}`
  await page.getByText('Structured output').click()
  const editor = page.getByLabel('Form of the answer as JSON')
  await editor.focus()
  await paste(page, schema)
  const end = page.getByLabel('End of Form of the answer as JSON')
  await end.waitFor()
  await page.getByText(/^Not valid JSON yet/).waitFor()
  await page.keyboard.type('}')
  await page.getByText(/^Not valid JSON yet/).waitFor({ state: 'detached' })
  const longest = await page
    .locator('.json-editor textarea')
    .evaluateAll((boxes) => Math.max(...boxes.map((box) => (box as HTMLTextAreaElement).value.length)))
  assert.ok(longest < 3_000, `${longest} characters are laid out for each keystroke`)
  await assertAccessible(page)
  await page.keyboard.press('Control+A')
  await page.keyboard.type('}')
  await page.getByText(/^Not valid JSON yet/).waitFor()
  await page.getByRole('button', { name: 'Remove Form of the answer' }).click()
  await editor.waitFor()
  assert.equal(await editor.inputValue(), '')
  assert.deepEqual(problems, [])
})
