import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { basic, keys } from '../test/support/app.ts'
import { completeOf, startOf } from '../test/support/calls.ts'
import { fileForm, formType } from '../test/support/forms.ts'
import { exportOf, otlpTraceId, spanOf } from '../test/support/otlp.ts'

/** A request that a light tenant repeats; the result is whether the answer was as expected. */
type LightWay = (
  post: (url: string, body: unknown) => Promise<Response>,
) => Promise<(n: number) => Promise<boolean>>

const project_id = 'globex/qa'
const chatUrl = '/v1/chat/completions'

async function isTaken(asked: Promise<Response>): Promise<boolean> {
  const answer = await asked
  await answer.arrayBuffer()
  return answer.status === 200
}

export const lightWays = {
  record: async (post) => async (n) => {
    if (n % 2 === 0) return isTaken(post('/call/start', { start: startOf({ project_id }) }))
    return isTaken(post('/calls/stream_query', { project_id, limit: 5 }))
  },
  large: async (post) => async () =>
    isTaken(post('/call/start', { start: startOf({ project_id, inputs: { text: 'x'.repeat(200_000) } }) })),
  chat: async (post) => async () =>
    isTaken(post(chatUrl, { messages: [{ role: 'user', content: 'hello' }], max_tokens: 4 })),
  template: async (post) => async () => {
    const chat_template = '{% for m in messages %}{{ m.content }}{% endfor %}'
    const messages = [{ role: 'user', content: 'hello' }]
    return isTaken(post(chatUrl, { messages, chat_template, max_tokens: 1 }))
  },
  schema: async (post) => async (n) => {
    const val = { name: `spec ${n}`, field_schema: { type: 'integer', maximum: n } }
    const obj = { project_id, object_id: `spec-${n}`, val, builtin_object_class: 'AnnotationSpec' }
    return isTaken(post('/obj/create', { obj }))
  },
  constraint: async (post) => async () => {
    const structured_outputs = { choice: ['yes', 'no'] }
    return isTaken(
      post(chatUrl, { messages: [{ role: 'user', content: 'x' }], structured_outputs, max_tokens: 4 }),
    )
  },
} satisfies Record<string, LightWay>

export interface HeavyData {
  address: string
  way: string
}

interface Way {
  name: string
  light: keyof typeof lightWays
  connections: number
  /** For one connection: returns a function that runs one round. Preparation happens before the first. */
  start(): (n: number) => Promise<unknown>
}

/** Set in the process of a heavy tenant. */
const { address, way: ownWay } = JSON.parse(process.env.HEAVY_TENANT ?? '{}') as Partial<HeavyData>
const authorization = basic(keys.alice)
const own = 'acme/qa'

/** How many requests were answered as expected. */
let answered = 0

interface Sent {
  type?: string
  /** The expected status. */
  status?: number
}

async function post(url: string, body: unknown, { type = 'application/json', status = 200 }: Sent = {}) {
  const answer = await fetch(`${address}${url}`, {
    method: 'POST',
    headers: { authorization, 'content-type': type },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  })
  const text = await answer.text()
  if (answer.status === status) answered++
  // Waits a moment when the server asks the client to try again later.
  else if (answer.status === 429 || answer.status === 503) await sleep(100)
  else {
    // A client that is refused is not heavy, and nothing would be measured.
    console.error(
      `${ownWay}: the heavy tenant expects ${status} and got ${answer.status}: ${text.slice(0, 500)}`,
    )
    process.exit(1)
  }
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

async function raw(url: string, headers: readonly string[]): Promise<Socket> {
  const { hostname, port } = new URL(address ?? '')
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  const head = [
    `POST ${url} HTTP/1.1`,
    'Host: heddle',
    `Authorization: ${authorization}`,
    'Content-Type: application/json',
  ]
  socket.write(`${[...head, ...headers].join('\r\n')}\r\n\r\n`)
  return socket
}

/** Stands for a number of eight digits that differs in every body. */
const mark = '@@@@@@@@'

/** Ids are UUIDs. */
const markedId = (n: number) => `${mark}-0000-4000-8000-${String(n).padStart(12, '0')}`

/** A body with a different number each time. Building a large one anew would take processor time that the server needs. */
function marked(template: string | Buffer): (n: number) => Buffer {
  const bytes = Buffer.from(template)
  const places: number[] = []
  for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at + mark.length)) places.push(at)
  return (n) => {
    const number = String(n + 1).padStart(mark.length, '0')
    for (const place of places) bytes.write(number, place)
    return bytes
  }
}

const chat = (fields: object, sent?: Sent) =>
  post(chatUrl, { messages: [{ role: 'user', content: 'hello' }], max_tokens: 1, ...fields }, sent)
/** Differs from the first word on, and has about the same length for every number. */
const words = (n: number, count: number) =>
  [`w${n}`, ...Array.from({ length: count }, (_, i) => `w7x${i % 97}`)].join(' ')

