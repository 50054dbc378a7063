import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createModels, type Models } from '../../src/inference/registry.ts'
import type { Load } from '../../src/inference/upstream/deliveries.ts'
import { connectUpstream, type UpstreamNames } from '../../src/inference/upstream/served-names.ts'
import { until } from './wait.ts'

export interface UpstreamRequest {
  url: string
  headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: a body is compared, never trusted
  body: any
  /** The body as it was sent. */
  text?: string
}

export type UpstreamHandler = (response: ServerResponse, asked: UpstreamRequest) => unknown

export interface FakeUpstream {
  url: string
  asked: UpstreamRequest[]
  /** Requests for the list of models. */
  looks: Pick<UpstreamRequest, 'url' | 'headers'>[]
  /** Answers whose client has disconnected. */
  left: number
  answer: UpstreamHandler
  onConnection(): void
  end(): Promise<void>
}

interface Ending {
  after(end: () => unknown): void
}

/** A server with OpenAI's API that answers as the test specifies. */
export async function startFakeUpstream(
  t: Ending,
  answer: UpstreamHandler,
  {
    models = [{ id: 'far', object: 'model', owned_by: 'somebody' }],
    port = 0,
  }: { models?: object[]; port?: number } = {},
): Promise<FakeUpstream> {
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      fake.looks.push({ url: request.url ?? '', headers: request.headers })
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ object: 'list', data: models }))
      return
    }
    const sent = await text(request)
    const asked = { url: request.url ?? '', headers: request.headers, body: JSON.parse(sent), text: sent }
    fake.asked.push(asked)
    response.on('close', () => {
      if (!response.writableFinished) fake.left++
    })
    await fake.answer(response, asked)
  })
  server.on('connection', () => fake.onConnection())
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const fake: FakeUpstream = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked: [],
    looks: [],
    left: 0,
    answer,
    onConnection() {},
    async end() {
      if (!server.listening) return
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  t.after(() => fake.end())
  return fake
}

/** Sends the head of a stream; the returned function sends a chunk. */
export function beginStream(response: ServerResponse): (fields: object) => void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  return (fields) => void response.write(`data: ${JSON.stringify(fields)}\n\n`)
}

export const delta = (content: object, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta: content, finish_reason }],
})

export const usage = (prompt_tokens: number, completion_tokens: number) => ({
  choices: [],
  usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
})

/** Answers with the words, one chunk each, and their count. */
export const streamWords =
  (...words: string[]): UpstreamHandler =>
  (response) => {
    const say = beginStream(response)
    for (const content of words) say(delta({ content }))
    say(delta({}, 'stop'))
    say(usage(7, words.length))
    response.end('data: [DONE]\n\n')
  }

/** The models of servers elsewhere, once they have been reached. */
export async function modelsOfUpstream(
  addresses: readonly string[],
  settings: Partial<UpstreamNames> = {},
): Promise<Models> {
  const upstream = connectUpstream(
    {
      addresses: addresses.map((url) => ({ url, weight: 1, key: 'the-key-that-goes-upstream' })),
      names: [],
      source: addresses[0] ?? '',
      parallel: 16,
      queue: 16,
      silenceMs: 5_000,
      times: { wellMs: 60_000, minMs: 10, maxMs: 1_000 },
      ...settings,
    },
    { info() {}, warn() {} },
  )
  const models = createModels(upstream.all, upstream.close)
  await until('the server is reached', async () => models.all[0]?.status().state !== 'starting')
  return models
}

/** What is known of the addresses of the first model. */
export const loadsOf = (models: Models) =>
  (models.all[0]?.upstream?.addresses ?? []) as unknown as readonly Load[]
