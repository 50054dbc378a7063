// How long a user waits in the page, in a Chromium on this machine.
//
//   node benchmarks/page.ts [--only list,trace,compare] [--calls 100000] [--spans 30000] [--rows 10000] [--rounds 5]

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { keys } from '../test/support/app.ts'
import { type Browser, noBrowser, openBrowser, type Page } from '../test/support/browser.ts'
import { buildPage } from '../test/support/built-page.ts'
import { completeOf, project } from '../test/support/calls.ts'
import { comparedRuns, runId } from '../test/support/compared-runs.ts'
import { chatCall } from '../test/support/page-app.ts'
import { type RunningServer, startServer } from '../test/support/server.ts'

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '100000' },
    spans: { type: 'string', default: '30000' },
    rows: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', default: 'list,trace,compare' },
  },
})
const { only, ...sizes } = values
const { calls, spans, rows, rounds } = Object.fromEntries(
  Object.entries(sizes).map(([name, text]) => [name, Number(text)]),
) as Record<keyof typeof sizes, number>

const ends: (() => unknown)[] = []
const t = { after: (end: () => unknown) => void ends.push(end) }

/** One figure for each round; the median is reported. */
function say(what: string, aim: string | undefined, given: readonly number[], unit = 'ms'): void {
  const sorted = given.toSorted((one, other) => one - other)
  const middle = sorted[Math.floor(sorted.length / 2)] as number
  const range = sorted.length > 1 ? `, ${sorted[0]?.toFixed(0)} to ${sorted.at(-1)?.toFixed(0)}` : ''
  console.log(
    `${what.padEnd(62)} ${middle.toFixed(0)} ${unit}${range}${aim === undefined ? '' : ` (aim: ${aim})`}`,
  )
}

/** Each part has its own calls in the one record, which has those of every measured part. */
const parts = {
  list: { fill: fillList, measure: measureList },
  trace: { fill: fillTrace, measure: measureTrace },
  compare: { fill: fillRuns, measure: measureComparison },
}

async function measure(): Promise<void> {
  const chosen = only.split(',').map((name) => {
    const part = parts[name as keyof typeof parts]
    if (part === undefined) throw new Error(`--only takes ${Object.keys(parts).join(', ')}, not "${name}"`)
    return part
  })
  buildPage()
  const data = mkdtempSync(join(tmpdir(), 'heddle-page-'))
  t.after(() => rmSync(data, { recursive: true, force: true }))
  const server = await startServer(t, { HEDDLE_DATA: data })
  const browser = await openBrowser({ after: (end) => t.after(end) })
  for (const part of chosen) await part.fill(server)
  for (const part of chosen) await part.measure(browser, server)
}

async function measureList(browser: Browser, server: RunningServer): Promise<void> {
  const firstViews: number[] = []
  const firstWork: number[] = []
  let bytes = 0
  for (let round = 0; round < rounds; round++) {
    const { page, took, received, worked } = await firstView(
      browser,
      server,
      `/ui/${project}/calls`,
      '[role=row] .call-name',
    )
    firstViews.push(took)
    bytes = received
    firstWork.push(await worked())
    await page.context().close()
  }
  say('first view of the list, nothing cached', 'under 1000', firstViews)
  say('processor time of the page for it', undefined, firstWork)
  say('its files, as they are sent', 'under 100', [bytes / 1000], 'kB')

  const { page, worked } = await firstView(browser, server, `/ui/${project}/calls`, '[role=row] .call-name')
  const jumps: number[] = []
  for (let round = 0; round < rounds; round++) {
    jumps.push(await jump(page, 'G', `Question 0?`))
    await jump(page, 'g g', `Question ${calls - 1}?`)
  }
  say(`jump to the end of ${calls} calls`, 'under 100', jumps)
  const before = await worked()
  const scrolled = await scroll(page)
  const work = ((await worked()) - before) / scrolled.length
  say('longest frame while the list is scrolled', 'under 50', [Math.max(...scrolled)])
  say('processor time of the page for a frame', 'under 16', [work])
  say('frames over 50 ms', 'none', [scrolled.filter((ms) => ms > 50).length], `of ${scrolled.length}`)
  await live(page, server)
  await page.context().close()
}

