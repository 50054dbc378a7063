import { answers, contents, questionOf } from '../export/contents.ts'
import { half, sessionEnded } from './session-half.ts'

/** A refusal of the server, with its message. */
export class Refused extends Error {
  readonly status: number
  readonly code: string
  /** The path of the field that is wrong, where the server names one. */
  readonly field: string | undefined
  /** When the request may be repeated, where the server says so. */
  readonly retryMs: number | undefined
  constructor(status: number, code: string, reason: string, field?: string, retryMs?: number) {
    super(reason)
    this.status = status
    this.code = code
    this.field = field
    this.retryMs = retryMs
  }
}

/** There was no response: the server or the network is down. */
export class Unreachable extends Error {}

const passing = new Set([429, 502, 503, 504])

/** Retrying would not help; the user lacks access. */
export const isForbidden = (error: unknown): error is Refused =>
  error instanceof Refused && error.status === 403

export const isMissing = (error: unknown): boolean => error instanceof Refused && error.status === 404

/** Waits for something to be deleted; false if it was already gone, which is not a failure. */
export async function wasThere(deleting: Promise<unknown>): Promise<boolean> {
  try {
    await deleting
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/** The same request may succeed a moment later. */
export const isPassing = (error: unknown): boolean =>
  error instanceof Unreachable || (error instanceof Refused && passing.has(error.status))

export interface Asked {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  body?: unknown
  /** A body that is JSON already, so that its numbers keep their digits. */
  json?: string
  signal?: AbortSignal
  headers?: Record<string, string>
  /** The request outlives the page. */
  isLast?: boolean
}

const keeping = new WeakMap<AbortSignal, Map<string, string>>()

/** Responses to requests under this signal are kept for an exported file. */
export function keepAnswers(signal: AbortSignal, kept: Map<string, string>): void {
  keeping.set(signal, kept)
}

/** Every request of the page goes through here, with its half of the session. In an exported file the file answers. */
export async function ask(
  path: string,
  { method, body, json, signal, headers, isLast = false }: Asked = {},
): Promise<Response> {
  const sent = json ?? (body === undefined ? undefined : JSON.stringify(body))
  const question = questionOf(path, sent)
  if (contents !== undefined) return answerWithin(question, contents.holds)
  const response = await fetch(path, {
    method: method ?? (sent === undefined ? 'GET' : 'POST'),
    headers: {
      ...headers,
      'x-heddle-page': half() ?? 'none',
      ...(sent !== undefined && { 'content-type': 'application/json' }),
    },
    ...(sent !== undefined && { body: sent }),
    ...(isLast && { keepalive: true }),
    ...(signal && { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new Unreachable('The server does not answer.')
  })
  const kept = signal && keeping.get(signal)
  if (response.ok && kept !== undefined) {
    const text = await response.text()
    kept.set(question, text)
    return new Response(text)
  }
  if (response.ok) return response
  const refused = await refusalIn(response)
  if (response.status === 401) sessionEnded()
  throw refused
}

function answerWithin(question: string, holds: readonly string[]): Response {
  const answer = answers.get(question)
  if (answer === undefined)
    throw new Refused(404, 'not_in_file', `This is not in the file. ${holds.join(' ')}`)
  return new Response(answer)
}

export async function askJson<T>(path: string, asked: Asked = {}): Promise<T> {
  return (await (await ask(path, asked)).json()) as T
}

async function refusalIn(response: Response): Promise<Refused> {
  const text = await response.text()
  let given: {
    reason?: string
    code?: string
    error?: { message?: string; code?: string; param?: string | null }
  } = {}
  try {
    given = JSON.parse(text)
  } catch {
    // A proxy may answer in another format.
    const reason = `${response.status} ${response.statusText}`.trim()
    return new Refused(response.status, 'unknown', reason, undefined, retryMsOf(response))
  }
  const reason = given.reason ?? given.error?.message ?? `${response.status}`
  return new Refused(
    response.status,
    given.code ?? given.error?.code ?? 'unknown',
    reason,
    given.error?.param ?? undefined,
    retryMsOf(response),
  )
}

/** In seconds, as this server sends it; a date is ignored. */
function retryMsOf({ headers }: Response): number | undefined {
  const said = headers.get('retry-after') ?? ''
  return /^\d+$/.test(said) ? Number(said) * 1_000 : undefined
}

/** Yields each line as soon as it has arrived. */
export async function* askLines(path: string, asked: Asked): AsyncGenerator<string> {
  const { body } = await ask(path, asked)
  if (body === null) return
  let rest = ''
  for await (const piece of decoded(body)) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') yield line
  }
  if (rest !== '') yield rest
}

/** Ending the loop early ends the request. */
export async function* decoded(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  try {
    while (true) {
      const { done, value } = await reader.read()
      if (done) break
      yield decoder.decode(value, { stream: true })
    }
    yield decoder.decode()
  } finally {
    await reader.cancel()
  }
}
