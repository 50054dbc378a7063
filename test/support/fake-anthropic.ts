import type { ServerResponse } from 'node:http'
import type { UpstreamNames } from '../../src/inference/upstream/served-names.ts'
import { openApp } from './app.ts'
import {
  beginStream,
  type FakeUpstream,
  modelsOfUpstream,
  startFakeUpstream,
  type UpstreamHandler,
} from './fake-upstream.ts'

/** A model as Anthropic lists it. */
export const listedModel = (fields: object = {}) => ({
  type: 'model',
  id: 'far',
  display_name: 'Far',
  created_at: '2026-01-01T00:00:00Z',
  ...fields,
})

export const startOf = (usage: object = { input_tokens: 7, output_tokens: 1 }) => ({
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'far',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  },
})

/** A block with its deltas. */
export const blockOf = (index: number, content_block: object, ...deltas: object[]) => [
  { type: 'content_block_start', index, content_block },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
]

export const textBlock = (index: number, ...texts: string[]) =>
  blockOf(index, { type: 'text', text: '' }, ...texts.map((text) => ({ type: 'text_delta', text })))

export const endOf = (
  stop_reason: string,
  usage: object = { output_tokens: 5 },
  stop_sequence: string | null = null,
) => [{ type: 'message_delta', delta: { stop_reason, stop_sequence }, usage }, { type: 'message_stop' }]

export const spoken = [startOf(), ...textBlock(0, 'Hel', 'lo'), ...endOf('end_turn')]

/** Streams the events, each with a ping before it. */
export const streaming =
  (...events: object[]): UpstreamHandler =>
  (response) => {
    const send = beginStream(response)
    for (const event of events) {
      send({ type: 'ping' })
      send(event)
    }
    response.end()
  }

export const answerJson = (response: ServerResponse, body: object, status = 200, headers: object = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

export const errorBody = (type: string, message: string) => ({ type: 'error', error: { type, message } })

interface Ending {
  after(end: () => unknown): void
}

/** This server before one with Anthropic's API, which streams the events. */
export async function openBeforeAnthropic(
  t: Ending,
  answer: UpstreamHandler = streaming(...spoken),
  { models = [listedModel()], ...settings }: { models?: object[] } & Partial<UpstreamNames> = {},
) {
  const upstream: FakeUpstream = await startFakeUpstream(t, answer, { models })
  const opened = await openApp(t, { models: await modelsOfUpstream([upstream.url], settings) })
  return { ...opened, upstream, sent: () => upstream.asked.at(-1)?.body }
}
