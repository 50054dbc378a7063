import { base } from '../base.ts'
import { answers, contents, questionOf } from '../export/contents.ts'
import { half, sessionExpired } from './session-half.ts'

/** A refusal of the server, with its message. */
export class RefusedError extends Error {
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

/** For what the page does not offer, and an address leads to. */
export const readsOnly = new RefusedError(403, 'role_forbidden', 'Your role may only read here.')

/** There was no response: the server or the network is down. */
export class UnreachableError extends Error {}

const transientStatuses = new Set([429, 502, 503, 504])

/** Retrying would not help; the user lacks access. */
export const isForbidden = (error: unknown): error is RefusedError =>
  error instanceof RefusedError && error.status === 403

export const isMissing = (error: unknown): boolean => error instanceof RefusedError && error.status === 404

/** Waits for something to be deleted; false if it was already gone, which is not a failure. */
export async function existedUntilDeleted(deleting: Promise<unknown>): Promise<boolean> {
  try {
    await deleting
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/** The same request may succeed a moment later. */
export const isTransient = (error: unknown): boolean =>
  error instanceof UnreachableError || (error instanceof RefusedError && transientStatuses.has(error.status))

export interface RequestOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  body?: unknown
  /** A body that is JSON already, so that its numbers keep their digits. */
  json?: string
  signal?: AbortSignal
  headers?: Record<string, string>
  /** The request outlives the page. */
  isLast?: boolean
}

const captures = new WeakMap<AbortSignal, Map<string, string>>()

/** Responses to requests under this signal are kept for an exported file. */
export function captureAnswers(signal: AbortSignal, kept: Map<string, string>): void {
  captures.set(signal, kept)
}

/** Every request of the page goes through here, with its half of the session. In an exported file the file answers. */
export async function request(
  path: string,
  { method, body, json, signal, headers, isLast = false }: RequestOptions = {},
): Promise<Response> {
  const sent = json ?? (body === undefined ? undefined : JSON.stringify(body))
  const question = questionOf(path, sent)
  if (contents !== undefined) return answerWithin(question, contents.holds)
  const response = await fetch(base + path, {
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
    throw new UnreachableError('The server does not answer.')
  })
  const kept = signal && captures.get(signal)
  if (response.ok && kept !== undefined) {
    const text = await response.text()
    kept.set(question, text)
    return new Response(text)
  }
  if (response.ok) return response
  const refused = await refusalIn(response)
  if (response.status === 401) sessionExpired()
  throw refused
}

function answerWithin(question: string, holds: readonly string[]): Response {
  const answer = answers.get(question)
  if (answer === undefined)
    throw new RefusedError(404, 'not_in_file', `This is not in the file. ${holds.join(' ')}`)
  return new Response(answer)
}

export async function requestJson<T>(path: string, asked: RequestOptions = {}): Promise<T> {
  return (await (await request(path, asked)).json()) as T
}

async function refusalIn(response: Response): Promise<RefusedError> {
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
    return new RefusedError(response.status, 'unknown', reason, undefined, retryMsOf(response))
  }
  const reason = given.reason ?? given.error?.message ?? `${response.status}`
  return new RefusedError(
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
export async function* requestLines(path: string, asked: RequestOptions): AsyncGenerator<string> {
  const { body } = await request(path, asked)
  if (body === null) return
  let rest = ''
  for await (const piece of decoded(body)) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') yield line
  }
  if (rest !== '') yield rest
}

/** https://html.spec.whatwg.org/multipage/server-sent-events.html, as far as the server uses it. */
export async function* eventTexts({ body }: Response): AsyncGenerator<string> {
  if (body === null) return
  let rest = ''
  for await (const piece of decoded(body)) {
    rest += piece
    const events = rest.split('\n\n')
    rest = events.pop() ?? ''
    yield* events
  }
}

/** Ending the loop early ends the request. */
async function* decoded(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
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
