import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { noBrowser } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { chatCall, idOf, pageTests, writeCalls } from '../support/page-app.ts'
import { assertAccessible, narrow } from './accessible.ts'

const skip = noBrowser
const answer = [
  '- [x] done\n- [ ] open',
  '| name | sum |\n|:-----|----:|\n| tea | 4 |',
  '```ts\nconst a = 1\n```',
  'שלום עולם',
].join('\n\n')
const judged = `weave:///${project}/call/${idOf('chat', 0)}`
const scorer = `weave:///${project}/object/helpfulness:${'A'.repeat(43)}`
const judge = idOf('chat', 1)

const { open } = await pageTests(
  { after },
  {
    fill: async (page) => {
      await writeCalls(page, [chatCall(0, 'What is left?', answer), chatCall(1, 'Judge it.', 'Yes.')])
      const entries = [
        {
          feedback_type: 'wandb.runnable.helpfulness',
          payload: {
            output: { score: 0.25, reason: 'It **forgot** the milk.', parts: [{ deep: { er: 1 } }] },
          },
          runnable_ref: scorer,
          call_ref: `weave:///${project}/call/${judge}`,
        },
        { feedback_type: 'shop.rating', payload: { stars: { given: [4] } } },
        { feedback_type: 'wandb.note.1', payload: { note: 'A note.' } },
      ]
      for (const entry of entries) {
        const { status, text } = await page.post('/feedback/create', {
          project_id: project,
          weave_ref: judged,
          ...entry,
        })
        assert.equal(status, 200, text)
      }
    },
  },
)

const path = `/ui/${project}/trace/${idOf('trace', 0)}`

test("a judge's score shows its reason, its scorer and its call, and no user", { skip }, async (t) => {
  const { page, problems } = await open(t, path, narrow)
  await page.getByRole('tab', { name: 'Feedback' }).click()
  const entries = page.locator('.feedback-list > li')
  await entries.nth(2).waitFor()
  const [score, rating, note] = [entries.nth(0), entries.nth(1), entries.nth(2)]
  assert.equal(await score.locator('strong').first().textContent(), 'helpfulness')
  assert.equal(await score.locator('strong', { hasText: 'forgot' }).count(), 1)
  assert.doesNotMatch(String(await score.textContent()), /alice|wandb/)
  assert.match(String(await rating.textContent()), /shop\.rating[\s\S]*alice/)
  assert.match(String(await note.textContent()), /alice/)
  // Only an entry has a box, however deep its value is.
  const boxes = page.locator('.feedback-list li li')
  assert.ok((await boxes.count()) > 0)
  for (const width of await boxes.evaluateAll((all) =>
    all.map((one) => getComputedStyle(one).borderTopWidth),
  ))
    assert.equal(width, '0px')
  await assertAccessible(page)
  await score.getByRole('link', { name: 'its call' }).click()
  await page.waitForURL((url) => url.pathname.endsWith(idOf('trace', 1)))
  assert.deepEqual(problems, [])
})

test('an answer has task lists, aligned columns, code to copy, and right-to-left text', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, path, { permissions: ['clipboard-read', 'clipboard-write'] })
  await page.getByRole('tab', { name: 'Conversation' }).click()
  const said = page.locator('.is-answer .markdown')
  await said.waitFor()
  assert.deepEqual(
    await said
      .getByRole('checkbox')
      .evaluateAll((all) => all.map((one) => (one as HTMLInputElement).checked)),
    [true, false],
  )
  assert.doesNotMatch(String(await said.textContent()), /\[[ x]\]|[☑☐]/)
  const align = (text: string) =>
    said.getByText(text, { exact: true }).evaluate((one) => getComputedStyle(one).textAlign)
  assert.equal(await align('4'), 'right')
  assert.equal(await said.locator('.code-head').textContent(), 'ts')
  await said.getByRole('button', { name: 'Copy code' }).click()
  await said.getByText('Copied').waitFor()
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'const a = 1')
  assert.equal(await said.getByText('שלום').evaluate((one) => getComputedStyle(one).direction), 'rtl')
  await assertAccessible(page)
  assert.deepEqual(problems, [])
})
