import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Route } from 'playwright-core'
import { collectProblems, noBrowser } from '../support/browser.ts'
import { giveFeedback } from '../support/feedback.ts'
import { chatCall, idOf, pageTests, servePageApp, traceCalls, writeCalls } from '../support/page-app.ts'
import { pricesOf } from '../support/prices.ts'
import { assertAccessible, goNarrow, narrow } from './accessible.ts'

const skip = noBrowser
const calls = '/ui/acme/qa/calls'
const evil = '<img src=x onerror="document.title=`taken`">'

const { open, served } = await pageTests(
  { after },
  {
    fill: (page) =>
      writeCalls(page, [
        ...Array.from({ length: 300 }, (_, index) =>
          chatCall(index, `Question ${index}?`, `Answer ${index}.`),
        ),
        ...traceCalls(400),
        chatCall(401, evil, evil, { display_name: evil, exception: evil }),
      ]),
  },
)

const rowText = (text: string) => `[role=row]:has-text("${text}")`

test('a filter is typed with suggestions and kept in the URL', { skip }, async (t) => {
  const { page, problems } = await open(t, calls)
  await page.getByText('302 calls').waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('stat')
  await page.getByRole('option', { name: /^status:/ }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.type('er')
  await page.getByRole('option', { name: /status:error/ }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByText('1 call', { exact: true }).waitFor()
  assert.equal(new URL(page.url()).searchParams.get('q'), 'status:error')
  const other = await open(t, `${calls}?q=${encodeURIComponent('inputs.messages:"question 17" -op:agent')}`)
  await other.page.getByText('11 calls').waitFor()
  assert.deepEqual([...problems, ...other.problems], [])
})

test('beside the facets the usual columns fit from 1024 px', { skip }, async (t) => {
  const { page, problems } = await open(t, calls, { viewport: { width: 1024, height: 700 } })
  await page.getByRole('button', { name: 'Facets' }).click()
  await page.locator('.facets .facet').first().waitFor()
  const last = await page.getByRole('columnheader').last().boundingBox()
  assert.ok(last && last.x + last.width <= 1024, JSON.stringify(last))
  assert.equal(await page.locator('.calls-grid').evaluate((grid) => grid.scrollWidth - grid.clientWidth), 0)
  assert.deepEqual(problems, [])
})

test('behind the open facets the list keeps the width of the screen', { skip }, async (t) => {
  const { page, problems } = await open(t, `${calls}?facets=1`, { viewport: { width: 768, height: 700 } })
  await page.locator('.facets .facet').first().waitFor()
  const time = await page.locator('.grid-row .cell-started').first().boundingBox()
  assert.ok(time && time.x + time.width > 740, JSON.stringify(time))
  assert.deepEqual(problems, [])
})

test('facets that were beside the list do not cover it once the window is narrow', { skip }, async (t) => {
  const [wide, small] = [
    { width: 1500, height: 700 },
    { width: 800, height: 700 },
  ]
  const { page, problems } = await open(t, calls, { viewport: wide })
  const facets = page.locator('.facets')
  await facets.locator('.facet').first().waitFor()
  await page.setViewportSize(small)
  await facets.waitFor({ state: 'detached' })
  await page.setViewportSize(wide)
  await facets.waitFor()
  await page.goto(`${served().address}${calls}?facets=1`)
  await facets.waitFor()
  await page.setViewportSize(small)
  await facets.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Facets' }).click()
  await facets.waitFor()
  assert.deepEqual(problems, [])
})

test('at 1440 px the controls above the list are one row, above a filter with room for a query', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, calls, { viewport: { width: 1440, height: 900 } })
  await page.getByText(/^\d+ calls$/).waitFor()
  const tops = await page
    .locator('.filter-bar > :not(.filter-field, .hidden-text)')
    .evaluateAll((controls) =>
      controls
        .map((one) => one.getBoundingClientRect())
        .flatMap(({ height, bottom, top }) => (height > 0 ? (top + bottom) / 2 : [])),
    )
  assert.ok(Math.max(...tops) - Math.min(...tops) < 16, tops.join())
  const field = await page.locator('.filter-field').boundingBox()
  assert.ok((field?.width ?? 0) > 420, JSON.stringify(field))
  assert.deepEqual(problems, [])
})

test('at 360 px the name of a chat is read in full', { skip }, async (t) => {
  const { page, problems } = await open(t, '/ui/acme/qa/calls', narrow)
  const name = page.locator('.call-name', { hasText: 'heddle.chat.completions' }).first()
  const hidden = await name.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)
  assert.equal(hidden, 0)
  const row = page.getByRole('row').filter({ has: name }).first()
  const [above, below] = [await name.boundingBox(), await row.locator('.cell-started').boundingBox()]
  assert.ok(above && below && below.y >= above.y + above.height - 1, JSON.stringify([above, below]))
  assert.deepEqual(problems, [])
})

