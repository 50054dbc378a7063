import type { IncomingHttpHeaders } from 'node:http'

/** What a server says of sending a request again. */
export interface RetryAdvice {
  /** After how long; undefined if it does not say. */
  seconds: number | undefined
  /** Whether it is worth while at all; undefined if it does not say. */
  isWorthwhile: boolean | undefined
}

/** As the clients of OpenAI and Anthropic read the headers of an error. */
export function retryAdviceOf(status: number, headers: IncomingHttpHeaders, now = Date.now()): RetryAdvice {
  const worth = headers['x-should-retry']
  const reset = status === 429 ? resetOf(headers) : undefined
  return {
    seconds: msOf(headers['retry-after-ms']) ?? retryAfterOf(headers, now) ?? reset,
    isWorthwhile: worth === 'true' || worth === 'false' ? worth === 'true' : undefined,
  }
}

function msOf(header: string | string[] | undefined): number | undefined {
  const seconds = numberOf(header)
  return seconds === undefined ? undefined : seconds / 1_000
}

/** In seconds, or a date, which is compared with the server's own clock if it tells its time. */
function retryAfterOf({ 'retry-after': header, date }: IncomingHttpHeaders, now: number): number | undefined {
  const seconds = numberOf(header)
  if (seconds !== undefined || header === undefined || !/[a-z]/i.test(header)) return seconds
  const until = Date.parse(header)
  if (Number.isNaN(until)) return undefined
  const told = Date.parse(date ?? '')
  return Math.max(0, until - (Number.isNaN(told) ? now : told)) / 1_000
}

/** A limit is whole again at its reset, which may be hours away, but has room for a request long before. */
const maxResetSeconds = 60

/** When the limits that are used up begin anew. They come with every answer of OpenAI's API, used up or not. */
function resetOf(headers: IncomingHttpHeaders): number | undefined {
  const resets = ['requests', 'tokens'].flatMap((limit) => {
    if (numberOf(headers[`x-ratelimit-remaining-${limit}`]) !== 0) return []
    return durationOf(headers[`x-ratelimit-reset-${limit}`]) ?? []
  })
  return resets.length === 0 ? undefined : Math.min(maxResetSeconds, Math.max(...resets))
}

const units = { h: 3_600, m: 60, s: 1, ms: 0.001 }
const duration = /^(?:\d+(?:\.\d+)?(?:ms|h|m|s))+$/

/** As in `6m0s`, `1.5s` or `20ms`. */
function durationOf(header: string | string[] | undefined): number | undefined {
  if (typeof header !== 'string' || !duration.test(header)) return undefined
  let seconds = 0
  for (const [, count, unit] of header.matchAll(/([\d.]+)(ms|h|m|s)/g))
    seconds += Number(count) * units[unit as keyof typeof units]
  return seconds
}

function numberOf(header: string | string[] | undefined): number | undefined {
  if (typeof header !== 'string' || header.trim() === '') return undefined
  const value = Number(header)
  return Number.isFinite(value) && value >= 0 ? value : undefined
}
