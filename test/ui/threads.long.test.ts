import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { logsOf } from '../app/otel/otlp-logs.ts'
import { codexTurn } from '../fixtures/codex-turn.ts'
import type { TestApp } from '../support/app.ts'
import { noBrowser, type Page } from '../support/browser.ts'
import { completeOf } from '../support/calls.ts'
import { attributesOf, exportOf } from '../support/otlp.ts'
import { pageTests, writeCalls } from '../support/page-app.ts'
import { assertAccessible, narrow } from './accessible.ts'

const skip = noBrowser
const odd = '../odd & long?'
const at = (second: number, ms = 0) => new Date(Date.UTC(2026, 0, 2, 3, 0, second, ms)).toISOString()
const id = (prefix: string, index: number) => prefix + String(index).padStart(15, '0')
const user = (content: string) => ({ role: 'user', content })
const assistant = (content: string | null, more: object = {}) => ({ role: 'assistant', content, ...more })

/** A turn whose request repeats all those before it, as clients of chats write it. */
function turnsOf(
  prefix: string,
  thread_id: string,
  count: number,
  fields: (index: number) => object = () => ({}),
) {
  const messages: object[] = [{ role: 'system', content: 'Be brief.' }]
  return Array.from({ length: count }, (_, index) => {
    messages.push(user(`question ${index}`))
    const answer = assistant(`answer ${index}`, { reasoning_content: `thought ${index}` })
    const call = completeOf({
      ...{ id: id(prefix, index), trace_id: id(prefix, index).repeat(2), thread_id, op_name: 'chat' },
      ...{ started_at: at(index), ended_at: at(index, 250), inputs: { messages: [...messages] } },
      ...{ output: { choices: [{ message: answer }] } },
      summary: { usage: { m1: { prompt_tokens: 10, completion_tokens: 2 } } },
      ...fields(index),
    })
    messages.push(assistant(`answer ${index}`))
    return call
  })
}

const toolCall = {
  id: 'k1',
  type: 'function',
  function: { name: 'count_ends', arguments: '{"side":"warp"}' },
}
const child = (index: number, fields: object) =>
  completeOf({
    ...{ id: id('b', index), trace_id: id('b', 0).repeat(2), parent_id: id('b', 0), thread_id: null },
    ...{ started_at: at(100, index), ended_at: at(100, index + 5), ...fields },
  })

const agent = [
  completeOf({
    ...{ id: id('b', 0), trace_id: id('b', 0).repeat(2), thread_id: odd, op_name: 'weaver', parent_id: null },
    ...{ started_at: at(100), ended_at: at(102), inputs: { question: 'How many ends?' }, output: 'Twelve.' },
  }),
  child(1, {
    inputs: { messages: [user('How many ends?')] },
    output: { choices: [{ message: assistant(null, { tool_calls: [toolCall] }) }] },
    summary: { usage: { m1: { prompt_tokens: 30, completion_tokens: 4 } } },
  }),
  child(2, {
    attributes: {
      gen_ai: { operation: { name: 'execute_tool' }, tool: { name: 'count_ends', call: { id: 'k1' } } },
    },
    ...{ inputs: { side: 'warp' }, output: null, exception: 'no such loom' },
  }),
  child(3, {
    inputs: { messages: [user('How many ends?')] },
    output: { choices: [{ message: assistant('Twelve.') }] },
    summary: { usage: { m1: { prompt_tokens: 50, completion_tokens: 6 } } },
  }),
]

const write = (app: TestApp, batch: readonly object[], project_id: string) =>
  writeCalls(
    app,
    batch.map((call) => ({ ...call, project_id })),
    project_id,
  )

const { served, open } = await pageTests(
  { after },
  {
    fill: async (page) => {
      const costs = { m1: { prompt_token_cost: 0.001, completion_token_cost: 0.01 } }
      assert.equal((await page.post('/cost/create', { project_id: 'acme/qa', costs })).status, 200)
      await writeCalls(page, agent)
      const failed = (index: number) =>
        index === 2 ? { exception: 'RateLimitError: too many requests' } : {}
      await writeCalls(page, turnsOf('a', 'visit-7', 4, failed))
      const long = turnsOf('d', 'long', 200)
      for (let from = 0; from < long.length; from += 50)
        await write(page, long.slice(from, from + 50), 'acme/long')
    },
  },
)