test('a filter that the bar cannot express shows an error, and the list stays', { skip }, async (t) => {
  const { page, problems } = await open(t, calls)
  await page.waitForSelector(rowText('Question 299?'))
  await page.getByLabel('Filter', { exact: true }).fill('latency:>fast')
  await page.getByRole('alert').getByText('fast is not a duration').waitFor()
  await page.waitForSelector(rowText('Question 299?'))
  await page.getByRole('button', { name: 'Clear filter' }).click()
  await page.getByRole('alert').waitFor({ state: 'detached' })
  await page.getByLabel('Filter', { exact: true }).fill('"nothing says this"')
  await page.getByText('No calls match this filter').waitFor()
  await page.getByRole('button', { name: 'Show all calls' }).click()
  await page.getByText('302 calls').waitFor()
  assert.deepEqual(problems, [])
})

test('columns and sort order are kept in the URL', { skip }, async (t) => {
  const { page, problems } = await open(t, calls)
  await page.waitForSelector(rowText('Question 299?'))
  await page.getByRole('button', { name: 'Latency' }).click()
  await page.waitForSelector(`[role=columnheader][aria-sort=descending]:has-text("Latency")`)
  await page.waitForSelector(`[aria-rowindex="2"]${rowText('agent')}`)
  await page.getByText('Columns').click()
  await page.getByLabel('User', { exact: true }).check()
  await page.getByRole('button', { name: 'Move User left' }).click()
  await page.getByLabel('Model', { exact: true }).uncheck()
  const { searchParams } = new URL(page.url())
  assert.equal(searchParams.get('cols'), 'latency,tokens,cost,feedback,user,started')
  assert.equal(searchParams.get('sort'), 'summary.weave.latency_ms.desc')
  const other = await open(t, `${calls}?cols=user,started`)
  await other.page.waitForSelector('[role=columnheader]:has-text("User")')
  assert.equal(await other.page.locator('[role=columnheader]').count(), 5)
  assert.deepEqual([...problems, ...other.problems], [])
})

test('by cost the most expensive call is first, also where it is not a root', { skip }, async (t) => {
  const [root, search, answer] = traceCalls(90)
  const usage = { dear: { prompt_tokens: 5, completion_tokens: 900 } }
  const other = 'acme/dear'
  const calls = [root, search, { ...answer, summary: { usage } }]
  await writeCalls(
    served(),
    calls.map((call) => ({ ...call, project_id: other })),
    other,
  )
  assert.equal((await served().post('/cost/create', pricesOf({ dear: {} }, other))).status, 200)
  const { page, problems } = await open(t, `/ui/${other}/calls`)
  await page.getByText('1 call', { exact: true }).waitFor()
  // The root used nothing itself, and is shown with what its trace used.
  const cells = page.getByRole('row').nth(1)
  await cells.getByText('Σ 5 → 900', { exact: true }).waitFor()
  await cells.getByText(/^Σ \$1\.8/).waitFor()
  assert.equal(await cells.getByTitle('Of the whole trace').count(), 2)
  assert.equal(await page.getByTitle('Of the call; with Σ of its whole trace').count(), 2)
  await page.getByRole('columnheader', { name: 'Cost' }).getByRole('button').click()
  await page.getByText('3 calls', { exact: true }).waitFor()
  await page
    .getByRole('row')
    .nth(1)
    .getByText(/^\$1\.8/)
    .waitFor()
  assert.ok(!(await page.getByLabel('Roots only').isChecked()))
  assert.deepEqual(problems, [])
})

test('a very small cost and the feedback of four scorers are read in full', { skip }, async (t) => {
  const project_id = 'acme/scored'
  await writeCalls(served(), [{ ...chatCall(95, 'How much?', 'Little.'), project_id }], project_id)
  const price = { prompt_token_cost: 0.000_000_1, completion_token_cost: 0.000_000_1 }
  assert.equal((await served().post('/cost/create', pricesOf({ builtin: price }, project_id))).status, 200)
  const svc_ref = `weave:///${project_id}/call/${idOf('chat', 95)}`
  for (const name of ['a', 'b', 'c', 'd'])
    await giveFeedback(served().post, {
      ...{ project_id, svc_ref, feedback_type: `wandb.runnable.${name}`, payload: { output: true } },
      runnable_ref: `weave:///${project_id}/object/${name}:v0`,
    })
  await giveFeedback(served().post, {
    ...{ project_id, svc_ref, feedback_type: 'wandb.reaction.1' },
    payload: { emoji: '👍' },
  })
  const { page, problems } = await open(t, `/ui/${project_id}/calls`)
  for (const [name, text] of [
    ['cost', '<$0.0001'],
    ['feedback', '👍☑4'],
  ] as const) {
    const cell = page.locator(`.grid-row .cell-${name}`)
    await cell.getByText(/./).first().waitFor()
    assert.equal(await cell.textContent(), text)
    assert.ok(await cell.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth), name)
  }
  assert.deepEqual(problems, [])
})

