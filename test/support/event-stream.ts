import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { basic, keys, openApp, type TestApp, type TestParts } from './app.ts'

export interface SentEvent {
  name: string
  id: string
  // biome-ignore lint/suspicious/noExplicitAny: an event is compared, never trusted
  data: any
}

export interface EventStream {
  /** The next event; undefined if the stream has ended. */
  next(): Promise<SentEvent | undefined>
  close(): void
}

/** The app on a port: an injected request has no connection on which a stream could stay open. */
export async function serveApp(
  t: Parameters<typeof openApp>[0],
  parts: TestParts = {},
): Promise<TestApp & { address: string }> {
  const served = await openApp(t, parts)
  await served.app.listen({ host: '127.0.0.1', port: 0 })
  return { ...served, address: `http://127.0.0.1:${(served.app.server.address() as AddressInfo).port}` }
}

export async function openEvents(
  t: Parameters<typeof openApp>[0],
  address: string,
  { key = keys.alice, query = '', after }: { key?: string; query?: string; after?: string } = {},
): Promise<EventStream> {
  const leaving = new AbortController()
  t.after(async () => leaving.abort())
  const response = await fetch(`${address}/views/events${query}`, {
    headers: { authorization: basic(key), ...(after !== undefined && { 'last-event-id': after }) },
    signal: leaving.signal,
  })
  assert.equal(response.status, 200, response.status === 200 ? '' : await response.text())
  assert.match(String(response.headers.get('content-type')), /^text\/event-stream/)
  const events = eventsIn(response.body as ReadableStream<Uint8Array>)
  return { next: async () => (await events.next()).value ?? undefined, close: () => leaving.abort() }
}

async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<SentEvent, undefined> {
  let rest = ''
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    rest += text
    const parts = rest.split('\n\n')
    rest = parts.pop() ?? ''
    for (const part of parts) {
      const fields = Object.fromEntries(part.split('\n').map((line) => line.split(/: ?(.*)/, 2)))
      if (fields.data !== undefined) {
        yield { name: fields.event ?? '', id: fields.id ?? '', data: JSON.parse(fields.data) }
      }
    }
  }
  return undefined
}
