import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'

/** The result of prompts that were sent together. */
export interface Streamed {
  /** Milliseconds until the last one was complete. */
  ms: number
  /** Milliseconds until the first token of each. */
  first: number[]
}

export interface Question {
  prompts: number[][]
  tokens: number
  fields?: Record<string, unknown>
}

interface Usage {
  prompt_tokens: number
  completion_tokens: number
}

interface End {
  first: number
  end: number
  body: string
}

const longestAnswer = 120_000
const agent = new Agent({ keepAlive: false })

/** Requests a stream for each prompt, all at once; each must have exactly this many tokens. */
export async function streamed(
  address: string,
  headers: Record<string, string>,
  { prompts, tokens, fields = {} }: Question,
): Promise<Streamed> {
  const bodies = prompts.map((prompt) =>
    JSON.stringify({
      prompt,
      max_tokens: tokens,
      min_tokens: tokens,
      ignore_eos: true,
      temperature: 0,
      stream: true,
      stream_options: { include_usage: true },
      ...fields,
    }),
  )
  const since = performance.now()
  const ends = await Promise.all(bodies.map((body) => oneStream(address, headers, body)))
  for (const [place, { body }] of ends.entries()) check(body, prompts[place]?.length ?? 0, tokens)
  return {
    ms: Math.max(...ends.map(({ end }) => end)) - since,
    first: ends.map(({ first }) => first - since),
  }
}

/** The body is parsed only at the end: parsing it meanwhile would take time from what is measured. */
async function oneStream(address: string, headers: Record<string, string>, body: string): Promise<End> {
  const signal = AbortSignal.timeout(longestAnswer)
  const asked = request(`${address}/v1/completions`, {
    method: 'POST',
    agent,
    headers: { ...headers, 'content-type': 'application/json' },
    signal,
  })
  asked.end(body)
  const [answer] = (await once(asked, 'response', { signal })) as [IncomingMessage]
  const pieces: Buffer[] = []
  let first = Number.NaN
  // Not read as an iterable: that takes more of the processor time that is measured.
  answer.on('data', (piece: Buffer) => {
    if (Number.isNaN(first) && piece.includes('data: {')) first = performance.now()
    pieces.push(piece)
  })
  await once(answer, 'end', { signal })
  const end = performance.now()
  const text = Buffer.concat(pieces).toString()
  if (answer.statusCode !== 200) throw new Error(`${address}: ${answer.statusCode} ${text.slice(0, 500)}`)
  return { first, end, body: text }
}

function check(body: string, promptTokens: number, tokens: number): void {
  const events = body
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice('data: '.length)) as { usage?: Usage | null; error?: unknown })
  const failed = events.find(({ error }) => error !== undefined)
  if (failed) throw new Error(`a stream ended with ${JSON.stringify(failed.error)}`)
  const usage = events.findLast((event) => event.usage != null)?.usage
  if (usage?.prompt_tokens !== promptTokens || usage.completion_tokens !== tokens) {
    throw new Error(`${promptTokens} + ${tokens} tokens were asked for, and ${JSON.stringify(usage)} came`)
  }
}

/** Connections that sent one request and stay open. The returned function closes them, and fails if one is closed already. */
export async function idleConnections(address: string, count: number): Promise<() => void> {
  const { hostname, port } = new URL(address)
  const sockets = await Promise.all(
    Array.from({ length: count }, async (): Promise<Socket> => {
      const signal = AbortSignal.timeout(10_000)
      const socket = connect(Number(port), hostname)
      await once(socket, 'connect', { signal })
      socket.write(`GET /health HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`)
      await once(socket, 'data', { signal })
      socket.resume()
      return socket
    }),
  )
  return () => {
    const closed = sockets.filter((socket) => socket.destroyed || socket.readableEnded).length
    for (const socket of sockets) socket.destroy()
    if (closed > 0) throw new Error(`${closed} of ${count} idle connections were closed meanwhile`)
  }
}

/** One answer that records when each piece arrives, until it is stopped. */
export interface Watched {
  times: readonly number[]
  isOver(): boolean
  failed(): Error | undefined
  stop(): Promise<void>
}

export function watched(
  address: string,
  headers: Record<string, string>,
  prompt: readonly number[],
  tokens: number,
): Watched {
  const times: number[] = []
  let isOver = false
  let isStopped = false
  let error: Error | undefined
  const asked = request(`${address}/v1/completions`, {
    method: 'POST',
    agent,
    headers: { ...headers, 'content-type': 'application/json' },
  })
  asked.on('error', (reason) => {
    if (!isStopped) error = reason
  })
  asked.on('response', (answer) => {
    if (answer.statusCode !== 200) error = new Error(`${address}: ${answer.statusCode}`)
    answer.on('data', (piece: Buffer) => {
      if (piece.includes('data: {')) times.push(performance.now())
    })
    answer.on('end', () => {
      isOver = true
    })
    answer.on('error', (reason) => {
      if (!isStopped) error = reason
    })
  })
  const closed = new Promise((resolve) => asked.once('close', resolve))
  asked.end(JSON.stringify({ prompt, max_tokens: tokens, ignore_eos: true, temperature: 0, stream: true }))
  return {
    times,
    isOver: () => isOver,
    failed: () => error,
    async stop() {
      isStopped = true
      asked.destroy()
      await closed
    },
  }
}