test('calls are selected, queued, exported and deleted with the keyboard alone', { skip }, async (t) => {
  const at = await servePageApp(t)
  const batch = Array.from({ length: 30 }, (_, index) => chatCall(index, `Question ${index}?`, 'yes'))
  await writeCalls(at, batch)
  const { page, problems } = await open(t, calls, { at })
  await page.waitForSelector(rowText('Question 29?'))
  await page.keyboard.press('j')
  await page.keyboard.press('x')
  await page.getByRole('toolbar').getByText('1 call', { exact: true }).waitFor()
  await page.keyboard.press('Shift+J')
  await page.keyboard.press('Shift+J')
  await page.getByRole('toolbar').getByText('3 calls', { exact: true }).waitFor()

  const download = page.waitForEvent('download')
  await page.getByRole('toolbar').getByRole('button', { name: 'Export JSONL' }).click()
  const stream = await (await download).createReadStream()
  const lines = (await new Response(stream as never).text()).trim().split('\n')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).id),
    [29, 28, 27].map((index) => idOf('chat', index)),
  )

  await page.keyboard.press('a')
  await page.getByLabel('Queue name').fill('Look at these')
  await page.getByRole('option', { name: 'Create “Look at these”' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByText('3 added.').waitFor()
  await page.keyboard.press('Enter')

  await page.keyboard.press('Delete')
  await page.getByRole('button', { name: 'Delete 3 calls' }).click()
  await page.waitForSelector(rowText('Question 29?'), { state: 'detached' })
  await page.getByText('27 calls').waitFor()
  assert.deepEqual(problems, [])
})

test('visible calls update in place, newer calls wait behind a button, and the dot key pauses updates', {
  skip,
}, async (t) => {
  const at = await servePageApp(t)
  const write = (index: number, more: Record<string, unknown> = {}) =>
    writeCalls(at, [chatCall(index, `Question ${index}?`, 'yes', more)])
  for (let index = 0; index < 60; index++) await write(index)
  const { page, problems } = await open(t, calls, { at })
  await page.waitForSelector(rowText('Question 59?'))
  await page.waitForSelector('.live-switch[data-state=live]')
  await write(60)
  await page.waitForSelector(rowText('Question 60?'))
  // Once a row is active, the list no longer moves.
  await page.keyboard.press('j')
  await write(61)
  await page.getByRole('button', { name: '1 new' }).waitFor()
  await write(60, { exception: 'TimeoutError: it is late' })
  await page.waitForSelector(`[aria-rowindex="2"]${rowText('TimeoutError: it is late')}`)
  await page.keyboard.press('.')
  await page.waitForSelector('.live-switch[data-state=paused]')
  await write(62)
  await write(59, { exception: 'ValueError: too much' })
  await page.keyboard.press('.')
  await page.waitForSelector(rowText('ValueError: too much'))
  await page.getByRole('button', { name: '2 new' }).waitFor()
  await page.keyboard.press('Shift+N')
  await page.waitForSelector(`[aria-rowindex="2"]${rowText('Question 62?')}`)
  assert.deepEqual(problems, [])
})

test('the row being read stays in place while forty calls arrive', { skip }, async (t) => {
  const at = await servePageApp(t)
  const write = (index: number) => writeCalls(at, [chatCall(index, `Question ${index}?`, 'yes')])
  for (let index = 0; index < 100; index++) await write(index)
  const { page, problems } = await open(t, calls, { at })
  await page.waitForSelector(rowText('Question 99?'))
  const grid = page.getByRole('grid')
  await grid.evaluate((element) => element.scrollTo({ top: 880 }))
  await page.waitForSelector(rowText('Question 79?'))
  const placeOf = () =>
    page.locator(rowText('Question 79?')).evaluate((row) => row.getBoundingClientRect().top)
  const before = await placeOf()
  for (let index = 100; index < 140; index++) await write(index)
  await page.getByRole('button', { name: '40 new' }).waitFor()
  assert.equal(await placeOf(), before)
  assert.deepEqual(problems, [])
})

