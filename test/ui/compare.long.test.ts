import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { noBrowser } from '../support/browser.ts'
import { comparedRuns, runId } from '../support/compared-runs.ts'
import { pageTests, writeCalls } from '../support/page-app.ts'
import { until } from '../support/wait.ts'
import { assertAccessible, narrow } from './accessible.ts'

const skip = noBrowser
const evals = '/ui/acme/qa/evals'
const compare = (runs: readonly number[], more = '') =>
  `${evals}/compare?ids=${runs.map(runId).join(',')}${more}`
const byJudge = '&sort=diff:scores.judge.score'

const evil = [
  '<img src=x onerror="document.title=`taken`">',
  '<script>document.title="taken"</script>',
  '[click](javascript:document.title="taken") ![leak](https://evil.example/pixel.png)',
  '<style>*{display:none}</style></textarea></pre><svg onload=document.title="taken">',
].join('\n')

const { served, open } = await pageTests(
  { after },
  {
    async fill(page) {
      for (const [name, given] of [
        ['acme/qa', { runs: 3, rows: 120, trials: 2 }],
        ['acme/evil', { runs: 2, rows: 5, text: evil }],
      ] as const) {
        const batch = comparedRuns(given).map((call) => ({ ...call, project_id: name }))
        await writeCalls(page, batch, name)
      }
      const exact = { name: 'exact', check: { kind: 'length', max: 9 }, direction: 'lower' }
      assert.equal((await page.post('/v2/acme/evil/scorers', exact)).status, 200)
    },
  },
)

/** The open row, as the server orders them. */
async function orderOf(sort: object[], ids: readonly number[]) {
  const { json } = await served().post('/v2/acme/qa/eval_results/query', {
    evaluation_call_ids: ids.map(runId),
    sort_by: sort,
    include_raw_data_rows: true,
  })
  return json.rows.map(({ raw_data_row }: { raw_data_row: { row: number } }) => raw_data_row.row) as number[]
}

type Box = Record<'x' | 'width', number>

const openRow = (row: number) => `.row-view .row-inputs li:has-text("row") >> text="${row}"`

test('a comparison of three runs on a narrow screen has all of them', { skip }, async (t) => {
  for (const width of [360, 768]) {
    const { page } = await open(t, compare([0, 1, 2]), { viewport: { width, height: 800 } })
    await page.locator('[role=row] .cell-run').first().waitFor()
    assert.equal(await page.locator('.compare-grid .grid-head > :visible').count(), 4)
    const bar = page.locator('.run-bar')
    assert.equal(await bar.evaluate(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight), 0)
    assert.equal(await page.locator('.compare-grid .grid-row').first().locator('> :visible').count(), 4)
    // They scroll inside the table, whose inputs stay.
    const grid = page.locator('.compare-grid')
    const shade = () => grid.evaluate((element) => getComputedStyle(element).maskImage)
    // Where they do not fit, a shade says so until the last is seen.
    const isCut = await grid.evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
    assert.match(await shade(), isCut ? /gradient/ : /^none$/, `${width} px`)
    const input = page.locator('.compare-grid .cell-input').first()
    // Questions that begin alike differ in what would be cut off on one line.
    const lines = await input.evaluate((cell) => {
      const range = document.createRange()
      range.selectNodeContents(cell)
      return new Set([...range.getClientRects()].map(({ top }) => top)).size
    })
    assert.ok(lines >= 2)
    const { x: left } = (await input.boundingBox()) as { x: number }
    await grid.evaluate((element) => element.scrollTo(element.scrollWidth, 0))
    await until('the end has no shade', async () => (await shade()) === 'none')
    const last = (await page.locator('.grid-row .cell-run').nth(2).boundingBox()) as Box
    const first = (await input.boundingBox()) as Box
    assert.ok(last.x + last.width <= width + 1 && first.x >= 0 && first.x <= left)
    assert.ok(first.x + first.width <= last.x + 1, 'the input leaves room for the last run')
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width)
  }
})

test('on a phone the rows of two runs are whole', { skip }, async (t) => {
  const { page, problems } = await open(t, compare([0, 1]), narrow)
  const rows = page.getByRole('grid')
  await rows.locator('.cell-run').first().waitFor()
  assert.ok(await rows.evaluate((grid) => grid.scrollWidth <= grid.clientWidth))
  assert.deepEqual(problems, [])
})