async function measureTrace(browser: Browser, server: RunningServer): Promise<void> {
  const beginnings: number[] = []
  const traces: number[] = []
  const traceWork: number[] = []
  for (let round = 0; round < rounds; round++) {
    const seen = await firstView(browser, server, `/ui/${project}/trace/${'7'.repeat(32)}`, '[role=treeitem]')
    beginnings.push(seen.took)
    await seen.page.waitForSelector('[role=tree][aria-busy=false]', { timeout: 120_000 })
    traces.push(performance.now() - seen.since)
    traceWork.push(await seen.worked())
    await seen.page.context().close()
  }
  say(`the first rows of a trace of ${spans} calls, nothing cached`, 'under 1000', beginnings)
  say('all of it', 'under 1000', traces)
  say('processor time of the page for it', undefined, traceWork)
}

async function measureComparison(browser: Browser, server: RunningServer): Promise<void> {
  const ids = [0, 1, 2, 3].map(runId).join(',')
  const compare = `/ui/${project}/evals/compare?ids=${ids}&sort=diff:scores.judge.score`
  const compared = await firstView(browser, server, compare, '[role=row] .cell-run')
  await compared.page.locator('.heat').waitFor({ timeout: 120_000 })
  const sorts: number[] = []
  for (let round = 0; round < rounds * 2; round++) {
    sorts.push(await sort(compared.page, round % 2 === 0 ? 'high' : 'low'))
  }
  say(`comparison of 4 × ${rows} trials, sorted another way`, 'under 300', sorts)
  await compared.page.context().close()
}

async function write({ post }: RunningServer, batch: readonly object[]): Promise<void> {
  for (let from = 0; from < batch.length; from += 1_000) {
    const part = { batch: batch.slice(from, from + 1_000) }
    const response = await post(`/v2/${project}/calls/complete`, part)
    if (!response.ok) throw new Error(await response.text())
  }
}

async function fillList(server: RunningServer): Promise<void> {
  const answer = 'The answer is a sentence or two, as they are. '.repeat(4)
  for (let from = 0; from < calls; from += 10_000) {
    const count = Math.min(10_000, calls - from)
    await write(
      server,
      Array.from({ length: count }, (_, index) =>
        chatCall(from + index, `Question ${from + index}?`, answer),
      ),
    )
  }
}

async function fillTrace(server: RunningServer): Promise<void> {
  const id = (index: number) => `9${String(index).padStart(15, '0')}`
  const at = (ms: number) => new Date(Date.UTC(2025, 0, 2) + ms).toISOString()
  await write(
    server,
    Array.from({ length: spans }, (_, index) =>
      completeOf({
        id: id(index),
        trace_id: '7'.repeat(32),
        parent_id: index === 0 ? null : id(Math.floor((index - 1) / 8)),
        op_name: `step ${index % 12}`,
        started_at: at(index),
        ended_at: at(spans * 2 - index),
      }),
    ),
  )
}

async function fillRuns(server: RunningServer): Promise<void> {
  await write(server, comparedRuns({ runs: 4, rows }))
}