const list = '/ui/acme/qa/conversations'
const path = (thread: string, project = 'acme/qa') =>
  `/ui/${project}/conversation?thread=${encodeURIComponent(thread)}`
const row = (page: Page, text: string) => page.locator('.threads-grid .grid-row', { hasText: text })
const turn = (page: Page, number: number) => page.getByRole('region', { name: `Turn ${number}`, exact: true })
const linesIn = async (page: Page, number: number) =>
  (await turn(page, number).locator('.said').allInnerTexts()).map((text) => text.replace(/\s+/g, ' '))
/** Read, and not only previewed. */
const answerIn = (page: Page, number: number, text: string) =>
  turn(page, number).locator('.chat:not([aria-busy]) > .is-answer', { hasText: text })

test('the list shows question, answer, turns, agents, cost and errors, and opens a conversation', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, list, { viewport: { width: 1400, height: 800 } })
  const cells = await row(page, 'How many ends?').getByRole('gridcell').allInnerTexts()
  assert.match(cells[1] as string, /How many ends\?\s+→ Twelve\./)
  assert.deepEqual(
    cells.slice(2, 7).map((text) => text.replace(/\s+/g, ' ').trim()),
    ['1', 'alice', 'weaver m1', '$0.180', '1'],
  )
  assert.match((await row(page, 'question 0').textContent()) ?? '', /answer 3/)
  await page.getByRole('button', { name: 'Cost' }).click()
  await page.locator('.threads-grid .grid-row >> nth=0').getByText('How many ends?').waitFor()
  assert.equal(new URL(page.url()).searchParams.get('sort'), 'cost.desc')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'How many ends?' }).waitFor()
  assert.equal(new URL(page.url()).searchParams.get('thread'), odd)
  await page.goBack()
  await row(page, 'question 0').waitFor()
  assert.deepEqual(problems, [])
})

test('the filter of the calls chooses conversations', { skip }, async (t) => {
  const { page, problems } = await open(t, list)
  await row(page, 'How many ends?').waitFor()
  await page.getByRole('combobox', { name: 'Filter' }).fill('exception:RateLimit')
  await page.getByText('1 conversation', { exact: true }).waitFor()
  await row(page, 'question 0').waitFor()
  await page.getByRole('combobox', { name: 'Filter' }).fill('user:nobody')
  await page.getByText('No conversations match this filter').waitFor()
  await page.getByRole('button', { name: 'Show all conversations' }).click()
  await row(page, 'How many ends?').waitFor()
  assert.deepEqual(problems, [])
})

test('a new turn moves its conversation to the top, and a list in use says so instead', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, '/ui/acme/live/conversations')
  await page.getByText('No conversations yet').waitFor()
  await write(served(), turnsOf('1', 'first', 1), 'acme/live')
  await row(page, 'question 0').waitFor()
  await page.keyboard.press('j')
  await write(
    served(),
    turnsOf('2', 'second', 1, () => ({
      started_at: at(50),
      ended_at: at(51),
      inputs: { question: 'newer' },
    })),
    'acme/live',
  )
  await page.getByRole('button', { name: '1 new' }).click()
  await row(page, 'newer').waitFor()
  assert.deepEqual(problems, [])
})

test('each turn shows what is new in it, with thoughts folded', { skip }, async (t) => {
  const { page, problems } = await open(t, path('visit-7'))
  await answerIn(page, 2, 'answer 1').waitFor()
  assert.deepEqual(await linesIn(page, 1), [
    'system Be brief.',
    'user question 0',
    'assistant Thought answer 0',
  ])
  assert.deepEqual(await linesIn(page, 2), ['user question 1', 'assistant Thought answer 1'])
  await page.getByText('$0.120').waitFor()
  await turn(page, 1).getByText('$0.030').waitFor()
  await turn(page, 3).locator('[data-role=error]', { hasText: 'RateLimitError' }).waitFor()
  assert.deepEqual(problems, [])
})

