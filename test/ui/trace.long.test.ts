import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { codexSteps, codexTurn } from '../fixtures/codex-turn.ts'
import { noBrowser, type Page } from '../support/browser.ts'
import { completeOf, project } from '../support/calls.ts'
import { exportOf } from '../support/otlp.ts'
import { pageTests, writeCalls } from '../support/page-app.ts'
import { assertAccessible, narrow } from './accessible.ts'

const skip = noBrowser
const hostile = '<img src=x onerror="document.title=`taken`">'
const trace = 'c'.repeat(32)
const large = 'd'.repeat(32)
const path = (of: string) => `/ui/acme/qa/trace/${of}`
const id = (prefix: string, index: number) => prefix + String(index).padStart(15, '0')
const at = (ms: number) => new Date(Date.UTC(2026, 0, 2) + ms).toISOString()

const call = (index: number, parent: number | null, from: number, to: number | null, more: object = {}) =>
  completeOf({
    id: id('c', index),
    trace_id: trace,
    parent_id: parent === null ? null : id('c', parent),
    op_name: ['agent', 'plan', 'search', 'quick', 'answer'][index] ?? 'op',
    started_at: at(from),
    ended_at: to === null ? null : at(to),
    ...more,
  })

// The agent plans and searches, waits for a person, and answers.
const calls = [
  call(0, null, 0, 60_000),
  call(1, 0, 0, 1_000),
  call(2, 0, 1_000, 3_000, { display_name: hostile }),
  call(3, 0, 1_500, 2_000),
  call(4, 0, 58_000, 60_000, { exception: hostile }),
]

const { served, open } = await pageTests(
  { after },
  {
    fill: async (page) => {
      await writeCalls(page, calls)
      const many = Array.from({ length: 5_000 }, (_, index) =>
        completeOf({
          id: id('d', index),
          trace_id: large,
          parent_id: index === 0 ? null : id('d', Math.floor((index - 1) / 8)),
          op_name: `step ${index}`,
          started_at: at(index),
          ended_at: at(20_000 - index),
        }),
      )
      for (let from = 0; from < many.length; from += 1_000)
        await writeCalls(page, many.slice(from, from + 1_000))
    },
  },
)

/** Runs in the page: holds back the lines of a trace after the first ones, each of many calls, until the test lets go. */
function holdBackAllBut(first: number): void {
  const ask = window.fetch
  window.fetch = async (...asked) => {
    const response = await ask(...asked)
    if (!response.url.endsWith('/views/trace')) return response
    const lines = (await response.text()).split('\n')
    const encode = (of: readonly string[]) => new TextEncoder().encode(of.join('\n'))
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(encode([...lines.slice(0, first), '']))
        const rest = () => {
          controller.enqueue(encode(lines.slice(first)))
          controller.close()
        }
        addEventListener('let go', rest, { once: true })
      },
    })
    return new Response(body, response)
  }
}

const chosen = (text: string) => `[role=treeitem][aria-selected=true]:has-text("${text}")`

test('the calls on the critical path are marked, and the keyboard moves through them', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, path(trace))
  await page.waitForSelector(chosen('agent'))
  const marked = await page.locator('[role=treeitem]:has(.tree-critical) .tree-name').allTextContents()
  assert.deepEqual(marked, ['agent', 'plan', hostile, 'answer'])
  await page.keyboard.press('>')
  await page.waitForSelector(chosen('plan'))
  await page.keyboard.press('>')
  await page.keyboard.press('>')
  await page.waitForSelector(chosen('answer'))
  await page.keyboard.press('<')
  await page.waitForSelector(chosen('onerror'))
  assert.deepEqual(problems, [])
})

test('a long idle gap is shortened with a note, and a key shows it in full', { skip }, async (t) => {
  const { page, problems } = await open(t, path(trace))
  await page.waitForSelector(chosen('agent'))
  const share = () =>
    page
      .locator('[role=treeitem]:has-text("answer") .tree-bar')
      .evaluate(
        (bar) =>
          bar.getBoundingClientRect().width / (bar.parentElement as Element).getBoundingClientRect().width,
      )
  await page.getByRole('button', { name: 'A gap of 55.0 s, shortened' }).waitFor()
  assert.ok((await share()) > 0.3, String(await share()))
  await page.keyboard.press('z')
  await page.getByRole('button', { name: 'A gap of 55.0 s, in full' }).waitFor()
  assert.ok((await share()) < 0.05)
  assert.equal(new URL(page.url()).searchParams.get('gaps'), 'all')
  await page.reload()
  await page.getByRole('button', { name: 'A gap of 55.0 s, in full' }).waitFor()
  assert.deepEqual(problems, [])
})