/** The ways in which one tenant can be heavy. */
export const ways: readonly Way[] = [
  {
    name: 'small-writes',
    light: 'record',
    connections: 32,
    start: () => () => post('/call/start', { start: startOf({ project_id: own }) }),
  },
  {
    name: 'bulk-writes',
    light: 'record',
    connections: 4,
    start() {
      const ids = Array.from({ length: 1_000 }, (_, i) => markedId(i))
      const batch = ids.map((id) => completeOf({ project_id: own, id, trace_id: id }))
      const body = marked(JSON.stringify({ batch }))
      return (n) => post('/v2/acme/qa/calls/complete', body(n))
    },
  },
  {
    name: 'huge-json',
    light: 'record',
    connections: 3,
    start() {
      const start = startOf({ project_id: own, id: markedId(0), attributes: { x: '"'.repeat(4_000_000) } })
      const body = marked(JSON.stringify({ start }))
      return (n) => post('/call/start', body(n))
    },
  },
  {
    name: 'slow-bodies',
    light: 'large',
    connections: 16,
    start: () => async () => {
      const socket = await raw('/call/start', ['Transfer-Encoding: chunked'])
      while (!socket.destroyed) {
        socket.write('1\r\n \r\n')
        await sleep(500)
      }
    },
  },
  {
    name: 'unread-streams',
    light: 'record',
    connections: 8,
    start: () => async () => {
      const body = '{"project_id":"acme/large"}'
      const socket = await raw('/calls/stream_query', [`Content-Length: ${body.length}`])
      socket.pause()
      socket.write(body)
      if (!socket.destroyed) await once(socket, 'close')
    },
  },
  {
    name: 'heavy-queries',
    light: 'record',
    connections: 8,
    start: () => () =>
      post('/calls/stream_query', {
        project_id: 'acme/large',
        query: {
          $expr: { $contains: { input: { $getField: 'inputs.text' }, substr: { $literal: 'xy' } } },
        },
      }),
  },
  {
    name: 'templates',
    light: 'template',
    connections: 4,
    start: () => () => chat({ chat_template: `${' '.repeat(100_000)}{{ 1 }}` }, { status: 400 }),
  },
  {
    name: 'templates-beside-chats',
    light: 'chat',
    connections: 4,
    start: () => () =>
      chat(
        { chat_template: '{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}' },
        { status: 400 },
      ),
  },
  {
    name: 'schemas',
    light: 'schema',
    connections: 4,
    start: () => async (n) => {
      const properties = Object.fromEntries(
        Array.from({ length: 600 }, (_, i) => [`p${n}x${i}`, { type: 'string', pattern: `^a{0,${i}}$` }]),
      )
      const val = { name: `heavy ${n}`, field_schema: { type: 'object', properties } }
      await post('/obj/create', {
        obj: { project_id: own, object_id: `heavy-${n}`, val, builtin_object_class: 'AnnotationSpec' },
      })
    },
  },
  {
    name: 'many-chats',
    light: 'chat',
    connections: 16,
    start: () => (n) => chat({ max_tokens: 64, seed: n }),
  },
  {
    name: 'long-prompts',
    light: 'chat',
    connections: 4,
    start: () => (n) => chat({ messages: [{ role: 'user', content: words(n, 140) }] }),
  },
  {
    name: 'constraints',
    light: 'constraint',
    connections: 4,
    start: () => async (n) => {
      const properties = Object.fromEntries(
        Array.from({ length: 60 }, (_, i) => [`p${n}x${i}`, { type: 'string', maxLength: 50 }]),
      )
      await chat({
        structured_outputs: { json: { type: 'object', properties, additionalProperties: false } },
      })
    },
  },
  {
    name: 'files',
    light: 'record',
    connections: 4,
    start() {
      const body = marked(fileForm(own, mark + 'x'.repeat(4_000_000)))
      return (n) => post('/file/create', body(n), { type: formType })
    },
  },
  {
    name: 'otel',
    light: 'record',
    connections: 4,
    start() {
      const spans = Array.from({ length: 500 }, (_, i) =>
        // A span becomes the call of its id.
        spanOf({}, { spanId: mark + (i + 1).toString(16).padStart(8, '0') }),
      )
      const body = marked(JSON.stringify(exportOf(spans)).replaceAll(otlpTraceId, mark.padStart(32, '0')))
      return (n) => post('/otel/v1/traces', body(n))
    },
  },
]

if (ownWay !== undefined) {
  // Reports how many requests have been answered so far.
  process.on('message', () => process.send?.(answered))
  const way = ways.find(({ name }) => name === ownWay)
  // What an earlier process sent is already stored, and sending it again would be less work.
  let n = Math.floor(Math.random() * 90_000_000)
  for (let i = 0; way !== undefined && i < way.connections; i++) {
    // Each connection has a body of its own, which must not change until all of it is sent.
    const round = way.start()
    void (async () => {
      for (;;) await round(n++).catch(() => sleep(20))
    })()
  }
}