test('an agent has its tools in place, what failed below it, and its cost', { skip }, async (t) => {
  const { page, problems } = await open(t, path(odd), narrow)
  await answerIn(page, 1, 'Twelve.').waitFor()
  const lines = await linesIn(page, 1)
  assert.equal(lines.length, 3, lines.join('\n'))
  assert.equal(lines[0], 'user How many ends?')
  assert.match(lines[1] as string, /calls count_ends .*warp.* error no such loom/)
  await turn(page, 1).getByText('1 failed below').waitFor()
  await turn(page, 1).getByText('$0.180').waitFor()
  await assertAccessible(page)
  await turn(page, 1).getByRole('link', { name: 'Trace', exact: true }).click()
  await page.getByRole('tree').waitFor()
  await page.locator('.facts').getByRole('link', { name: odd }).click()
  await turn(page, 1).waitFor()
  assert.deepEqual(problems, [])
})

test('a turn of Codex has the question, tools and outputs of its records, whichever of spans and records come first', {
  skip,
}, async (t) => {
  const traceId = 'e'.repeat(32)
  const record = (name: string, at: number, span: number, attributes: Record<string, unknown>) => ({
    timeUnixNano: String(BigInt(Date.UTC(2026, 0, 2)) * 1_000_000n + BigInt(at) * 1_000_000n),
    ...{ traceId, spanId: `eeeeeeee${String(span).padStart(8, '0')}` },
    attributes: attributesOf({
      'event.name': name,
      'conversation.id': 't-1',
      model: 'loom-1',
      ...attributes,
    }),
  })
  const result = { tool_name: 'exec_command', call_id: 'call_1', success: 'true' }
  const logsIn = (project: string) =>
    logsOf(
      [
        record('codex.user_prompt', 1, 3, { prompt: 'Warp count?' }),
        record('codex.tool_result', 9, 8, {
          ...result,
          arguments: '{"cmd":"echo 12"}',
          output: 'twelve ends',
        }),
      ],
      resourceOf(project),
    )
  const resourceOf = (project: string) => ({ 'wandb.entity': 'acme', 'wandb.project': project })
  const spansIn = (project: string) => exportOf(codexTurn(traceId, 40), resourceOf(project))
  for (const [project, order] of [
    ['records-first', [logsIn, spansIn]],
    ['spans-first', [spansIn, logsIn]],
  ] as const) {
    for (const bodyIn of order) {
      const url = bodyIn === logsIn ? '/otel/v1/logs' : '/otel/v1/traces'
      assert.equal((await served().post(url, bodyIn(project))).status, 200)
    }
    const { page } = await open(t, path('t-1', `acme/${project}`))
    await page.getByRole('heading', { name: 'Warp count?' }).waitFor()
    await turn(page, 1).getByText('twelve ends').waitFor({ state: 'attached' })
    assert.match((await linesIn(page, 1)).join('\n'), /Warp count\?[\s\S]*exec_command/)
    assert.equal(await page.getByRole('region', { name: 'Turn 2', exact: true }).count(), 0)
  }
})

test('the keyboard goes from turn to turn, to errors, to the trace and back', { skip }, async (t) => {
  const { page, problems } = await open(t, path('visit-7'))
  await answerIn(page, 1, 'answer 0').waitFor()
  const current = (number: number) =>
    page.waitForSelector(`.thread-turn[aria-label="Turn ${number}"][aria-current=true]`)
  for (const [key, number] of [
    ['j', 1],
    ['j', 2],
    ['k', 1],
    ['f', 3],
    ['G', 4],
  ] as const) {
    await page.keyboard.press(key)
    await current(number)
  }
  await page.keyboard.press('t')
  await page.getByRole('tree').waitFor()
  await page.goBack()
  await current(4)
  await page.keyboard.press('Escape')
  await row(page, 'question 0').waitFor()
  assert.deepEqual(problems, [])
})

test('a turn gets feedback, and turns go to a queue, one or all', { skip }, async (t) => {
  const { page, problems } = await open(t, path('visit-7'))
  const good = turn(page, 2).getByRole('button', { name: 'Good' })
  await good.click()
  await page.waitForSelector('.thread-turn[aria-label="Turn 2"] button[aria-label=Good][aria-pressed=true]')
  await turn(page, 2).locator('.feedback-count').waitFor()
  await turn(page, 2).getByRole('button', { name: 'To queue' }).click()
  await page.getByRole('combobox', { name: 'Queue name' }).fill('talks')
  await page.keyboard.press('Enter')
  await page.getByText('1 added.').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Turns to queue' }).click()
  await page.getByRole('option', { name: 'talks' }).click()
  await page.getByText('3 added, 1 already there.').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Turns to dataset' }).click()
  await page.getByRole('dialog', { name: /Add 4 calls to a dataset/ }).waitFor()
  assert.deepEqual(problems, [])
})

