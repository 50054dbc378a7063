import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { keys, openApp, type TestApp, type TestParts } from './app.ts'
import { noBrowser, type OpenedPage, openBrowser } from './browser.ts'
import { buildPage } from './built-page.ts'
import { completeOf, project } from './calls.ts'
import { sharingPage } from './shared-page.ts'

export type Ending = Parameters<typeof openApp>[0]

export interface PageApp extends TestApp {
  address: string
  /** Signs in as alice. */
  link: string
}

export interface Opening extends BrowserContextOptions {
  /** The key that signs in; alice's if absent. */
  key?: string
  /** A server other than that of the file. */
  at?: { address: string }
}

export interface PageTests<Filled> {
  served(): PageApp & Filled
  browser(): Browser
  /** Signed in, at this path, with the navigation bar of the page visible. */
  open(t: Ending, path: string, opening?: Opening): Promise<OpenedPage>
}

/**
 * What the tests of a file share: a server with the page, filled once, and a browser. If there is no browser, nothing is
 * started and the tests are skipped.
 */
export async function pageTests<Filled = unknown>(
  t: Ending,
  { fill, ...parts }: TestParts & { fill?: (served: PageApp) => Promise<Filled> } = {},
): Promise<PageTests<Filled>> {
  const start = async () => {
    const served = await servePageApp(t, parts)
    return { served: { ...served, ...((await fill?.(served)) as Filled) }, browser: await openBrowser(t) }
  }
  const there = noBrowser ? undefined : await start()
  const started = () => there as NonNullable<typeof there>
  return {
    served: () => started().served,
    browser: () => started().browser,
    open: sharingPage(started),
  }
}

/** Writes whole calls in one batch. */
export async function writeCalls({ post }: TestApp, batch: readonly object[], to = project): Promise<void> {
  const { status, text } = await post(`/v2/${to}/calls/complete`, { batch })
  assert.equal(status, 200, text)
}

/** The app on a port, with the page. */
export async function servePageApp(t: Ending, parts: TestParts = {}): Promise<PageApp> {
  buildPage()
  const served = await openApp(t, parts)
  await served.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = served.app.server.address() as AddressInfo
  const address = `http://127.0.0.1:${port}`
  return { ...served, address, link: `${address}/ui/#key=${keys.alice}` }
}

const kinds = ['chat', 'agent', 'search', 'answer', 'trace', 'evil'] as const

/** An id in the form of a span's, the same for the same name; a trace's is twice as long. */
export function idOf(kind: (typeof kinds)[number], index = 0): string {
  const id = `${kinds.indexOf(kind) + 1}${String(index).padStart(15, '0')}`
  return kind === 'trace' ? id + id : id
}

/** When call `index` started: the last is the newest. */
const startOf = (index: number, offset = 0) =>
  new Date(Date.UTC(2026, 0, 2, 3, 4, index) + offset).toISOString()

/** A question of a conversation and its answer, like the model's own calls. */
export function chatCall(
  index: number,
  question: string,
  answer: string,
  fields: Record<string, unknown> = {},
) {
  return completeOf({
    id: idOf('chat', index),
    trace_id: idOf('trace', index),
    op_name: 'heddle.chat.completions',
    started_at: startOf(index),
    ended_at: startOf(index, 250),
    inputs: { model: 'builtin', messages: [{ role: 'user', content: question }] },
    output: { choices: [{ index: 0, message: { role: 'assistant', content: answer } }] },
    summary: { usage: { builtin: { requests: 1, prompt_tokens: 12, completion_tokens: 34 } } },
    ...fields,
  })
}

/** Three calls, one below the other. */
export function traceCalls(index: number) {
  const trace_id = idOf('trace', index)
  const call = (
    name: 'agent' | 'search' | 'answer',
    parent_id: string | null,
    from: number,
    to: number,
    more: object = {},
  ) =>
    completeOf({
      id: idOf(name, index),
      trace_id,
      parent_id,
      op_name: name,
      started_at: startOf(index, from),
      ended_at: startOf(index, to),
      ...more,
    })
  return [
    call('agent', null, 0, 900, { inputs: { ticket: 7 } }),
    call('search', idOf('agent', index), 100, 300, {
      output: { big: 1 },
      exception: 'TimeoutError: too slow',
    }),
    call('answer', idOf('agent', index), 300, 900),
  ]
}
