import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { noBrowser } from '../support/browser.ts'
import { completeOf } from '../support/calls.ts'
import { pageTests, writeCalls } from '../support/page-app.ts'

const skip = noBrowser
const first = Date.UTC(2026, 0, 2)

const { open } = await pageTests(
  { after },
  {
    fill: (page) =>
      writeCalls(
        page,
        Array.from({ length: 10_010 }, (_, n) => {
          const at = new Date(first + n * 1000).toISOString()
          return completeOf({ started_at: at, ended_at: at, inputs: { price: 10_010 - n }, output: null })
        }),
      ),
  },
)

test('a filter that no index knows looks at the newest calls, says so, and looks further', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, `/ui/acme/qa/calls?q=${encodeURIComponent('inputs.price:>10008')}`)
  await page.getByText('0 of the newest 10,000', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Look further' }).click()
  await page.getByText('2 calls', { exact: true }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Look further' }).count(), 0)
  assert.equal(await page.getByRole('row').count(), 3)
  // Another filter begins with the newest again.
  await page.locator('.filter-field input').fill('inputs.price:>10007')
  await page.keyboard.press('Enter')
  await page.getByText('0 of the newest 10,000', { exact: true }).waitFor()
  assert.deepEqual(problems, [])
})