test('a conversation of 200 turns is read in pages, and its end is reached by a key and by a link', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, path('long', 'acme/long'))
  await answerIn(page, 1, 'answer 0').waitFor()
  await page.getByText('200 turns', { exact: true }).waitFor()
  await page.keyboard.press('G')
  await answerIn(page, 200, 'answer 199').waitFor()
  assert.deepEqual(await linesIn(page, 200), ['user question 199', 'assistant Thought answer 199'])
  // Most turns in between were not read.
  assert.ok((await page.locator('.thread-turn .chat[aria-busy=true]').count()) > 100)
  const other = await open(t, `${path('long', 'acme/long')}&turn=${id('d', 150)}`)
  await answerIn(other.page, 151, 'Thought').waitFor()
  assert.deepEqual([...problems, ...other.problems], [])
})

test('a turn that arrives appears, and a running one is read again when it ends', { skip }, async (t) => {
  const [first, second] = turnsOf('3', 'growing', 2) as [object, { id: string; output: unknown }]
  await write(served(), [first], 'acme/grow')
  const { page, problems } = await open(t, path('growing', 'acme/grow'))
  await answerIn(page, 1, 'answer 0').waitFor()
  const { ended_at, output, summary, ...start } = { ...second, ended_at: at(3), summary: {} }
  const begun = await served().post('/call/start', { start: { ...start, project_id: 'acme/grow' } })
  assert.equal(begun.status, 200, begun.text)
  // What it says is read, and not only its first line.
  await turn(page, 2).locator('.chat:not([aria-busy]) > .said', { hasText: 'question 1' }).waitFor()
  const end = { id: second.id, project_id: 'acme/grow', ended_at, output, summary }
  assert.equal((await served().post('/call/end', { end })).status, 200)
  await answerIn(page, 2, 'answer 1').waitFor()
  assert.deepEqual(problems, [])
})

test('going back leads to the turn where the conversation was left', { skip }, async (t) => {
  const { page, problems } = await open(t, path('long', 'acme/long'))
  await turn(page, 30).waitFor()
  // In one task: the browser tells of the scrolling only after the screen is gone.
  await turn(page, 30).evaluate((section) => {
    section.scrollIntoView()
    for (const link of section.querySelectorAll('a')) if (link.textContent === 'Trace') link.click()
  })
  await page.waitForSelector('[role=treeitem]')
  await page.goBack()
  await page.waitForFunction(() => {
    const box = document.querySelector('.thread-turn[aria-label="Turn 30"]')?.getBoundingClientRect()
    return box !== undefined && box.bottom > 0 && box.top < innerHeight
  })
  assert.deepEqual(problems, [])
})

test('the bar of a conversation fits at every width', { skip }, async (t) => {
  const { page, problems } = await open(t, path('visit-7'))
  await page.getByRole('button', { name: 'Turns to dataset' }).waitFor()
  for (const width of [360, 768, 900, 1024, 1200]) {
    await page.setViewportSize({ width, height: 800 })
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width)
  }
  // On a phone the first turn is on the upper half of the screen, and a note that is written has its room.
  await page.setViewportSize({ width: 360, height: 800 })
  const note = page.getByLabel('A note on this conversation')
  const [top, low] = await Promise.all([turn(page, 1), note].map((part) => part.boundingBox()))
  assert.ok((top?.y ?? 800) < 350, `${top?.y}`)
  await note.focus()
  assert.ok(((await note.boundingBox())?.height ?? 0) > (low?.height ?? 0))
  assert.deepEqual(problems, [])
})

test('a conversation that does not exist is not found, and the list is accessible', { skip }, async (t) => {
  const { page, problems } = await open(t, path('nothing'), narrow)
  await page.getByText('Conversation not found').waitFor()
  assert.equal(await page.getByRole('heading', { level: 1, name: 'Conversation' }).count(), 1)
  await page.getByRole('link', { name: 'All conversations of the project' }).click()
  await row(page, 'How many ends?').waitFor()
  await assertAccessible(page)
  assert.deepEqual(problems, [])
})
