import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deciding } from '../app/decisions/deciding.ts'
import { noBrowser } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { comparedRuns, runId } from '../support/compared-runs.ts'
import { monitorsOf } from '../support/monitors.ts'
import { pageTests, writeCalls } from '../support/page-app.ts'
import { scriptedBackend } from '../support/scripted-backend.ts'
import { assertAccessible } from './accessible.ts'

const skip = noBrowser
const questions = [
  { type: 'predicate', name: 'rude', instructions: 'Is it rude?' },
  {
    type: 'score',
    name: 'good',
    instructions: 'How good?',
    levels: [{ label: 'bad' }, { label: 'fair' }, { label: 'good' }],
  },
]
const decided = {
  rude: { value: false, probability: 0.30000000000000004 },
  good: {
    value: 1.2000000000000002,
    level: 'fair',
    probability: 0.6000000000000001,
    probabilities: [0.1, 0.6000000000000001, 0.3],
  },
}
const backend = scriptedBackend(deciding(() => ({ Y: 0.2, N: 0.6, '0': 0.1, '1': 0.5, '2': 0.2 })))
const phone = { viewport: { width: 390, height: 800 } }

const { served, open } = await pageTests(
  { after },
  {
    sweep: true,
    backend,
    async fill(page) {
      const runs = comparedRuns({ runs: 2, rows: 3 }).map((call) => {
        const { output } = call as { output?: { scores?: object } }
        return output?.scores
          ? { ...call, output: { ...output, scores: { manners: decided, plain: 0.6000000000000001 } } }
          : call
      })
      await writeCalls(page, runs)
      const { scorer, monitor, calls, scores } = monitorsOf(page)
      const judge = await scorer('manners', { judge: { prompt: '{output}', questions } })
      const id = await monitor([judge])
      const [call = ''] = await calls({ output: 'Get lost.' })
      await scores(call, 1)
      return { id }
    },
  },
)

const rounded = '1.20 · fair · probability 0.600'

test('a monitor of typed questions has their scores in lines of words, also on a phone', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, `/ui/${project}/monitors/${served().id}`, phone)
  const score = page.locator('.score-members .score-value').nth(1)
  await score.waitFor()
  assert.equal(await score.textContent(), '1.13 · fair · probability 0.625')
  await page.getByRole('heading', { name: /^manners rude: yes in (0|100) % of 1$/ }).waitFor()
  const { width, height } = (await score.boundingBox()) ?? assert.fail()
  assert.ok(width > 100 && height < 100, `${width} × ${height}`)
  await assertAccessible(page)
  assert.deepEqual(problems, [])
})

test('a comparison rounds fractions, whose digits are in the titles', { skip }, async (t) => {
  const ids = [0, 1].map(runId).join()
  const { page, problems } = await open(
    t,
    `/ui/${project}/evals/compare?ids=${ids}&sort=diff:scores.plain`,
    phone,
  )
  const cell = page.locator('.cell-score strong').first()
  await cell.waitFor()
  assert.deepEqual(
    [await cell.textContent(), await cell.getAttribute('title')],
    ['0.600', '0.6000000000000001'],
  )
  await cell.click()
  const score = page.locator('.row-scores').first().locator('.score-value')
  await score.nth(2).waitFor()
  assert.deepEqual(await score.allTextContents(), ['no · probability 0.300', rounded, '0.600'])
  assert.equal(await score.nth(2).getAttribute('title'), '0.6000000000000001')
  assert.match((await score.nth(1).getAttribute('title')) ?? '', /0\.6000000000000001/)
  assert.deepEqual(problems, [])
})

test('a call of decisions is a conversation of its input, its questions and what was decided', {
  skip,
}, async (t) => {
  const body = { model: 'scripted', input: 'Get lost.', questions }
  const { headers } = await served().post('/v1/decisions', body)
  const { page, problems } = await open(t, `/ui/acme/default/call/${headers['x-heddle-call-id']}`)
  const texts = page.locator('.said .said-what p')
  await texts.nth(4).waitFor()
  assert.deepEqual(await texts.allTextContents(), [
    'Get lost.',
    'rude: Is it rude?',
    'good: How good? (bad, fair, good)',
    'rude: no (0.75)',
    'good: fair (0.63), score 1.13',
  ])
  assert.deepEqual(problems, [])
})