test('a failure is seen at the root, and a key goes to it', { skip }, async (t) => {
  const { page, problems } = await open(t, path(trace), narrow)
  await page.waitForSelector(chosen('agent'))
  await page.waitForSelector('[role=treeitem]:has-text("agent") [data-status=descendant_error]')
  await page.keyboard.press('f')
  await page.waitForSelector(chosen('answer'))
  await page.getByRole('button', { name: '1 failed' }).click()
  await page.waitForSelector(chosen('answer'))
  const list = await open(t, `/ui/acme/qa/calls?q=${encodeURIComponent('status:descendant_error')}`)
  await list.page.getByText('1 call', { exact: true }).waitFor()
  assert.deepEqual([...problems, ...list.problems], [])
})

test('the rows of a trace show kinds, tokens and cost, and a closed call those below it', {
  skip,
}, async (t) => {
  const trace_id = 'e'.repeat(32)
  const usage = { builtin: { prompt_tokens: 1_200, completion_tokens: 34 } }
  const kinds = [{ operation: { name: 'invoke_agent' } }, { operation: { name: 'execute_tool' } }]
  const rows = [0, 1, 2].map((index) =>
    completeOf({
      id: id('e', index),
      trace_id,
      parent_id: index === 0 ? null : id('e', 0),
      op_name: `step ${index}`,
      attributes: kinds[index] ? { gen_ai: kinds[index] } : {},
      summary: index === 2 ? { usage } : {},
    }),
  )
  await writeCalls(served(), rows)
  const { page, problems } = await open(t, path(trace_id), { viewport: { width: 1_400, height: 800 } })
  await page.waitForSelector(chosen('step 0'))
  assert.deepEqual(await page.locator('.tree-kind').allTextContents(), ['agent', 'tool', 'model'])
  await page.keyboard.press('h')
  const root = page.locator('[role=treeitem]')
  await root.getByText('2 within').waitFor()
  await root.getByText('1,200 → 34').waitFor()
  await page.keyboard.press('l')
  await assertAccessible(page)
  assert.deepEqual(problems, [])
})

test('the name of a call comes before its kind, tokens and cost, at 360 px and beside the details', {
  skip,
}, async (t) => {
  const prompt_tokens = 1_234_567
  const summary = { usage: { builtin: { prompt_tokens, completion_tokens: 34 } } }
  const trace_id = '9'.repeat(32)
  const name = 'heddle.chat.completions'
  await writeCalls(served(), [completeOf({ id: id('e', 90), trace_id, op_name: name, summary })])
  const { page, problems } = await open(t, path(trace_id), narrow)
  for (const width of [360, 1024, 1440]) {
    await page.setViewportSize({ width, height: 800 })
    const named = page.locator('.tree-name')
    await named.waitFor()
    const hidden = await named.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)
    assert.equal(hidden, 0, `${width} px`)
    const [line, bars] = [
      await named.boundingBox(),
      await page.locator('.tree-line .tree-bars').boundingBox(),
    ]
    assert.ok(line && bars && line.x + line.width <= bars.x, `${width} px`)
  }
  assert.deepEqual(problems, [])
})

test('inner steps are hidden until a click or a key shows them, and then for the session', {
  skip,
}, async (t) => {
  const turn = 'f'.repeat(32)
  const sent = await served().post('/otel/v1/traces', exportOf(codexTurn(turn, 40)))
  assert.deepEqual([sent.status, sent.text], [200, '{}'])
  const { page, problems } = await open(t, path(turn), narrow)
  const rows = page.locator('[role=treeitem]')
  const counts = async (calls: number) => {
    await page.getByText(`${calls} calls`, { exact: true }).waitFor()
    return rows.count()
  }
  await page.waitForSelector(chosen('turn/start'))
  assert.equal(await counts(codexSteps.length), codexSteps.length)
  assert.deepEqual(
    await rows.locator('.tree-name').allTextContents(),
    codexSteps.map(({ name }) => name),
  )
  await page.getByRole('button', { name: '1 failed' }).waitFor()
  const show = page.getByRole('button', { name: 'Show 40 inner steps' })
  const box = await show.boundingBox()
  assert.ok(box && box.height >= 24 && box.width >= 24 && box.x + box.width <= 360, JSON.stringify(box))
  await show.click()
  const hide = page.getByRole('button', { name: 'Hide 40 inner steps' })
  await hide.waitFor()
  assert.ok((await counts(50)) > codexSteps.length)
  assert.ok((await rows.filter({ hasText: 'get_model_info' }).count()) > 0)
  await page.reload()
  await hide.waitFor()
  await page.keyboard.press('I')
  assert.equal(await counts(codexSteps.length), codexSteps.length)
  await assertAccessible(page)

  // A call in the address is shown although it is one of them.
  await page.goto(new URL(`${path(turn)}?call=ffffffff00000011`, page.url()).href)
  await hide.waitFor()
  await page.waitForSelector('[role=treeitem][aria-selected=true]')
  await page.keyboard.press('I')
  assert.equal(await counts(codexSteps.length), codexSteps.length)
  await page.goto(new URL(path(trace), page.url()).href)
  await page.getByText('5 calls', { exact: true }).waitFor()
  assert.equal(await page.getByRole('button', { name: /inner steps?$/ }).count(), 0)
  assert.deepEqual(problems, [])
})