test('on a phone a run takes a third of the screen at most, with all its figures', { skip }, async (t) => {
  const { page, problems } = await open(t, evals, narrow)
  const rows = page.locator('tbody tr')
  await rows.nth(2).locator('[data-label="judge.score"]').getByText(/\d/).waitFor()
  const heights = await rows.evaluateAll((all) => all.map(({ clientHeight }) => clientHeight))
  assert.ok(Math.max(...heights) <= 210, `${heights} px`)
  const figures = rows.first().locator('td[data-label]:visible')
  assert.equal(await figures.count(), 9)
  assert.deepEqual(problems, [])
})

test('runs are sorted by a score and found by name, with the chosen scores, and saved as a view', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, evals)
  const names = page.locator('tbody .run-name > a')
  await page.locator('tbody tr [data-label="judge.score"]').getByText(/\d/).nth(2).waitFor()
  assert.deepEqual(await names.allTextContents(), ['large', 'small, longer prompt', 'small, first try'])
  const score = page.getByRole('columnheader', { name: 'judge.score' })
  await score.getByRole('button').click()
  await score.and(page.locator('[aria-sort=descending]')).waitFor()
  const means = await page.locator('tbody [data-label="judge.score"]').evaluateAll((cells) => {
    return cells.map(({ firstChild }) => Number(firstChild?.textContent))
  })
  assert.deepEqual(
    means,
    means.toSorted((a, b) => b - a),
  )
  assert.ok(new Set(means).size > 1)
  await page.getByText('Scores', { exact: true }).click()
  await page.getByRole('checkbox', { name: 'exact' }).uncheck()
  await page.getByRole('columnheader', { name: 'exact' }).waitFor({ state: 'detached' })
  await page.getByText('Scores', { exact: true }).click()
  const filter = page.getByLabel('Filter by name or score')
  const least = means.at(-1) as number
  await filter.fill(`judge.score>${least + 0.0005} trials>=1`)
  await page.getByText(`${means.filter((mean) => mean > least).length} of 3`).waitFor()
  await filter.fill(`judge.score:<=${least + 0.0005} -1`)
  await page.getByText('0 of 3').waitFor()
  await filter.fill(`"judge.score">=${least - 0.0005}`)
  await page.getByText('3 of 3').waitFor()
  await filter.fill('juge.score>0.5')
  await page.getByRole('alert').getByText('No column is named juge.score; there are: trials').waitFor()
  await filter.fill('SMALL')
  await page.getByText('2 of 3', { exact: false }).waitFor()
  assert.equal(await names.count(), 2)
  await page.getByRole('button', { name: 'Views' }).click()
  await page.getByLabel('Save this view as').fill('Small ones')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'Small ones' }).waitFor()
  await page.keyboard.press('Escape')
  await page.goto(`${served().address}${evals}`)
  await page.getByRole('button', { name: 'Views' }).click()
  await page.getByRole('link', { name: 'Small ones' }).click()
  await page.getByText('2 of 3', { exact: false }).waitFor()
  await score.and(page.locator('[aria-sort=descending]')).waitFor()
  assert.equal(await page.getByRole('columnheader', { name: 'exact' }).count(), 0)
  await assertAccessible(page)
  assert.deepEqual(problems, [])
})

test('where a scorer says that lower is better, higher values have the colour of worse ones', {
  skip,
}, async (t) => {
  for (const [name, higher, text] of [
    ['qa', 'is-better', 0],
    ['evil', 'is-worse', 1],
  ] as const) {
    const { page, problems } = await open(t, compare([0, 1]).replace('qa', name))
    const card = page.getByRole('region', { name: 'exact', exact: true })
    await card.locator('.tally').waitFor()
    assert.equal(await card.getByText('lower is better').count(), text)
    assert.match((await card.locator(`.tally .${higher}`).textContent()) ?? '', /▲/)
    assert.deepEqual(problems, [])
  }
})

test('runs are selected and compared with the keyboard alone, and Back returns to the selection', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, evals)
  await page.waitForSelector('tbody tr:has-text("large")')
  await page.waitForSelector('tbody tr:has-text("missing")')
  await page.keyboard.press('x')
  await page.keyboard.press('j')
  await page.keyboard.press('x')
  await page.getByRole('button', { name: 'Compare 2' }).waitFor()
  await page.keyboard.press('c')
  await page.waitForSelector('.run-bar li.is-base:has-text("small, longer prompt")')
  await page.waitForSelector('.run-bar li.is-side:has-text("large")')
  await page.waitForSelector('[role=row] .cell-run')
  await page.getByText('120 rows', { exact: true }).waitFor()
  await page.goBack()
  await page.getByRole('button', { name: 'Compare 2' }).waitFor()
  await page.locator('tr.is-chosen').nth(1).waitFor()
  assert.equal(await page.locator('tr.is-chosen').count(), 2)
  assert.deepEqual(problems, [])
})

