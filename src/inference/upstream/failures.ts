import type { IncomingMessage } from 'node:http'
import {
  type Refusal,
  type RefusalCode,
  type RefusalValues,
  refusals,
  refuse,
  refuseWithMessage,
} from '../../domain/refusals.ts'
import type { UpstreamKind } from './kinds.ts'

interface ReplyError {
  type?: unknown
  message?: unknown
  param?: unknown
  code?: unknown
  status?: unknown
}

/** A server's description of a failure: in OpenAI's form, in that of others, or as plain text. */
function toldError(text: string): ReplyError {
  try {
    const value = JSON.parse(text) as { error?: unknown; message?: unknown; detail?: unknown }
    if (typeof value.error === 'object' && value.error !== null) return value.error
    const message = value.error ?? value.message ?? value.detail
    return { message: typeof message === 'string' ? message : JSON.stringify(message ?? value) }
  } catch {
    // A page of a proxy says nothing to a program.
    return { message: text.trimStart().startsWith('<') ? '' : text }
  }
}

const maxMessageLength = 2_000

/** Statuses of a Heddle behind this one that are about the request, and not about this server as its caller. */
const ownStatuses = new Set([400, 413, 422, 429, 503])

/** Whether another address may be able to answer. */
export const isTemporary = (status: number) => status === 429 || status === 408 || status >= 500

/** The refusal for a reply that is not an answer. `text` is its body. */
export function refusalOf(
  status: number,
  text: string,
  kind: UpstreamKind,
  retryAfter?: number | undefined,
): Refusal {
  const error = toldError(text)
  const message = String(error.message ?? '')
    .trim()
    .slice(0, maxMessageLength)
  if (kind === 'heddle' && ownStatuses.has(status)) {
    const told = asTold(error, { seconds: secondsOf(retryAfter) })
    if (told !== undefined) return told
  }
  if (status === 429) return refuse('upstream_busy', { seconds: secondsOf(retryAfter) })
  // The other server rejects this server's key, not the caller.
  if (status === 401 || status === 403)
    return refuse('upstream_failed', { why: 'it does not accept the key of this server' })
  if (status === 402)
    return refuse('upstream_failed', { why: 'the account of this server there has no credit (402)' })
  if (status < 300) return refuse('upstream_failed', { why: `it answered ${status} instead of an answer` })
  if (status >= 500 || status === 408)
    return refuse('upstream_unavailable', { why: `it answered ${status}`, seconds: secondsOf(retryAfter) })
  if (status >= 300 && status < 400)
    return refuse('upstream_failed', { why: `it answered ${status}, a redirection` })
  return refuse('upstream_refused', {
    why: message === '' ? `it answered ${status}` : message.replace(/\.$/, ''),
    ...(typeof error.param === 'string' && { field: error.param }),
  })
}

/** The refusal for an error in a stream, which begins with status 200 before its server knows. */
export function failureOf(error: unknown, kind: UpstreamKind): Refusal {
  const told = typeof error === 'object' && error !== null ? (error as ReplyError) : { message: error }
  const own = kind === 'heddle' ? asTold(told) : undefined
  if (own !== undefined) return own
  const message = typeof told.message === 'string' ? told.message : JSON.stringify(told)
  const why = `it says ${JSON.stringify(message.slice(0, maxMessageLength))}`
  const status = statusTold(told)
  if (status === 429) return refuse('upstream_busy', { seconds: 1 })
  return refuse(status === 503 || status === 529 ? 'upstream_unavailable' : 'upstream_failed', { why })
}

/** The names that APIs give to an overload where they tell no status. */
const overloads: Readonly<Record<string, number>> = {
  overloaded_error: 529,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  slow_down: 503,
}

function statusTold({ status, code, type }: ReplyError): number | undefined {
  for (const value of [status, code, type]) {
    const told = Number(value)
    if (typeof value === 'number' || (typeof value === 'string' && told > 0)) return told
    if (typeof value === 'string' && Object.hasOwn(overloads, value)) return overloads[value]
  }
  return undefined
}

