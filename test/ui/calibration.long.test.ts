import assert from 'node:assert/strict'
import { test } from 'node:test'
import { calibrated } from '../../src/domain/statistics/calibration.ts'
import { seededNumbers } from '../../src/domain/statistics/intervals.ts'
import { numberText } from '../../ui/value/scores.ts'
import { deciding } from '../app/decisions/deciding.ts'
import { createAnnotators, type Person } from '../support/annotators.ts'
import { keys } from '../support/app.ts'
import { noBrowser, openBrowser, openPage, type Page } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { createSpec } from '../support/feedback.ts'
import { monitorsOf } from '../support/monitors.ts'
import { type PageApp, servePageApp } from '../support/page-app.ts'
import { scriptedBackend } from '../support/scripted-backend.ts'
import { until } from '../support/wait.ts'
import { assertAccessible } from './accessible.ts'

const questions = [
  { type: 'predicate', name: 'rude', instructions: 'Is it rude?' },
  {
    type: 'choice',
    name: 'topic',
    instructions: 'Which topic?',
    choices: [{ value: 'law' }, { value: 'other' }],
  },
  {
    type: 'score',
    name: 'good',
    instructions: 'How good?',
    levels: [{ label: 'bad' }, { label: 'fair' }, { label: 'good' }],
  },
]
const judge = { prompt: '{output}', questions }
const url = `/v2/${project}/calibrations`
const asked = { scorer: 'manners', question: 'rude', labels: { annotation: 'verdict' } }

/** The model is far too sure and says yes too often; so often is it right. */
const truth = { a: 0.25, b: -1 }
const next = seededNumbers(29)
const lines = Array.from({ length: 310 }, () => {
  const yes = 1 / (1 + Math.exp(-18 * (next() - 0.5)))
  return { yes, isRude: next() < (calibrated(truth, [yes, 1 - yes])[0] ?? 0) }
})
const backend = scriptedBackend(
  deciding((prompt) => {
    const { yes } = lines[Number(/line (\d+)\./.exec(prompt)?.[1])] ?? assert.fail(prompt)
    return { Y: 0.9 * yes, N: 0.9 * (1 - yes), A: 0.3, B: 0.6, '0': 0.1, '1': 0.2, '2': 0.6 }
  }),
)
const callsOf = (from: number, to: number) =>
  lines.slice(from, to).map((_, n) => ({ op_name: 'answer', output: `line ${from + n}.` }))

/** A queue of two reviewers, each of whom is wrong about some calls; the third decides where they differ. */
async function openReviews({ post }: PageApp, calls: readonly string[]) {
  const annotation_ref = await createSpec(post, 'verdict', { type: 'boolean' })
  const key = await createAnnotators({ post }, project)
  const review = { annotators: 2, reviewers: ['anna', 'ben'], blind: true }
  const decided = { adjudication: 'on_disagreement', adjudicators: ['kim'] }
  const settings = { project_id: project, name: 'Manners', scorer_refs: [annotation_ref], ...review }
  const queue: string = (await post('/annotation_queues', { ...settings, ...decided })).json.id
  const mistake = { anna: 0.1, ben: 0.2, kim: 0, eva: 0, otto: 0, alice: 0 }

  async function answer(person: Person, { id, call_id }: { id: string; call_id: string }) {
    const { isRude } = lines[calls.indexOf(call_id)] ?? assert.fail()
    const value = next() < mistake[person] ? !isRude : isRude
    const about = { project_id: project, queue_id: queue, weave_ref: `weave:///${project}/call/${call_id}` }
    const feedback = { feedback_type: 'wandb.annotation.verdict', annotation_ref, payload: { value } }
    const given = await post('/feedback/create', { ...about, ...feedback }, key(person))
    assert.equal(given.status, 200, given.text)
    const done = { project_id: project, annotation_state: 'completed' }
    const finished = await post(`/annotation_queues/${queue}/items/${id}/progress`, done, key(person))
    assert.equal(finished.status, 200, finished.text)
  }

  return {
    queue,
    /** All that is open to each of them; returns how many each has finished. */
    async review(): Promise<Record<string, number>> {
      const counts: Record<string, number> = {}
      for (const person of ['anna', 'ben', 'kim'] as const) {
        for (;;) {
          const body = { project_id: project }
          const { json } = await post(`/annotation_queues/${queue}/next`, body, key(person))
          if (json.item === null) break
          await answer(person, json.item)
          counts[person] = (counts[person] ?? 0) + 1
        }
      }
      return counts
    },
    async add(call_ids: readonly string[]) {
      const body = { project_id: project, call_ids }
      const { json } = await post(`/annotation_queues/${queue}/items`, body)
      assert.equal(json.added_count, call_ids.length)
    },
  }
}

