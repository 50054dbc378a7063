import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { noBrowser } from '../support/browser.ts'
import { completeOf } from '../support/calls.ts'
import { pageTests, writeCalls } from '../support/page-app.ts'
import { assertAccessible, narrow } from './accessible.ts'

const skip = noBrowser
const charts = '/ui/acme/qa/charts'
const day = '2026-01-02'
const ofDay = `${day}T00:00:00.000Z..2026-01-03T00:00:00.000Z`
const evil = '<img src=x onerror="document.title=`taken`">'

/** Thirty calls of one day, in the hour of their number; every fifth failed. */
const batch = Array.from({ length: 30 }, (_, index) => {
  const hour = String(index % 10).padStart(2, '0')
  return completeOf({
    op_name: index % 2 === 0 ? 'answer' : evil,
    started_at: `${day}T${hour}:10:00Z`,
    ended_at: `${day}T${hour}:10:0${1 + (index % 5)}Z`,
    exception: index % 5 === 0 ? 'TimeoutError' : null,
    summary: { usage: { builtin: { requests: 1, prompt_tokens: 10, completion_tokens: 2 } } },
  })
})

/** Of the day before, with another model. */
const earlier = completeOf({
  ...{ op_name: 'answer', started_at: '2026-01-01T20:00:00Z', ended_at: '2026-01-01T20:00:01Z' },
  summary: { usage: { older: { requests: 1, prompt_tokens: 1, completion_tokens: 1 } } },
})

const { served, open } = await pageTests({ after }, { fill: (page) => writeCalls(page, [...batch, earlier]) })

const totalOf = (panel: string) => `[data-panel="${panel}"] figcaption .muted`

test('a day is drawn with its totals, and its table links to the calls of an hour', { skip }, async (t) => {
  const { page, problems } = await open(t, `${charts}?range=${ofDay}`)
  await page.waitForSelector('[data-panel="calls"] svg path')
  assert.equal(await page.textContent(totalOf('calls')), '30')
  assert.equal(await page.textContent(totalOf('errors')), '6')
  assert.equal(await page.textContent(totalOf('read')), '300')
  assert.equal(await page.textContent(totalOf('written')), '60')
  // Times stand between the ends, too, each at its place.
  const ends = page.locator('[data-panel="calls"] .chart-ends span')
  const times = await ends.allTextContents()
  assert.equal(new Set(times).size, 5)
  assert.deepEqual(
    times.slice(1).filter((time) => !/^\d\d:\d\d$/.test(time)),
    [],
    'the date stands once',
  )
  // Half of the highest, if there is one, is at the middle line, and the numbers of a time are at the cursor.
  for (const [panel, numbers] of [
    ['errors', ['3']],
    ['written', ['6', '3']],
  ] as const)
    assert.deepEqual(await page.locator(`[data-panel="${panel}"] .plot > .muted`).allTextContents(), numbers)
  const plot = page.locator('[data-panel="read"] .plot')
  const tip = plot.locator('.plot-tip')
  const { width = 0 } = (await plot.boundingBox()) ?? {}
  for (const part of [0.01, 0.5, 0.99]) {
    await plot.locator('svg').hover({ position: { x: width * part, y: 40 } })
    await tip.getByText(/: \d+$/).waitFor()
    const box = await tip.evaluate((element) => element.getBoundingClientRect().toJSON())
    const outer = await plot.evaluate((element) => element.getBoundingClientRect().toJSON())
    const at = outer.left + width * part
    assert.ok(box.left >= outer.left - 1 && box.right <= outer.right + 1, 'it is inside the chart')
    assert.ok(box.left <= at + 2 && box.right >= at - 2, 'it is at the cursor')
  }
  await page.locator('[data-panel="errors"] summary').press('Enter')
  const rows = page.locator('[data-panel="errors"] tbody tr')
  assert.deepEqual(await rows.locator('td').allTextContents(), ['3', '3'])
  await rows.first().locator('a').press('Enter')
  await page.waitForSelector('.calls .grid-row .call-name')
  await page.waitForFunction(() => document.querySelectorAll('.grid-row .call-name').length === 3)
  await page.goBack()
  await page.waitForSelector('[data-panel="calls"] svg path')
  assert.deepEqual(problems, [])
})

test('a chart whose half has the text of its highest value shows it once', { skip }, async (t) => {
  const [started_at, ended_at] = [`${day}T00:00:00.000Z`, `${day}T00:00:00.000400Z`]
  const quick = completeOf({ project_id: 'acme/quick', op_name: 'quick', started_at, ended_at })
  await writeCalls(served(), [quick], 'acme/quick')
  const { page, problems } = await open(t, `/ui/acme/quick/charts?range=${ofDay}`)
  const numbers = page.locator('[data-panel="latency-p50"] .plot > .muted')
  await numbers.first().waitFor()
  assert.deepEqual(await numbers.allTextContents(), ['<1 ms'])
  assert.deepEqual(problems, [])
})