/** From opening the address until the expected content is shown, in a browser with an empty cache. */
async function firstView(browser: Browser, { address }: RunningServer, path: string, shown: string) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } })
  const page = await context.newPage()
  const client = await context.newCDPSession(page)
  const files = new Set<string>()
  let received = 0
  await client.send('Network.enable')
  await client.send('Performance.enable', { timeDomain: 'threadTicks' })
  /** Milliseconds of processor time of the page so far, which other programs on the machine do not affect. */
  const worked = async () => {
    const { metrics } = await client.send('Performance.getMetrics')
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0) * 1000
  }
  client.on('Network.responseReceived', ({ requestId, response, type }) => {
    if (type === 'Document' || /\/ui\/[\w-]+\.(js|css|svg)$/.test(response.url)) files.add(requestId)
  })
  client.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (files.has(requestId)) received += encodedDataLength
  })
  const since = performance.now()
  await page.goto(`${address}${path}#key=${keys.alice}`, { waitUntil: 'commit' })
  await page.waitForSelector(shown, { timeout: 120_000 })
  return { page, since, took: performance.now() - since, received, worked }
}

/** From the key press to the frame that shows the row. */
function jump(page: Page, press: string, text: string): Promise<number> {
  return page.evaluate(
    async ([all, wanted]) => {
      const isThere = () =>
        [...document.querySelectorAll('[role=row] .preview')].some((row) =>
          row.textContent?.startsWith(wanted as string),
        )
      const since = performance.now()
      for (const key of (all as string).split(' '))
        document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
      while (!isThere()) await new Promise(requestAnimationFrame)
      return performance.now() - since
    },
    [press, text],
  )
}

/** How long each frame took during five seconds of turning the wheel. */
function scroll(page: Page): Promise<number[]> {
  return page.evaluate(async () => {
    const grid = document.querySelector('[role=grid]') as HTMLElement
    const frames: number[] = []
    let before = await new Promise<number>(requestAnimationFrame)
    for (let frame = 0; frame < 300; frame++) {
      grid.scrollTop += 240
      const now = await new Promise<number>(requestAnimationFrame)
      frames.push(now - before)
      before = now
    }
    return frames
  })
}

/** Twenty calls per second arrive while the list is scrolled down. */
async function live(page: Page, { post }: RunningServer): Promise<void> {
  await page.evaluate(() => document.querySelector('[role=grid]')?.scrollTo({ top: 4_400 }))
  const watched = `Question ${calls - 101}?`
  const row = page.locator(`[role=row]:has-text("${watched}")`)
  await row.waitFor()
  const placeOf = () => row.evaluate((element) => element.getBoundingClientRect().top)
  const before = await placeOf()
  const frames = page.evaluate(async () => {
    const taken: number[] = []
    const since = performance.now()
    let last = since
    while (last - since < 6_000) {
      const now = await new Promise<number>(requestAnimationFrame)
      taken.push(now - last)
      last = now
    }
    return taken
  })
  let moved = 0
  for (let index = 0; index < 100; index++) {
    const due = new Promise((resolve) => setTimeout(resolve, 50))
    await post(`/v2/${project}/calls/complete`, {
      batch: [chatCall(calls + index, `Question ${calls + index}?`, 'yes')],
    })
    if (index % 20 === 19) moved = Math.max(moved, Math.abs((await placeOf()) - before))
    await due
  }
  say('how far a row moves while 20 calls a second come in', '0', [moved], 'px')
  say('longest frame meanwhile', 'under 50', [Math.max(...(await frames))])
}

/** From the selection to the frame that shows other rows. */
function sort(page: Page, way: string): Promise<number> {
  return page.evaluate(async (wanted) => {
    const order = document.querySelector('[aria-label=Order]') as HTMLSelectElement
    const rowsNow = () =>
      [...document.querySelectorAll('[role=row] .cell-run strong')]
        .slice(0, 8)
        .map((one) => one.textContent)
        .join()
    const before = rowsNow()
    const since = performance.now()
    order.value = wanted
    order.dispatchEvent(new Event('change', { bubbles: true }))
    while (rowsNow() === '' || rowsNow() === before) await new Promise(requestAnimationFrame)
    return performance.now() - since
  }, way)
}

if (noBrowser) throw new Error(noBrowser)
try {
  await measure()
} finally {
  for (const end of ends.toReversed()) await end()
}