test('the keyboard moves through rows in the order of their difference, with their trials and runs', {
  skip,
}, async (t) => {
  const order = await orderOf(
    [{ field: 'scores.judge.score', mode: 'difference', direction: 'desc' }],
    [0, 1, 2],
  )
  const { page, problems } = await open(t, compare([0, 1, 2], byJudge))
  await page.waitForSelector('[role=row] .cell-run')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  for (const row of order.slice(0, 3)) {
    await page.waitForSelector(openRow(row))
    await page.keyboard.press('j')
  }
  await page.waitForSelector(openRow(order[3] as number))
  await page.keyboard.press('k')
  await page.waitForSelector(openRow(order[2] as number))
  await page.keyboard.press('}')
  await page.waitForSelector('[role=tab][aria-selected=true]:has-text("Trial 2")')
  await page.keyboard.press('{')
  await page.waitForSelector('[role=tab][aria-selected=true]:has-text("Trial 1")')
  await page.waitForSelector('.row-runs section.is-side:has-text("small, longer prompt")')
  await page.keyboard.press(']')
  await page.waitForSelector('.row-runs section.is-side:has-text("large")')
  await page.keyboard.press('[')
  await page.waitForSelector('.row-runs section.is-side:has-text("small, longer prompt")')
  await page.waitForSelector('.row-runs ins:has-text("certain")')
  await page.keyboard.press('G')
  await page.waitForSelector(openRow(order.at(-1) as number))

  const link = page.url().replace(served().address, '')
  const other = await open(t, link)
  await other.page.waitForSelector(openRow(order.at(-1) as number))
  await other.page.getByText('Row 120 of 120').waitFor()
  await page.keyboard.press('Escape')
  await page.waitForSelector('.row-view', { state: 'detached' })
  assert.deepEqual([...problems, ...other.problems], [])
})

test('a card shows the result of a score, its counts, and the interval of the difference', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, compare([0, 1], byJudge))
  const { json } = await served().post('/views/scores', {
    project_id: 'acme/qa',
    evaluation_call_ids: [runId(0), runId(1)],
    field: 'scores.judge.score',
  })
  const [pair] = json.pairs
  const card = page.getByRole('region', { name: 'judge.score' })
  await card.getByText(`${pair.wins}`).first().waitFor()
  const text = ((await card.textContent()) ?? '').replace(/\s+/g, ' ')
  const missing = json.evaluations[1].missing_trial_count
  assert.match(text, /\d trials?, /)
  assert.ok(missing > 0 && text.includes(`${missing} missing`), text)
  assert.ok(text.includes('2 failed'), text)
  assert.ok(text.includes(`▲ ${pair.wins} ▼ ${pair.losses} = ${pair.ties} of ${pair.row_count} rows`), text)
  assert.match(text, /[▲▼] [+−]0\.\d+ \[/)
  assert.deepEqual(problems, [])
})

test('dragging over a histogram filters the rows, and so does its table', { skip }, async (t) => {
  const { page, problems } = await open(t, compare([0, 1], byJudge))
  const histogram = page.locator('.histogram').first()
  await histogram.waitFor()
  await histogram.scrollIntoViewIfNeeded()
  const box = (await histogram.boundingBox()) as NonNullable<
    Awaited<ReturnType<typeof histogram.boundingBox>>
  >
  await page.mouse.move(box.x + 4, box.y + 20)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * 0.24, box.y + 20, { steps: 4 })
  await page.mouse.up()
  await page.waitForURL(/q=scores\.judge\.score/)
  const count = page.locator('.filter-bar .count')
  await page.waitForFunction(() => {
    const text = document.querySelector('.filter-bar .count')?.textContent
    return text !== '' && text !== '120 rows'
  })
  const drawn = await count.textContent()
  await page.goBack()
  await page.getByText('120 rows', { exact: true }).waitFor()
  await page.getByRole('region', { name: 'judge.score' }).getByText('Show as table').first().click()
  await page
    .getByRole('button', { name: /^Only the \d+ trials of A/ })
    .first()
    .click()
  await page.waitForURL(/q=scores\.judge\.score/)
  assert.match(drawn ?? '', /^\d+ rows$/)
  assert.deepEqual(problems, [])
})

