import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { noBrowser } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { pageTests } from '../support/page-app.ts'
import { promptTokensOf, scriptedBackend, scriptOf } from '../support/scripted-backend.ts'

const skip = noBrowser
const backend = scriptedBackend()
const { open } = await pageTests({ after }, { backend })

/** Gives the right answer only when told to be careful. */
backend.script = (request, signal) => {
  const asked = String.fromCodePoint(...promptTokensOf(request))
  return scriptOf(asked.includes('careful') ? 'It is Bamako.' : 'It is Lagos.')(request, signal)
}

test('the whole page in one story, from a question to the comparison of its answers', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, `/ui/play?p=${encodeURIComponent(project)}`)
  await page.getByLabel('Message 1', { exact: true }).fill('What is the capital of Mali?')
  await page.keyboard.press('Control+Enter')
  await page.waitForSelector('.answer >> text=It is Lagos.')
  await page.getByText(/^success, /).waitFor()

  await page.getByRole('button', { name: 'To dataset' }).click()
  await page.getByLabel('Dataset name').fill('capitals')
  await page.getByRole('button', { name: 'Add 1 row' }).click()
  await page.getByText('1 row added.').waitFor()
  await page.keyboard.press('Enter')

  // Its trace, and a reaction.
  await page.getByRole('link', { name: 'View call' }).click()
  await page.waitForSelector('[role=treeitem][aria-selected=true]')
  await page.waitForSelector('.said.is-answer >> text=It is Lagos.')
  await page.keyboard.press('n')
  await page.getByRole('button', { name: 'Bad' }).waitFor()
  await page.keyboard.press('-')
  await page.waitForSelector('.feedback-list >> text=👎')

  // Into a new queue.
  await page.keyboard.press('a')
  await page.getByLabel('Queue name').fill('Wrong capitals')
  await page.getByRole('option', { name: 'Create “Wrong capitals”' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByText('1 added.').waitFor()
  await page.getByRole('link', { name: 'Open Wrong capitals' }).click()

  // Reviewed with the keyboard.
  await page.getByRole('link', { name: 'Review' }).click()
  await page.waitForSelector('.reading >> text=What is the capital of Mali?')
  await page.keyboard.press('2')
  await page.keyboard.press('Control+Enter')
  await page.getByText('Saved', { exact: true }).waitFor()

  // Every disliked call is asked again with other settings.
  await page.goto(`${new URL(page.url()).origin}/ui/${project}/calls?q=${encodeURIComponent('reaction:👎')}`)
  await page.getByText('1 call', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Ask again' }).click()
  await page.getByText('1 call. Both runs are written as an evaluation.').waitFor()
  await page.getByLabel('Name of the run').fill('careful')
  await page.getByLabel('Settings to change, as JSON').fill('{"temperature": 0}')
  await page.getByLabel('System message, instead of the recorded one').fill('Be careful.')
  await page.getByLabel('A good answer contains').fill('Bamako')
  await page.getByRole('button', { name: 'Ask 1 again' }).click()
  await page.getByText('1 of 1 asked again.').waitFor()

  // The comparison, row by row, exported as a file.
  await page.getByRole('link', { name: 'Compare with the recorded answers' }).click()
  await page.waitForSelector('.run-bar li.is-base:has-text("recorded")')
  await page.waitForSelector('.run-bar li.is-side:has-text("careful")')
  await page.waitForSelector('[role=row] .cell-run')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.row-runs del:has-text("Lagos")')
  await page.waitForSelector('.row-runs ins:has-text("Bamako")')
  await page.getByText('Row 1 of 1').waitFor()
  const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('e')])
  const file = await readFile(await download.path(), 'utf8')
  assert.match(file, /It is Bamako\./)
  assert.deepEqual(problems, [])
})