test('a judge of three questions is believed as far as two reviewers say, from the first review to the second fit', async (t) => {
  const served = await servePageApp(t, { sweep: true, backend })
  const ok = async (path: string, body: object) => {
    const { status, json, text } = await served.post(path, body)
    assert.equal(status, 200, text)
    return json
  }
  const { scorer, monitor, calls, scores } = monitorsOf(served)
  const first = await monitor([await scorer('manners', { judge })], { filter: { op_names: ['answer'] } })
  const ids: string[] = []
  for (let from = 0; from < 300; from += 100) ids.push(...(await calls(...callsOf(from, from + 100))))
  await until('all are judged', async () => {
    const { stats } = await ok('/monitors/stats', { project_id: project, monitor_ids: [first] })
    return stats[0].judged === 300
  })

  const reviews = await openReviews(served, ids)
  await reviews.add(ids.slice(0, 60))
  const counts = await reviews.review()
  assert.deepEqual([counts.anna, counts.ben], [60, 60])
  assert.ok((counts.kim ?? 0) > 5, 'they have errors of their own')

  const before = await ok(`${url}/report`, asked)
  assert.deepEqual([before.decisions, before.labels, before.disputed, before.helps], [300, 60, 0, true])
  assert.ok(before.after.log_loss.value < before.before.log_loss.value)
  const fitted = await ok(url, { ...asked, name: 'rudeness' })
  const { calibration } = fitted
  const agreement = (fields: object) => ok(`${url}/agreement`, { ...asked, precision: 0.3, ...fields })
  const { suggested, humans, confusion } = await agreement({ calibration })
  assert.ok(suggested.bound >= 0.3 && suggested.right <= suggested.flagged)
  const raw = await agreement({})
  assert.deepEqual([raw.calibration, raw.suggested.flagged], [null, suggested.flagged])
  const lowest = raw.suggested.threshold
  const [moved = 0] = calibrated(fitted.map, [lowest, 1 - lowest])
  assert.ok(Math.abs(suggested.threshold - moved) < 1e-9, 'it is one of calibrated probabilities')
  assert.equal(humans.calls, 60)
  assert.equal(confusion.flatMap(({ call_ids }: { call_ids: string[] }) => call_ids).length, 60)

  // The next calls are judged with both.
  const rude = { ...questions[0], calibration, threshold: suggested.threshold }
  const better = await scorer('manners', { judge: { ...judge, questions: [rude, ...questions.slice(1)] } })
  await served.send('PUT', `/monitors/${first}`, { project_id: project, scorers: [{ scorer: better }] })
  const later = await calls(...callsOf(300, 310))
  for (const [n, id] of later.entries()) {
    // biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
    const { manners }: any = await scores(id, 1)
    const { yes } = lines[300 + n] ?? assert.fail()
    const [expected = 0] = calibrated(fitted.map, [yes, 1 - yes])
    assert.ok(Math.abs(manners.rude.calibrated - expected) < 1e-9)
    assert.equal(manners.rude.value, expected >= suggested.threshold)
  }

  const now = await ok(`${url}/agreement`, asked)
  assert.deepEqual([now.calibration, now.threshold], [calibration, suggested.threshold])
  const flagged = now.confusion.filter(({ judge }: { judge: boolean }) => judge)
  const sum = flagged.reduce((total: number, { count }: { count: number }) => total + count, 0)
  assert.equal(sum, suggested.flagged, 'agreement is that of the decisions of the judge')
  const shown = await ok(`${url}/report`, asked)
  await assertShown(t, served, shown, ids)

  // Forty more, those that teach most first.
  const reviewed = new Set(ids.slice(0, 60))
  const most = shown.review.filter((id: string) => ids.includes(id))
  const others = ids.filter((id) => !reviewed.has(id) && !most.includes(id))
  await reviews.add([...most, ...others].slice(0, 40))
  assert.deepEqual((await reviews.review()).anna, 40)
  const again = await ok(url, { ...asked, name: 'rudeness' })
  assert.deepEqual([again.labels, again.helps], [100, true])
  assert.notEqual(again.calibration, fitted.calibration)
  assert.ok(again.before.ece.value > again.after.ece.value, 'it is told from 100 labels on')
  assert.ok(again.gain.low > 0)
  const versions = await ok('/objs/query', { project_id: project, filter: { object_ids: ['rudeness'] } })
  assert.equal(versions.objs.length, 2, 'the first stays')
})

