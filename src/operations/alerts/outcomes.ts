import type { Outcome } from '../../storage/alerts/deliveries.ts'
import type { Answer } from './sending.ts'

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
