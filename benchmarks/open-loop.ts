import { Agent, type IncomingMessage, request } from 'node:http'
import { quantile, sorted } from './figures.ts'
import type { Kind } from './gateway-asker.ts'

/** Milliseconds, and what went wrong in words with how often. */
export interface Answered {
  /** Until the first content, of the requests in order of their waits. */
  first: number[]
  end: number[]
  failures: Map<string, number>
  /** How late the 99th of a hundred requests was sent: the client's own fault. */
  lateness: number
  perSecond: number
}

export interface Rate {
  kind: Kind
  perSecond: number
  seconds: number
}

const question = {
  model: 'far',
  messages: [{ role: 'user', content: 'What is the capital of Mali?' }],
  temperature: 0,
}
const bodies: Record<Kind, string> = {
  whole: JSON.stringify(question),
  stream: JSON.stringify({ ...question, stream: true }),
}
/** An answer that takes longer has failed. */
const maxMs = 10_000
const hasContent = /"content":"[^"]/

/**
 * Sends requests at a constant rate, however long the answers take: a server that falls behind gets no rest. Times count
 * from when a request was sent.
 */
export async function askAtRate(
  { address, headers }: { address: string; headers: Record<string, string> },
  { kind, perSecond, seconds }: Rate,
): Promise<Answered> {
  const { hostname, port } = new URL(address)
  const agent = new Agent({ keepAlive: true, noDelay: true, scheduling: 'lifo' })
  const body = bodies[kind]
  const lines = { ...headers, 'content-length': String(Buffer.byteLength(body)) }
  const first: number[] = []
  const end: number[] = []
  const late: number[] = []
  const failures = new Map<string, number>()
  const fail = (why: string) => failures.set(why, (failures.get(why) ?? 0) + 1)

  const ask = () =>
    new Promise<void>((resolve) => {
      const since = performance.now()
      const path = '/v1/chat/completions'
      const sent = request({ agent, hostname, port, path, method: 'POST', headers: lines }, (answer) => {
        read(answer, since, resolve)
      })
      sent.setTimeout(maxMs, () => sent.destroy(new Error(`nothing for ${maxMs} ms`)))
      sent.once('error', (error: NodeJS.ErrnoException) => {
        fail(error.code ?? error.message)
        resolve()
      })
      sent.end(body)
    })

  function read(answer: IncomingMessage, since: number, over: () => void): void {
    let began: number | undefined
    let text = ''
    answer.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
      if (began === undefined && (kind === 'whole' || hasContent.test(text))) began = performance.now()
    })
    answer.once('error', () => fail('cut off')).once('close', over)
    answer.once('end', () => {
      const isWhole = kind === 'whole' ? text.endsWith('}') : text.includes('[DONE]')
      if (answer.statusCode !== 200 || began === undefined || !isWhole || text.includes('"error"'))
        return fail(`${answer.statusCode} ${text.slice(0, 120)}`)
      first.push(began - since)
      end.push(performance.now() - since)
    })
  }

  const begin = performance.now()
  const total = Math.round(perSecond * seconds)
  const asked: Promise<void>[] = []
  while (asked.length < total) {
    const due = begin + (asked.length * 1_000) / perSecond
    const wait = due - performance.now()
    if (wait > 0) {
      await new Promise((resolve) => setTimeout(resolve, wait))
      continue
    }
    late.push(-wait)
    asked.push(ask())
  }
  const took = performance.now() - begin
  await Promise.all(asked)
  agent.destroy()
  return {
    first: sorted(first),
    end: sorted(end),
    failures,
    lateness: quantile(sorted(late), 0.99),
    perSecond: (end.length * 1_000) / took,
  }
}