test('a filter can be typed, and an invalid one shows an error', { skip }, async (t) => {
  const { page, problems } = await open(t, compare([0, 1]))
  await page.waitForSelector('[role=row] .cell-run')
  await page.keyboard.press('/')
  await page.keyboard.type('inputs.question~"capital of Chad"')
  await page.keyboard.press('Enter')
  await page.getByText('15 rows', { exact: true }).waitFor()
  await page.getByLabel('Filter rows').fill('nonsense')
  await page.keyboard.press('Enter')
  await page.getByText('Cannot parse: nonsense').waitFor()
  await page.getByLabel('Filter rows').fill('inputs.question="nowhere"')
  await page.keyboard.press('Enter')
  await page.getByText('No rows match this filter').waitFor()
  await page.getByRole('button', { name: 'Clear filter' }).first().click()
  await page.getByText('120 rows', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'B: make baseline' }).click()
  await page.waitForSelector('.run-bar li.is-base:has-text("small, longer prompt")')
  assert.deepEqual(problems, [])
})

test('runs without a common row, missing runs and an empty selection each show a message', {
  skip,
}, async (t) => {
  const gone = await open(t, `${compare([0])},${'f'.repeat(16)}`)
  await gone.page.waitForSelector('.warnings >> text=was not found')
  const unknown = await open(t, `${evals}/compare?ids=${'f'.repeat(16)}`)
  await unknown.page.getByRole('heading', { name: 'Run not found' }).waitFor()
  assert.equal(await unknown.page.getByRole('link', { name: 'State of the runs' }).count(), 0)
  await unknown.page.getByRole('link', { name: 'All runs' }).click()
  await unknown.page.getByRole('region', { name: 'Evaluations' }).waitFor()
  const none = await open(t, `${evals}/compare`)
  await none.page.getByText('No runs selected').waitFor()
  const empty = await open(t, '/ui/acme/none/evals')
  await empty.page.getByText('No evaluations yet').waitFor()
  const lost = await open(t, compare([0, 1], '&row=no-such-row'))
  await lost.page.getByText('This row is not in the current list').waitFor()
  const forbidden = await open(t, '/ui/globex/x/evals')
  await forbidden.page.getByText('You have no access to this').waitFor()
  assert.equal(await forbidden.page.getByRole('button', { name: 'Try again' }).count(), 0)
  for (const { problems } of [gone, unknown, none, empty, lost]) assert.deepEqual(problems, [])
})

test('texts from models, scorers and users are shown as plain text', { skip }, async (t) => {
  const list = await open(t, '/ui/acme/evil/evals')
  await list.page.waitForSelector('tbody tr:has-text("onerror")')
  const path = compare([0, 1], '&sort=high:scores.judge.score').replace('/acme/qa/', '/acme/evil/')
  const { page, problems } = await open(t, path)
  await page.waitForSelector('[role=row] .cell-run >> text=onerror')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.row-view .row-inputs >> text=onerror')
  await page.waitForSelector('.row-view .plain-text >> text=onerror')
  await page.waitForSelector('.row-view .reason >> text=onerror')
  assert.doesNotMatch(await page.title(), /taken/)
  assert.equal(await page.locator('#page img:not([src^="/ui/"])').count(), 0)
  assert.equal(await page.locator('#page a[href^="javascript:"]').count(), 0)
  assert.deepEqual([...list.problems, ...problems], [])
})

test('the comparison is accessible', { skip }, async (t) => {
  const { page, problems } = await open(t, evals, narrow)
  await page.waitForSelector('tbody tr:has-text("missing")')
  await assertAccessible(page)
  const other = await open(t, compare([0, 1, 2], byJudge), narrow)
  await other.page.waitForSelector('[role=row] .cell-run')
  await other.page.locator('.heat').waitFor()
  await assertAccessible(other.page)
  await other.page.keyboard.press('j')
  await other.page.keyboard.press('Enter')
  await other.page.waitForSelector('.row-view .row-runs')
  await assertAccessible(other.page)
  assert.deepEqual([...problems, ...other.problems], [])
})