test('seven tabs share one event stream, and another tab takes it over when its owner closes', {
  skip,
}, async (t) => {
  const at = await servePageApp(t)
  const write = (index: number) => writeCalls(at, [chatCall(index, `Question ${index}?`, 'yes')])
  await write(0)
  const { page } = await open(t, calls, { at })
  await page.waitForSelector(rowText('Question 0?'))
  const tabs = [page]
  for (let tab = 1; tab < 7; tab++) {
    const next = await page.context().newPage()
    const problems = collectProblems(next, at.address)
    await next.goto(at.address + calls)
    await next.waitForSelector(rowText('Question 0?'))
    assert.deepEqual(problems, [])
    tabs.push(next)
  }
  await write(1)
  for (const tab of tabs) await tab.waitForSelector(rowText('Question 1?'))
  await page.close()
  await write(2)
  for (const tab of tabs.slice(1)) await tab.waitForSelector(rowText('Question 2?'))
})

test('a live list reports that the server is away, and resumes when it is back', { skip }, async (t) => {
  const first = await servePageApp({ after: (close) => t.after(close) })
  const write = (to: typeof first, index: number) =>
    writeCalls(to, [chatCall(index, `Question ${index}?`, 'yes')])
  await write(first, 0)
  const { page } = await open(t, calls, { at: first })
  await page.waitForSelector(rowText('Question 0?'))
  await page.waitForSelector('.live-switch[data-state=live]')
  // As the browser sees a server that is away: no answer.
  await page.context().setOffline(true)
  await page.route('**/views/events', (route) => route.abort())
  await first.app.server.closeAllConnections()
  await page.getByText('The server does not answer.').waitFor()
  await write(first, 1)
  await page.unroute('**/views/events')
  await page.context().setOffline(false)
  await page.getByText('The server does not answer.').waitFor({ state: 'detached' })
  await page.waitForSelector(rowText('Question 1?'))
})

test('a call is shown although the first request for it found no server', { skip }, async (t) => {
  const first = await servePageApp({ after: (close) => t.after(close) })
  const write = (index: number) => writeCalls(first, [chatCall(index, `Question ${index}?`, 'yes')])
  await write(0)
  const { page } = await open(t, calls, { at: first })
  await page.waitForSelector(rowText('Question 0?'))
  await page.waitForSelector('.live-switch[data-state=live]')
  const refused = Promise.withResolvers<void>()
  const refuse = async (route: Route) => {
    await route.abort('connectionrefused')
    refused.resolve()
  }
  await page.route('**/views/calls', refuse, { times: 1 })
  await write(1)
  await refused.promise
  await page.waitForSelector(rowText('Question 1?'))
})

test('the list is accessible', { skip }, async (t) => {
  const { page, problems } = await open(t, '/ui/me', narrow)
  for (const path of [calls, `${calls}?q=colour:red`]) {
    await goNarrow(page, served().address + path)
    await page.waitForSelector('[role=row]:has-text("Question"), .state')
    if (path === calls) {
      await page.keyboard.press('j')
      await page.keyboard.press('x')
      await page.getByRole('toolbar').waitFor()
      await page.keyboard.press('/')
      await page.keyboard.type('s')
      await page.getByRole('listbox').waitFor()
    }
    await assertAccessible(page)
    assert.deepEqual(problems, [])
  }
})

test('on a very large screen text and rows are larger, and rows have no gaps', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, calls, { viewport: { width: 3840, height: 2160 } })
  await page.waitForSelector(rowText('Question 299?'))
  const rows = await page.locator('.virtual > [role=row]').evaluateAll((all) =>
    all.slice(0, 20).map((row) => {
      const { top, height } = row.getBoundingClientRect()
      return { top, height, letters: getComputedStyle(row).fontSize }
    }),
  )
  const [first] = rows
  assert.deepEqual([first?.height, first?.letters], [66, '21px'])
  assert.deepEqual(
    rows.map(({ top }) => Math.round(top - (first?.top ?? 0))),
    rows.map((_, index) => index * 66),
  )
  await page.keyboard.press('G')
  await page.locator(rowText('Question 0?')).waitFor()
  assert.deepEqual(problems, [])
})

test('on a phone what is seldom done with the list is one click away', { skip }, async (t) => {
  const { page, problems } = await open(t, calls, narrow)
  await page.waitForSelector(rowText('Question 299?'))
  const csv = page.getByRole('button', { name: 'Export CSV' })
  await csv.waitFor({ state: 'hidden' })
  await page.getByRole('button', { name: 'More' }).click()
  await csv.waitFor()
  await assertAccessible(page)
  await page.setViewportSize(narrow.viewport)
  await page.getByRole('button', { name: 'Less' }).click()
  await csv.waitFor({ state: 'hidden' })
  assert.deepEqual(problems, [])
})

test('the list shows model output as plain text', { skip }, async (t) => {
  const { page, problems } = await open(t, `${calls}?q=status:error`)
  await page.waitForSelector(rowText('onerror'))
  assert.doesNotMatch(await page.title(), /taken/)
  assert.equal(await page.locator('#page img:not([src^="/ui/"])').count(), 0)
  assert.deepEqual(problems, [])
})
