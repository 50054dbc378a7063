import type { AddressInfo } from 'node:net'
import { keys, openApp, type TestApp, type TestParts } from './app.ts'
import { buildPage } from './built-page.ts'
import { completeOf } from './calls.ts'

/** The app behind a port, with the page. */
export async function servePageApp(
  t: Parameters<typeof openApp>[0],
  parts: TestParts = {},
): Promise<TestApp & { address: string; link: string }> {
  buildPage()
  const served = await openApp(t, parts)
  await served.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = served.app.server.address() as AddressInfo
  const address = `http://127.0.0.1:${port}`
  return { ...served, address, link: `${address}/ui/#key=${keys.alice}` }
}

const kinds = ['chat', 'agent', 'search', 'answer', 'trace', 'evil'] as const

/** The same for the same name, in the form of a span's id; a trace's is twice as long. */
export function idOf(kind: (typeof kinds)[number], index = 0): string {
  const id = `${kinds.indexOf(kind) + 1}${String(index).padStart(15, '0')}`
  return kind === 'trace' ? id + id : id
}

/** When call `index` started: the last is the newest. */
const startOf = (index: number, offset = 0) =>
  new Date(Date.UTC(2026, 0, 2, 3, 4, index) + offset).toISOString()

/** A question of a conversation and its answer, as the model's own calls are. */
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
