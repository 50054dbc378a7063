import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keys } from '../../support/app.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { url as calibrations, withDecidedCalls } from './decided-calls.ts'

const url = `${calibrations}/agreement`
const asked = { scorer: 'manners', question: 'rude', labels: { annotation: 'verdict' } }
const near = (actual: number, expected: number) =>
  assert.ok(Math.abs(actual - expected) < 1e-5, `${actual} is not ${expected}`)

test('a judge that agrees as in the worked example: κ, rates, corrected share and the calls themselves', async (t) => {
  const { post, label, decided } = await withDecidedCalls(t, 300)
  const yes = decided.filter((call) => call.yes >= 0.5)
  const no = decided.filter((call) => call.yes < 0.5)
  const cells = { tp: yes.slice(0, 30), fp: yes.slice(30, 32), fn: no.slice(0, 10), tn: no.slice(10, 88) }
  await label([
    ...[...cells.tp, ...cells.fn].map(({ id }) => ({ id, value: true })),
    ...[...cells.fp, ...cells.tn].map(({ id }) => ({ id, value: 0 })),
  ])
  const { status, json, text } = await post(url, { ...asked, precision: 0.95 })
  assert.equal(status, 200, text)
  const counts = json.confusion.map(({ human, judge, count }: Record<string, unknown>) => [
    human,
    judge,
    count,
  ])
  assert.deepEqual(counts, [
    [true, true, 30],
    [true, false, 10],
    [false, true, 2],
    [false, false, 78],
  ])
  assert.deepEqual(json.confusion[2].call_ids.toSorted(), cells.fp.map(({ id }) => id).toSorted())
  near(json.agreement.low, 0.833318)
  near(json.kappa.value, 0.763158)
  assert.ok(json.kappa.low > 0.6 && json.kappa.low < 0.66 && json.kappa.high > 0.86 && json.kappa.high < 0.91)
  near(json.ac1.value, 0.827586)
  near(json.true_positive_rate.high, 0.858129)
  near(json.true_negative_rate.low, 0.913356)
  near(json.precision.low, 0.798529)
  // The example's own call counts as one without a label.
  assert.equal(json.prevalence.flagged.of, 181)
  const flagged = json.prevalence.flagged.value
  near(json.prevalence.corrected.value, Math.min(1, (flagged + 0.975 - 1) / (0.75 + 0.975 - 1)))
  assert.equal(json.suggested, null)
  assert.match(json.notes.join(), /labels cannot tell that 0.95 .* 127 flagged calls/)
  const lower = (await post(url, { ...asked, precision: 0.6 })).json
  assert.ok(lower.suggested.bound >= 0.6)
  assert.ok(lower.suggested.right <= lower.suggested.flagged)

  const strict = (await post(url, { ...asked, threshold: 1 })).json
  assert.deepEqual([strict.threshold, strict.true_positive_rate.count, strict.precision], [1, 0, null])
  assert.match(strict.notes.join(), /better than chance/)
  assert.equal(strict.kappa, null)
  assert.match(strict.notes.join(), /one answer only/)
})

test('few labels give counts and no κ; people are compared with each other', async (t) => {
  const { post, label, decided } = await withDecidedCalls(t, 60)
  const values = decided.map(({ id }, n) => ({ id, value: ['law', 'other', true][n % 3] }))
  await label(values.slice(0, 9))
  const topics = { ...asked, question: 'topic' }
  const few = (await post(url, topics)).json
  assert.deepEqual([few.labels, few.kappa, few.humans, few.threshold], [9, null, null, null])
  assert.match(few.notes.join(), /9 labels: κ and AC1 need 30/)
  await label(values)
  await label(values.slice(0, 40), keys.root)
  const { json } = await post(url, topics)
  assert.deepEqual([json.labels, json.humans.calls, json.humans.raters], [60, 40, 2])
  near(json.humans.kappa.value, 1)
  near(json.humans.alpha.value, 1)
  assert.match(json.notes.join(), /from 1 to 1 is too narrow/)
  assert.deepEqual(json.categories, ['law', 'other', true])
  assert.ok(json.kappa.low < json.kappa.high)
  assert.match(json.notes.join(), /hold if labelled calls were chosen at random/)
})

test('α counts all calls that several people have labelled, κ those of as many as most have', async (t) => {
  const { post, label, decided } = await withDecidedCalls(t, 60)
  const both = decided.map(({ id, isRude }) => ({ id, value: isRude }))
  await label(both)
  await label(both.slice(0, 50), keys.root)
  const { key } = (await post('/users', { name: 'ben', entities: ['acme'] }, keys.root)).json.key
  // The third agrees about none of the calls that all have labelled.
  await label(
    both.slice(0, 10).map(({ id, value }) => ({ id, value: !value })),
    key,
  )
  const { humans } = (await post(url, asked)).json
  assert.deepEqual([humans.calls, humans.raters, humans.kappa.value], [40, 2, 1])
  assert.ok(humans.alpha.value < 0.9 && humans.alpha.low < humans.alpha.high, JSON.stringify(humans))
})

test('what does not fit the question is refused by its field', async (t) => {
  await assertCommonRefusals(t, url, asked)
  const { post } = await withDecidedCalls(t, 1)
  for (const name of ['threshold', 'precision']) {
    const { status, json } = await post(url, { ...asked, question: 'topic', [name]: 0.5 })
    assert.equal(status, 400)
    assert.match(json.reason, new RegExp(`^${name}: given for a choice`))
  }
  assert.equal((await post(url, { ...asked, precision: 1 })).status, 422)
})