test('a chart that has nothing to show is one line, behind those that have', { skip }, async (t) => {
  const { page, problems } = await open(t, `${charts}?range=${ofDay}`)
  const empty = page.locator('[data-panel="cost"]')
  await empty.getByText('none in this time range').waitFor()
  // What models inside of programs used is not there, unless asked for.
  await empty.getByText('Of roots only: calls inside them are not counted.').waitFor()
  assert.equal(await empty.locator('svg, details').count(), 0)
  const tops = await page
    .locator('.chart')
    .evaluateAll((all) =>
      all.map((one) => [one.querySelector('svg') !== null, one.getBoundingClientRect().top]),
    )
  const topsOf = (isDrawn: boolean) => tops.flatMap(([drawn, top]) => (drawn === isDrawn ? Number(top) : []))
  assert.ok(Math.min(...topsOf(false)) >= Math.max(...topsOf(true)), JSON.stringify(tops))
  assert.deepEqual(problems, [])
})

test('the time range and the grouping are chosen with the keyboard and kept in the URL', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, `${charts}?range=${ofDay}`)
  await page.waitForSelector('[data-panel="calls"] svg path')
  await page.keyboard.press('b')
  await page.waitForSelector('[data-panel="calls"] .legend li:has-text("answer")')
  assert.match(page.url(), /by=op/)
  assert.deepEqual(await page.locator('[data-panel="calls"] .legend .muted').allTextContents(), ['15', '15'])
  await page.keyboard.press('1')
  await page.waitForSelector('text="No calls in this time range"')
  assert.match(page.url(), /range=1h/)
  await page.goBack()
  await page.waitForSelector('[data-panel="calls"] .legend li')
  assert.deepEqual(problems, [])
})

test('dragging over a chart sets the time range of all charts', { skip }, async (t) => {
  const { page, problems } = await open(t, `${charts}?range=${ofDay}`)
  const chart = page.locator('[data-panel="calls"] .plot svg')
  await chart.waitFor()
  const { x, y, width } = (await chart.boundingBox()) as { x: number; y: number; width: number }
  await page.mouse.move(x + 1, y + 20)
  await page.mouse.down()
  await page.mouse.move(x + (width * 4.9) / 24, y + 20)
  await page.mouse.up()
  await page.waitForURL(/T00%3A00%3A00.000Z\.\.2026-01-02T05%3A00/)
  await page.waitForSelector(`${totalOf('calls')}:text-is("15")`)
  assert.equal(await page.textContent(totalOf('errors')), '3')
  assert.deepEqual(problems, [])
})

test('a filter works as in the list, and an invalid one shows an error', { skip }, async (t) => {
  const { page } = await open(t, `${charts}?range=${ofDay}&q=${encodeURIComponent('latency:>4s')}`)
  await page.waitForSelector(`${totalOf('calls')}:text-is("6")`)
  await page.goto(`${page.url().split('&q=')[0]}&q=${encodeURIComponent('latency:>often')}`)
  await page.waitForSelector('#filter-problem')
})

test('charts are accessible', { skip }, async (t) => {
  const { page, problems } = await open(t, `${charts}?range=${ofDay}&by=op`, narrow)
  await page.waitForSelector('[data-panel="calls"] .legend li')
  await page.locator('[data-panel="calls"] summary').click()
  await assertAccessible(page)
  assert.equal(await page.title(), 'Charts · acme/qa · Heddle')
  assert.deepEqual(problems, [])
})

test('where a model has no price, charts and calls say so and lead to setting it', { skip }, async (t) => {
  const { page, problems } = await open(t, `/ui/acme/qa/calls`)
  const unpriced = page.locator('.grid-row .cell-cost').getByRole('link', { name: 'no price' })
  await unpriced.first().waitFor()
  assert.equal(await unpriced.first().getAttribute('title'), 'No price is set for builtin.')
  await page.goto(`${new URL(page.url()).origin}${charts}?range=${ofDay.replace('03T00', '03T12')}&by=op`)
  const cost = page.locator('[data-panel="cost"]')
  await cost.getByText('30 calls not included. No price is set for builtin.').waitFor()
  await assertAccessible(page)
  await cost.getByRole('link', { name: 'Prices' }).click()
  const dialog = page.getByRole('dialog', { name: 'Price of a model' })
  assert.equal(await dialog.getByLabel('Model').inputValue(), 'builtin')
  await dialog.getByLabel('A million tokens of prompts').fill('1000')
  await dialog.getByLabel('A million tokens of answers').fill('0')
  await dialog.getByRole('button', { name: 'Set price' }).click()
  await page.getByRole('row', { name: 'builtin' }).waitFor()
  assert.equal(new URL(page.url()).search, '')
  assert.deepEqual(problems, [])
})