/** The page has the same figures, and makes a queue of the calls that teach most. */
async function assertShown(
  t: Parameters<typeof openPage>[1],
  served: PageApp,
  // biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
  report: any,
  ids: readonly string[],
): Promise<void> {
  if (noBrowser) return
  const browser = await openBrowser(t)
  const { page, problems } = await openPage(
    browser,
    t,
    `${served.address}/ui/${project}/judges#key=${keys.alice}`,
  )
  await page.route('**/calibrations/report', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), improbable: 2 } })
  })
  await page.getByRole('link', { name: 'Calibration of manners' }).click()
  await page.getByText(/^60 of 310 decisions have a label; 180 more would halve the intervals/).waitFor()
  await page.getByText('2 decisions left out: the probabilities do not add up to 1.').waitFor()
  for (const [name, field] of [
    ['Log loss', 'log_loss'],
    ['Brier', 'brier'],
  ] as const) {
    const row = page.getByRole('row', { name: new RegExp(name) })
    for (const [index, quality] of [report.before, report.after].entries()) {
      const { value, low, high } = quality[field]
      const text = `${numberText(value)} (${numberText(low)} to ${numberText(high)})`
      assert.equal(
        await row
          .getByRole('cell')
          .nth(index + 1)
          .textContent(),
        text,
      )
    }
  }
  assert.equal(await page.locator('.reliability circle').count(), report.before.bins.length)
  // Both axes have their numbers and are named; answers are words.
  const ticks = await page.locator('.reliability text').allTextContents()
  assert.deepEqual(ticks, ['0 %', '0 %', '50 %', '50 %', '100 %', '100 %'])
  const isWhole = (text: Element) => {
    const [own, whole] = [text, text.closest('svg') ?? text].map((shape) => shape.getBoundingClientRect())
    return own !== undefined && whole !== undefined && own.left >= whole.left && own.right <= whole.right
  }
  for (const tick of await page.locator('.reliability text').all()) assert.ok(await tick.evaluate(isWhole))
  await page.getByText('Up: how often it was right. Across: how sure it was.').waitFor()
  await page.setViewportSize({ width: 360, height: 800 })
  const errors = page.getByRole('region', { name: 'Error', exact: true })
  assert.ok(
    await errors.evaluate((table) => table.scrollWidth <= table.clientWidth),
    'it is whole on a phone',
  )
  const agreed = page.getByRole('region', { name: 'Agreement' })
  assert.ok((await agreed.getByRole('cell', { name: 'yes', exact: true }).count()) > 0)
  assert.equal(await agreed.getByText('true').count(), 0)
  await page.getByRole('definition').filter({ hasText: / to / }).first().waitFor()
  await page.getByText('Agreement of people (α)').waitFor()
  await page
    .getByText(/all figures hold if labelled calls were chosen at random; those that teach most/)
    .waitFor()
  await assertAccessible(page)
  await page.getByRole('region', { name: 'Agreement' }).locator('summary').first().click()
  const cell = page.getByRole('region', { name: 'Agreement' }).getByRole('link').first()
  const opened = /\/call\/(.+)$/.exec((await cell.getAttribute('href')) ?? '')?.[1]
  assert.ok(ids.slice(0, 60).includes(opened ?? ''))
  await page.getByRole('button', { name: 'Review the 10 that teach most' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add 10 calls to a queue' })
  await dialog.getByLabel('Queue name').fill('teaching')
  await dialog.getByRole('option', { name: 'Create “teaching”' }).click()
  await dialog.getByText('10 added.').waitFor()
  await dialog.getByRole('button', { name: 'Done' }).click()
  const fitting = Promise.withResolvers<void>()
  await page.route('**/calibrations', async (route) => {
    await fitting.promise
    await route.continue()
  })
  await page.getByRole('button', { name: 'Calibrate' }).click()
  assert.ok(await page.getByRole('button', { name: 'Calibrating…' }).isDisabled())
  fitting.resolve()
  await page.getByText(/^Stored: weave:\/\/\/acme\/qa\/object\/manners\.rude:/).waitFor()
  await assertJudgeMade(page, served)
  assert.deepEqual(problems, [])
}

/** A judge of typed questions is written in the page, a line for each question. */
async function assertJudgeMade(page: Page, served: PageApp): Promise<void> {
  await page.goto(`${served.address}/ui/${project}/judges/new`)
  await page.getByLabel('Kind').selectOption('questions')
  await page.getByLabel('Name', { exact: true }).fill('handmade')
  await page.getByLabel('What the questions are about').fill('{output}')
  const lines = [
    'rude: Is it rude?',
    'topic: Which topic? | law | other',
    'good: How good? < bad < fair < good',
  ]
  await page.getByLabel(/^Questions, a line each/).fill(lines.join('\n'))
  await page.getByLabel(/^Calls to try it on/).fill('op:answer')
  await page.getByLabel(/^Calls to try it on/).press('Tab')
  await page.getByRole('button', { name: 'Try on 3 calls' }).click()
  const said = page.getByRole('list', { name: 'What it says' })
  await said
    .getByText(/\bother · probability \d/)
    .first()
    .waitFor()
  await assertAccessible(page)
  await page.getByLabel('It also writes why').check()
  await page.getByRole('button', { name: 'Save judge' }).click()
  await page.getByRole('link', { name: 'Calibration of handmade' }).waitFor()
  const [made] = (
    await served.post('/objs/query', { project_id: project, filter: { object_ids: ['handmade'] } })
  ).json.objs
  assert.deepEqual([made.val.judge.questions, made.val.judge.reason], [questions, true])
}
