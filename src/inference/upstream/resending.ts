import { LRUCache } from 'lru-cache'
import type { Outcome } from './deliveries.ts'
import type { RetryAdvice } from './retry-headers.ts'

/** How many requests of a tenant may reach an address of a server a second time. */
export interface ResendBudget {
  /** A request was sent for the first time. */
  sent(): void
  /** Whether one more may be sent again; if so, it counts. */
  take(): boolean
}

/** A fifth more requests are bearable for a server that fails because it has too many, and twice as many are not. */
const maxShare = 0.2
/** Besides the share, so that a tenant with few requests is not without second chances. */
const reserve = 10
const windowSeconds = 10
/** Those that asked last; what others had used up is soon forgotten anyhow. */
const maxTenants = 10_000

/** A tenant whose requests fail uses up none of what others have. */
export function createResendBudgets(now?: () => number): (tenant: string) => ResendBudget {
  const budgets = new LRUCache<string, ResendBudget>({ max: maxTenants })
  return (tenant) => {
    const budget = budgets.get(tenant) ?? createResendBudget(now)
    budgets.set(tenant, budget)
    return budget
  }
}

/** Counts by whole seconds of the last ten. */
function createResendBudget(now = () => performance.now()): ResendBudget {
  const seconds = Array.from({ length: windowSeconds }, () => ({ at: Number.NaN, sent: 0, resent: 0 }))

  function current() {
    const at = Math.floor(now() / 1_000)
    const second = seconds[at % windowSeconds] as (typeof seconds)[number]
    if (second.at !== at) Object.assign(second, { at, sent: 0, resent: 0 })
    return second
  }

  return {
    sent() {
      current().sent++
    },
    take() {
      const second = current()
      let sent = 0
      let resent = 0
      for (const known of seconds) {
        if (!(known.at > second.at - windowSeconds)) continue
        sent += known.sent
        resent += known.resent
      }
      if (resent + 1 > reserve + maxShare * sent) return false
      second.resent++
      return true
    },
  }
}

/**
 * When a request may be sent again. A server that cannot be reached or is busy has done nothing with it. One that fails
 * or is silent may be dying of it, so it is sent once more at most; and after a connection that just ends nobody knows
 * what has been done and billed, so it is not sent again.
 */
export const moreAfter: Record<Exclude<Outcome, 'answered'>, 'all' | 'one' | 'none'> = {
  unreachable: 'all',
  busy: 'all',
  failed: 'one',
  timeout: 'one',
  closed: 'none',
  refused: 'none',
}

/** A client would rather be told of a longer wait than sit through it. */
const maxPauseSeconds = 5
const minJitterMs = 500

/**
 * How long to wait before the only address of a server is asked again: what it asked for, and up to half as much, so that
 * those it refused together do not come back together. Undefined unless it named a short time with a 429 or 503, or says
 * that it is worth while: any other failure may have been this request's work.
 */
export function pauseMsOf(
  status: number,
  { seconds, isWorthwhile }: RetryAdvice,
  random: () => number,
): number | undefined {
  if (isWorthwhile === false) return undefined
  const isNamed = (status === 429 || status === 503) && seconds !== undefined
  const pause = seconds ?? 0
  if ((!isNamed && isWorthwhile !== true) || pause > maxPauseSeconds) return undefined
  return pause * 1_000 + random() * Math.max(minJitterMs, pause * 500)
}