function asTold({ code, message, param }: ReplyError, values?: RefusalValues): Refusal | undefined {
  if (typeof code !== 'string' || !Object.hasOwn(refusals, code) || typeof message !== 'string')
    return undefined
  return refuseWithMessage(code as RefusalCode, message, typeof param === 'string' ? param : null, values)
}

/** The seconds of a Retry-After to a client; 1 if the server names no time. */
export const secondsOf = (told: number | undefined) => Math.min(Math.max(1, Math.ceil(told ?? 1)), 3_600)

/** The refusal for a reply with status 200 that is neither a stream of events nor JSON. */
export function unreadableReply(answer: IncomingMessage): Refusal {
  const type = answer.headers['content-type'] ?? 'nothing'
  return refuse('upstream_failed', {
    why: `it answered ${JSON.stringify(type.slice(0, 100))} instead of an answer`,
  })
}

/** The refusal for a compressed answer: none is asked for. */
export function compressedReply({ headers }: IncomingMessage): Refusal | undefined {
  const { 'content-encoding': encoding = 'identity' } = headers
  if (encoding.trim().toLowerCase() === 'identity' || encoding === '') return undefined
  return refuse('upstream_failed', {
    why: `its answer has the encoding ${JSON.stringify(encoding.slice(0, 100))}, which was not asked for`,
  })
}

/** Shorter keys protect nothing, and may be words. */
const minSecret = 8

/**
 * A server, or a proxy before it, may repeat the headers of a request in its error. Each character of the key is found as
 * itself, or escaped for JSON or a URL, once or in text that is quoted again.
 */
export function withoutKey(text: string, key: string | undefined): string {
  if (key === undefined || key.length < minSecret) return text
  const whole = text.replaceAll(key, '…')
  // Several in a row could be escaped in too many ways.
  if (key.includes('\\')) return whole.replaceAll(JSON.stringify(key).slice(1, -1), '…')
  return /[\\%]/.test(whole) ? whole.replaceAll(escapedForm(key), '…') : whole
}

/** Letters of a key by which its escaped form is found; what follows them up to white space or a quote is the rest. */
const maxSpelled = 64
const escapedForms = new Map<string, RegExp>()

function escapedForm(key: string): RegExp {
  let form = escapedForms.get(key)
  if (form === undefined) {
    const rest = key.length > maxSpelled ? '[^\\s"\']*' : ''
    form = new RegExp([...key.slice(0, maxSpelled)].map(spellingsOf).join('') + rest, 'g')
    // Of the few keys of the configuration.
    escapedForms.set(key, form)
  }
  return form
}

/** The backslashes are bounded so that a text of nothing else is searched in one pass. */
function spellingsOf(letter: string): string {
  const code = letter.charCodeAt(0).toString(16).padStart(2, '0')
  const hex = code.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
  return `(?:\\\\{0,3}\\x${code}|\\\\{1,3}u00${hex}|%(?:25)?${hex})`
}

/** The refusal for an answer that ends too early. */
export function cutOff(cause: unknown): Refusal {
  const refusal = refuse('upstream_failed', { why: 'it broke off in the middle of the answer' })
  refusal.cause = cause
  return refusal
}

/** No other refusal of a server has a cause. */
export const isCutOff = ({ cause }: Refusal) => cause !== undefined

/** What the caller is told of an error in reading an answer. */
export function readingError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  return isBroken(error) ? cutOff(error) : error
}

/** Node's error codes for a connection that the other side has closed (https://nodejs.org/api/errors.html). */
export function isBroken(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return (
    code === 'ECONNRESET' ||
    code === 'EPIPE' ||
    code === 'ERR_STREAM_PREMATURE_CLOSE' ||
    code?.startsWith('HPE_') === true
  )
}