test('the tree shows the feedback of a call', { skip }, async (t) => {
  const weave_ref = `weave:///${project}/call/${id('c', 3)}`
  const note = { feedback_type: 'wandb.note.1', payload: { note: hostile } }
  const said = await served().post('/feedback/create', { project_id: project, weave_ref, ...note })
  assert.equal(said.status, 200, said.text)
  const { page, problems } = await open(t, path(trace))
  await page.waitForSelector('[role=treeitem]:has-text("quick") .tree-said')
  assert.equal(await page.locator('.tree-said').count(), 1)
  assert.deepEqual(problems, [])
})

test('the keyboard moves to the end of a large trace and back, and collapses and expands it', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, path(large))
  await page.getByText('5,000 calls').waitFor()
  await page.keyboard.press('G')
  await page.waitForSelector('[role=treeitem][aria-selected=true] >> visible=true')
  assert.ok((await page.locator('[role=treeitem]').count()) < 200)
  await page.keyboard.press('g')
  await page.keyboard.press('g')
  await page.waitForSelector(chosen('step 0'))
  await page.keyboard.press('h')
  await page.getByText('4,999 within').waitFor()
  assert.equal(await page.locator('[role=treeitem]').count(), 1)
  await page.getByRole('tree').evaluate((element) => element.scrollTo({ top: 0 }))
  await page.keyboard.press('l')
  await page.waitForSelector('[role=treeitem]:has-text("step 1")')
  await page.getByRole('link', { name: 'View as list' }).click()
  await page.getByText('5,000 calls', { exact: true }).waitFor()
  await page.goBack()
  await page.waitForSelector(chosen('step 0'))
  assert.deepEqual(problems, [])
})

test('the beginning of a large trace is shown before its end arrives, and stays', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, path(trace), { colorScheme: 'light' })
  // The script stays in the page, which is so a new one.
  await page.addInitScript(holdBackAllBut, 1)
  await page.goto(new URL(path(large), page.url()).href)
  await page.getByText(/^[\d,]+ calls so far$/).waitFor()
  await page.waitForSelector('[role=tree][aria-busy=true]')
  await page.waitForSelector(chosen('step 0'))
  await page.keyboard.press('j')
  await page.waitForSelector(chosen('step 1'))
  // The critical path is not known yet.
  assert.equal(await page.locator('.tree-critical').count(), 0)
  await page.evaluate(() => dispatchEvent(new Event('let go')))
  await page.getByText('5,000 calls', { exact: true }).waitFor()
  await page.waitForSelector('[role=tree][aria-busy=false]')
  await page.waitForSelector(chosen('step 1'))
  const { page: atOnce } = await open(t, path(large))
  await atOnce.waitForSelector('[role=tree][aria-busy=false]')
  const names = (of: Page) => of.locator('.tree-name').allTextContents()
  assert.deepEqual(await names(page), await names(atOnce))
  assert.deepEqual(problems, [])
})

test('a missing trace says so', { skip }, async (t) => {
  const { page, problems } = await open(t, path(encodeURIComponent(hostile)))
  await page.getByText('Trace not found').waitFor()
  assert.deepEqual(problems, [])
})

test('a trace is accessible', { skip }, async (t) => {
  const { page, problems } = await open(t, path(trace), narrow)
  await page.waitForSelector(chosen('agent'))
  await page.getByRole('tab', { name: 'Input' }).waitFor()
  await assertAccessible(page)
  assert.notEqual(await page.title(), 'taken')
  assert.deepEqual(problems, [])
})
