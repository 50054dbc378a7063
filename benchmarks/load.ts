import { once } from 'node:events'
import { Agent, request } from 'node:http'
import autocannon, { type Client, type Request, type Result } from 'autocannon'
import type { Contestant } from './contestants.ts'
import { quantile, sorted } from './figures.ts'
import { type Work, workOf } from './machine.ts'

export interface Round {
  /** Requests answered 2xx, in the whole round. */
  acknowledged: number
  /** Other answers, broken connections, timeouts. */
  failed: number
  /** What went wrong, in words. */
  failures: string
  perSecond: number
  p50: number
  p99: number
  /** Microseconds of processor time for a request: of the main thread, and of all threads. */
  work: Work | undefined
  /** The share of the time that the main thread was on a processor. */
  busy: number | undefined
}

/** Each connection sends them one after the other, again and again. */
export type Requests = readonly Request[]

export interface Load {
  requests: Requests
  connections: number
  seconds: number
}

/** The share of each round that passes before anything is counted. */
const settling = 0.2

/** One request at a time on each connection, as fast as the answers come. No request is left unanswered at the end. */
export async function drive(contestant: Contestant, load: Load): Promise<Round> {
  const clients: Client[] = []
  const run = autocannon({
    url: contestant.address,
    method: 'POST',
    headers: contestant.headers,
    requests: [...load.requests],
    connections: load.connections,
    duration: load.seconds + 30,
    maxConnectionRequests: 1e9,
    sampleInt: 20,
    setupClient: (client) => clients.push(client),
  })
  const times: number[] = []
  let counting = false
  run.on('response', (_client, _status, _bytes, milliseconds) => {
    if (counting) times.push(milliseconds)
  })
  const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))

  await pause(load.seconds * settling)
  const before = { at: performance.now(), work: workOf(contestant.pid) }
  counting = true
  await pause(load.seconds * (1 - settling))
  counting = false
  const after = { at: performance.now(), work: workOf(contestant.pid) }
  // A client that has made its last request waits for the answer and stops. autocannon itself would cut it off.
  for (const client of clients) client.responseMax = client.reqsMade
  const result = await run

  const ascending = sorted(times)
  const elapsed = after.at - before.at
  const used =
    before.work && after.work
      ? { main: after.work.main - before.work.main, all: after.work.all - before.work.all }
      : undefined
  return {
    acknowledged: result['2xx'],
    failed: result.non2xx + result.errors + result.timeouts,
    failures: failuresOf(result),
    perSecond: (times.length / elapsed) * 1000,
    p50: quantile(ascending, 0.5),
    p99: quantile(ascending, 0.99),
    work: used && { main: used.main / times.length, all: used.all / times.length },
    busy: used && used.main / 1000 / elapsed,
  }
}

function failuresOf({ statusCodeStats, errors, timeouts }: Result): string {
  const answers = Object.entries(statusCodeStats).map(([status, { count }]) => `${count} times ${status}`)
  return [...answers, `${errors} broken connections`, `${timeouts} timeouts`].join(', ')
}

export interface BulkRound {
  seconds: number
  acknowledged: number
  failed: number
  work: Work | undefined
}

/** Sends the bodies once each; a connection takes the next one when its last one was answered. */
export async function sendAll(
  contestant: Contestant,
  path: string,
  bodies: readonly Buffer[],
  connections: number,
): Promise<BulkRound> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  let next = 0
  let acknowledged = 0
  let failed = 0
  async function connection() {
    for (let body = bodies[next++]; body; body = bodies[next++]) {
      if ((await post(contestant, path, body, agent)).status === 200) acknowledged++
      else failed++
    }
  }
  const before = { at: performance.now(), work: workOf(contestant.pid) }
  await Promise.all(Array.from({ length: connections }, connection))
  const seconds = (performance.now() - before.at) / 1000
  const work = workOf(contestant.pid)
  agent.destroy()
  return {
    seconds,
    acknowledged,
    failed,
    work:
      before.work && work
        ? { main: work.main - before.work.main, all: work.all - before.work.all }
        : undefined,
  }
}

export async function post(
  contestant: Contestant,
  path: string,
  body: string | Buffer,
  agent?: Agent,
): Promise<{ status: number; text: string }> {
  const sent = request(`${contestant.address}${path}`, {
    method: 'POST',
    headers: { ...contestant.headers, 'content-length': Buffer.byteLength(body) },
    ...(agent && { agent }),
  })
  sent.end(body)
  const [answer] = await once(sent, 'response')
  let text = ''
  for await (const piece of answer.setEncoding('utf8')) text += piece
  return { status: answer.statusCode, text }
}

/** Requests that write, and what a round of them needs. */
export interface Prepared {
  requests: Requests
  /** Runs before each round. */
  ready?(seconds: number): Promise<void>
  /** How many writes of this kind the server has stored. */
  count(): Promise<number>
}
