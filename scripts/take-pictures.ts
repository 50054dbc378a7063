// Takes the pictures of the README's tour, with a server that runs the built-in model and the page in Chromium.
//
//   node scripts/take-pictures.ts

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { keys } from '../test/support/app.ts'
import { noBrowser, openBrowser, openPage } from '../test/support/browser.ts'
import { buildPage } from '../test/support/built-page.ts'
import { startServer } from '../test/support/server.ts'

if (noBrowser) throw new Error(noBrowser)
const target = fileURLToPath(new URL('../docs/pictures/', import.meta.url))
const project = 'acme/qa'
const countries = [
  'Mali',
  'Peru',
  'Chad',
  'Oman',
  'Laos',
  'Cuba',
  'Togo',
  'Fiji',
  'Iran',
  'Kenya',
  'Norway',
  'Japan',
]

const ends: (() => unknown)[] = []
const t = { after: (end: () => unknown) => void ends.push(end) }
try {
  await tour()
} finally {
  for (const end of ends.toReversed()) await end()
}

async function tour(): Promise<void> {
  buildPage()
  mkdirSync(target, { recursive: true })
  const data = mkdtempSync(join(tmpdir(), 'heddle-tour-'))
  t.after(() => rmSync(data, { recursive: true, force: true }))
  const server = await startServer(t, { HEDDLE_DATA: data, HEDDLE_MODEL: 'builtin' })
  const post = async (url: string, body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(server.address + url, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.alice}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${url}: ${await response.text()}`)
    return (await response.json()) as Record<string, unknown>
  }
  while (!(await fetch(`${server.address}/ready`)).ok)
    await new Promise((resolve) => setTimeout(resolve, 500))
  for (const [index, country] of countries.entries()) {
    const content = `What is the capital of ${country}?`
    // Warm enough to be wrong now and then.
    const asked = { messages: [{ role: 'user', content }], temperature: 1.3, seed: index + 4, max_tokens: 24 }
    await post('/v1/chat/completions', asked, { 'x-heddle-project': project })
  }
  await post(`/v2/${project}/calls/complete`, { batch: agentCalls() })

  const browser = await openBrowser({ after: (end) => t.after(end) })
  const options = { viewport: { width: 1160, height: 640 }, colorScheme: 'light' } as const
  const { page } = await openPage(
    browser,
    { after: (end) => t.after(end) },
    `${server.address}/ui/play?p=${encodeURIComponent(project)}&a=${encodeURIComponent('{"logprobs":true,"top_logprobs":5,"temperature":0.8}')}#key=${keys.alice}`,
    options,
  )
  const picture = (name: string) => page.screenshot({ path: `${target}${name}.png` })

  await page.getByLabel('Message 1', { exact: true }).fill('What is the capital of Mali?')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('listbox', { name: 'Tokens of the answer' }).waitFor()
  await picture('playground')

  await page.goto(`${server.address}/ui/${project}/calls`)
  await page.waitForSelector('[role=row]:has-text("Norway")')
  for (const key of ['j', 'j', 'j', 'p']) await page.keyboard.press(key)
  await page.waitForSelector('aside.peek .said.is-answer')
  await picture('calls')

  await page.goto(`${server.address}/ui/${project}/trace/${'7'.repeat(32)}?call=${'3'.padStart(16, '0')}`)
  await page.waitForSelector('.tab-panel')
  await picture('trace')

  // Half of the questions go to a reviewer.
  await page.goto(`${server.address}/ui/${project}/calls?q=op:completions`)
  await page.waitForSelector('[role=row]:has-text("Norway")')
  for (const key of ['j', 'x', 'Shift+J', 'Shift+J', 'Shift+J', 'Shift+J', 'a'])
    await page.keyboard.press(key)
  await page.getByLabel('Queue name').fill('Capitals')
  await page.getByRole('option', { name: 'Create “Capitals”' }).click()
  await page.getByRole('link', { name: 'Open Capitals' }).click()
  await page.getByRole('link', { name: 'Review', exact: true }).click()
  await page.waitForSelector('.reading .said.is-answer')
  await page.keyboard.press('1')
  await picture('review')

  await page.goto(`${server.address}/ui/${project}/calls?q=${encodeURIComponent('op:completions')}`)
  await page.waitForSelector('[role=row]:has-text("Norway")')
  await page.getByRole('button', { name: 'Ask again' }).click()
  await page.getByLabel('Name of the run').fill('cold')
  await page.getByLabel('Settings to change, as JSON').fill('{"temperature": 0}')
  await page.getByRole('button', { name: /^Ask \d+ again$/ }).click()
  await page.getByRole('link', { name: 'Compare with the recorded answers' }).click()
  await page.waitForSelector('[role=row] .cell-run')
  await page.getByLabel('Score', { exact: true }).selectOption({ label: 'as_recorded.words' })
  await page.locator('.heat').waitFor()
  await page.locator('.cell-run.is-worse').first().waitFor()
  await picture('comparison')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.row-runs ins')
  await picture('difference')
}

/** A trace as an agent would record it. */
function agentCalls(): object[] {
  const began = Date.now() - 60_000
  const call = (
    id: number,
    parent: number | null,
    op: string,
    from: number,
    to: number,
    inputs: object,
    output: unknown,
    exception?: string,
  ) => ({
    project_id: project,
    id: String(id).padStart(16, '0'),
    trace_id: '7'.repeat(32),
    parent_id: parent === null ? null : String(parent).padStart(16, '0'),
    op_name: op,
    started_at: new Date(began + from).toISOString(),
    ended_at: new Date(began + to).toISOString(),
    attributes: { environment: 'test' },
    inputs,
    output,
    summary: {},
    ...(exception && { exception }),
  })
  const question = 'Which loom did the museum buy in 1921?'
  return [
    call(1, null, 'answer question', 0, 2_860, { question }, { answer: 'A Jacquard loom.' }),
    call(2, 1, 'plan', 20, 410, { question }, { steps: ['search', 'read', 'answer'] }),
    call(
      3,
      1,
      'search catalogue',
      420,
      1_130,
      { words: ['loom', '1921'], limit: 5 },
      {
        hits: [
          { id: 481, title: 'Jacquard loom, walnut', year: 1921 },
          { id: 77, title: 'Warping board', year: 1921 },
        ],
      },
    ),
    call(4, 3, 'embed', 430, 620, { text: 'loom 1921' }, { dimensions: 384 }),
    call(5, 3, 'rank', 640, 1_120, { candidates: 40 }, { kept: 2 }),
    call(
      6,
      1,
      'read page',
      1_140,
      1_900,
      { id: 77 },
      null,
      'TimeoutError: the catalogue did not answer within 750 ms',
    ),
    call(
      7,
      1,
      'read page',
      1_910,
      2_240,
      { id: 481 },
      { text: 'Bought in 1921 from a mill that had closed.' },
    ),
    call(8, 1, 'write answer', 2_250, 2_850, { question, pages: 1 }, { answer: 'A Jacquard loom.' }),
  ]
}
