import { lookup as lookUp } from 'node:dns/promises'
import http from 'node:http'
import https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { Outcome } from '../../storage/alerts/deliveries.ts'
import type { Slots } from '../../threads/slots.ts'
import { version } from '../../version.ts'
import type { AddressKind } from './addresses.ts'

interface Address {
  address: string
  family: number
}

interface SendingOptions {
  check(address: string): AddressKind
  /** For tests: how names become addresses. */
  lookup(host: string): Promise<Address[]>
  lookups: Slots
  timeoutMs: number
}

export const sendingDefaults: Pick<SendingOptions, 'lookup' | 'timeoutMs'> = {
  lookup: (host) => lookUp(host, { all: true }),
  timeoutMs: 15_000,
}

interface Message {
  /** Whose it is. Lookups of one entity wait for each other. */
  entity: string
  url: string
  headers: Readonly<Record<string, string>>
  body: string
}

type Answer =
  | { status: number; retryAfter: string | undefined }
  /** Without an answer: why. */
  | { error: string }

/** Of an answer; nothing in it is used. */
const maxAnswerBytes = 4_096

/**
 * Sends one message. A name is resolved once; each of its addresses is checked, and the connection goes to one of
 * these, so that a name cannot mean another address a moment later. Redirects and proxies are not followed.
 */
export async function send(message: Message, options: SendingOptions, stopped: AbortSignal): Promise<Answer> {
  const late = AbortSignal.timeout(options.timeoutMs)
  const signal = AbortSignal.any([late, stopped])
  try {
    const url = new URL(message.url)
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const family = isIP(host)
    const addresses =
      family === 0
        ? await inTime(lookedUp(host, message.entity, options, signal), signal)
        : [{ address: host, family }]
    const wrong = refusalOf(url, addresses, options)
    return wrong === undefined ? await post(url, message, addresses, signal) : { error: wrong }
  } catch (error) {
    if (stopped.aborted) throw error
    if (late.aborted) return { error: `no answer within ${options.timeoutMs / 1000} s` }
    return { error: reasonOf(error) }
  }
}

/** Its slot is free when the lookup has ended, also if nobody waits for it any more. */
async function lookedUp(
  host: string,
  entity: string,
  { lookup, lookups }: SendingOptions,
  signal: AbortSignal,
): Promise<Address[]> {
  const slot = await lookups.acquire(entity, signal)
  try {
    return await lookup(host)
  } finally {
    lookups.release(slot)
  }
}

function refusalOf(url: URL, addresses: readonly Address[], { check }: SendingOptions): string | undefined {
  if (addresses.length === 0) return 'the name of the host has no address'
  const kinds = addresses.map(({ address }) => check(address))
  if (kinds.includes('forbidden')) {
    return 'the address of the host is not public; HEDDLE_WEBHOOK_ALLOW names those that are allowed'
  }
  if (url.protocol === 'http:' && kinds.includes('public')) {
    return 'http:// is accepted for addresses in HEDDLE_WEBHOOK_ALLOW only; use https://'
  }
  return undefined
}

function post(
  url: URL,
  { headers, body }: Message,
  addresses: readonly Address[],
  signal: AbortSignal,
): Promise<Answer> {
  const { request, Agent } = url.protocol === 'https:' ? https : http
  const checked: LookupFunction = (_host, { all }, done) => {
    const [first] = addresses as [Address]
    if (all) done(null, [...addresses])
    else done(null, first.address, first.family)
  }
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': `heddle/${version}`,
          ...headers,
        },
        lookup: checked,
        // A connection of its own, which knows nothing of proxies in the environment.
        agent: new Agent({ keepAlive: false }),
        maxHeaderSize: 16_384,
        signal,
      },
      (answer) => {
        const { statusCode: status = 0 } = answer
        const retryAfter = answer.headers['retry-after']
        resolve({ status, retryAfter })
        // What follows is read only so that the other side can finish, and not beyond its bound.
        void drain(answer).finally(() => sent.destroy())
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

async function drain(answer: http.IncomingMessage): Promise<void> {
  let bytes = 0
  await pipeline(answer, async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) {
      bytes += chunk.length
      if (bytes > maxAnswerBytes) return
    }
  }).catch(() => undefined)
}

async function inTime<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** What a user may know of a failure: its kind, and nothing of what the other side has sent. */
function reasonOf(error: unknown): string {
  const errors = error instanceof AggregateError ? error.errors : [error]
  const codes = new Set(errors.map((each: unknown) => (each as NodeJS.ErrnoException).code ?? 'unknown'))
  const code = [...codes].join(', ')
  if (/ENOTFOUND|EAI_AGAIN/.test(code)) return `the name of the host cannot be resolved (${code})`
  return `the connection failed (${code})`
}

const seconds = 1
const minutes = 60 * seconds
const hours = 60 * minutes

/** Pauses after each try, in seconds: 75 hours in all. */
const retrySeconds = [
  5 * seconds,
  5 * minutes,
  30 * minutes,
  2 * hours,
  5 * hours,
  10 * hours,
  14 * hours,
  20 * hours,
  24 * hours,
]
/** An endpoint that has only failed for so long is switched off. */
export const failingMicroseconds = 75 * hours * 1_000_000

/** Added to a pause, so that what failed together is not sent together. */
const jitter = 0.2
/** While an endpoint does not answer, nothing else is tried for as long. */
const maxRest = 5 * minutes
const maxRetryAfter = 24 * hours

/** What a try means. Times are microseconds; `haste` divides the pauses. */
export function outcomeOf(answer: Answer, tries: number, now: number, haste = 1): Outcome {
  const status = 'status' in answer ? answer.status : null
  if (status !== null && status >= 200 && status < 300) return { kind: 'sent', status }
  const error = 'error' in answer ? answer.error : `it answered ${status}`
  if (status === 410) return { kind: 'refused', status, error: 'it answered 410: it is gone' }
  const asked = 'retryAfter' in answer ? secondsOf(answer.retryAfter, now) : 0
  const pause = retrySeconds[tries]
  const at = (wait: number) => now + Math.round((wait / haste) * 1_000_000)
  const wait = Math.max(asked, (pause ?? maxRest) * (1 + jitter * Math.random()))
  const isItsFault = status === null || status === 408 || status === 429 || status >= 500
  return {
    kind: 'failed',
    status,
    error,
    next_at: pause === undefined ? null : at(wait),
    rests_until: isItsFault ? at(Math.max(asked, Math.min(wait, maxRest))) : null,
  }
}

/** Of a Retry-After, which is seconds or a date (RFC 9110, 10.2.3); 0 if it says nothing. */
function secondsOf(text: string | undefined, now: number): number {
  if (text === undefined) return 0
  const wait = /^\d{1,9}$/.test(text) ? Number(text) : (Date.parse(text) - now / 1000) / 1000
  return wait > 0 ? Math.min(wait, maxRetryAfter) : 0
}
