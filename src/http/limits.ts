import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Caller } from '../domain/callers.ts'
import { currentlySpent, type Spending, startSpending, timeUntilBelow } from '../domain/rates.ts'
import { refuse } from '../domain/refusals.ts'
import type { UserSettings } from '../domain/user-settings.ts'
import type { SharedSpending, UserSpending } from '../storage/limits/spending.ts'
import { whenClosed } from './disconnect.ts'
import { isCountedAlready, isInside } from './inside.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Its answers cost tokens of a model. */
    spendsTokens?: boolean
    /** Its answer lasts until the client leaves, so it does not count as one of the requests at once. */
    staysOpen?: boolean
  }
}

/** Current activity of a user with limits. */
interface Activity {
  requests: Spending
  tokens: Spending
  running: number
  /** Requests that other servers are answering. */
  elsewhere: number
  /** What has not been reported to the other servers yet. */
  untold: { requests: number; tokens: number }
  limits: UserSettings
  /** In milliseconds. */
  usedAt: number
}

/** A user without requests for this long is no longer reported. */
const quietAfter = 5_000

export interface Limits {
  /** Subtracts tokens from the user's allowance per minute, once their number is known. */
  spendTokens(caller: Caller, tokens: number): void
  /** Reports what was spent here since the last time, and receives what all servers have spent. */
  share(exchange: (users: UserSpending[]) => Promise<SharedSpending[]>): Promise<void>
}

/** Enforces the limits of users. Users without limits are not tracked. */
export function limitUsers(app: FastifyInstance, refused: (user: string) => void): Limits {
  const activities = new Map<string, Activity>()

  function activityOf(user: string, limits: UserSettings, now: number): Activity {
    let activity = activities.get(user)
    if (activity === undefined) {
      activity = {
        requests: startSpending(now),
        tokens: startSpending(now),
        running: 0,
        elsewhere: 0,
        untold: { requests: 0, tokens: 0 },
        limits,
        usedAt: now,
      }
      activities.set(user, activity)
    }
    activity.limits = limits
    activity.usedAt = now
    return activity
  }

  app.addHook('onRequest', (request, reply, done) => {
    const { name, settings } = request.caller ?? {}
    if (name === undefined || settings === undefined) return done()
    // The request that caused this one was counted.
    // What is asked in the background takes no request from its user at the same time.
    const isCounted = isInside(request)
    const { tokens_per_minute } = settings
    const { requests_per_minute } = isCountedAlready(request) ? {} : settings
    const { requests_at_once } = isCounted ? {} : settings
    const now = performance.now()
    const activity = activityOf(name, settings, now)
    const beyond = (limit: number, what: string, waitMs: number) => {
      refused(name)
      const seconds = Math.max(1, Math.ceil(waitMs / 1000))
      return refuse('rate_limit_exceeded', { user: name, limit, what, seconds })
    }
    if (requests_per_minute !== undefined) {
      const spent = currentlySpent(activity.requests, requests_per_minute, now)
      const isFull = spent + 1 > requests_per_minute
      writeRate(reply, 'requests', requests_per_minute, isFull ? spent : spent + 1)
      if (isFull) {
        const wait = timeUntilBelow(spent, requests_per_minute - 1, requests_per_minute)
        return done(beyond(requests_per_minute, 'requests per minute', wait))
      }
    }
    if (tokens_per_minute !== undefined) {
      const spent = currentlySpent(activity.tokens, tokens_per_minute, now)
      writeRate(reply, 'tokens', tokens_per_minute, spent)
      if (request.routeOptions.config.spendsTokens && spent >= tokens_per_minute) {
        const wait = timeUntilBelow(spent, tokens_per_minute - 1, tokens_per_minute)
        return done(beyond(tokens_per_minute, 'tokens per minute', wait))
      }
    }
    const { staysOpen } = request.routeOptions.config
    if (
      !staysOpen &&
      requests_at_once !== undefined &&
      activity.running + activity.elsewhere >= requests_at_once
    ) {
      return done(beyond(requests_at_once, 'requests at once', 0))
    }
    // A refused request costs nothing: a client that keeps retrying is served as soon as one that waits.
    if (requests_per_minute !== undefined) {
      activity.requests.amount += 1
      activity.untold.requests += 1
    }
    if (staysOpen || isCounted) return done()
    activity.running++
    whenClosed(reply, () => activity.running--)
    done()
  })

  return {
    spendTokens({ name, settings }, tokens) {
      if (settings?.tokens_per_minute === undefined) return
      const activity = activityOf(name, settings, performance.now())
      activity.tokens.amount += tokens
      activity.untold.tokens += tokens
    },
    async share(exchange) {
      const now = performance.now()
      const told = new Map<string, Activity['untold']>()
      const users: UserSpending[] = []
      for (const [user, activity] of activities) {
        const { limits, untold, running, usedAt } = activity
        const isQuiet = running === 0 && untold.requests === 0 && untold.tokens === 0
        if (isQuiet && now - usedAt > quietAfter) continue
        const perMinute = (limit: number | undefined) => limit ?? null
        users.push({
          user,
          requests: { more: untold.requests, perMinute: perMinute(limits.requests_per_minute) },
          tokens: { more: untold.tokens, perMinute: perMinute(limits.tokens_per_minute) },
          running,
        })
        told.set(user, untold)
        activity.untold = { requests: 0, tokens: 0 }
      }
      if (users.length === 0) return
      try {
        for (const { user, requests, tokens, elsewhere } of await exchange(users)) {
          const activity = activities.get(user)
          if (activity === undefined) continue
          const at = performance.now()
          Object.assign(activity.requests, { amount: requests + activity.untold.requests, at })
          Object.assign(activity.tokens, { amount: tokens + activity.untold.tokens, at })
          activity.elsewhere = elsewhere
        }
      } catch (error) {
        for (const [user, { requests, tokens }] of told) {
          const untold = activities.get(user)?.untold
          if (untold === undefined) continue
          untold.requests += requests
          untold.tokens += tokens
        }
        throw error
      }
    },
  }
}

/** In OpenAI's format: https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers */
function writeRate(reply: FastifyReply, what: 'requests' | 'tokens', limit: number, spent: number): void {
  reply.header(`x-ratelimit-limit-${what}`, String(limit))
  reply.header(`x-ratelimit-remaining-${what}`, String(Math.max(0, Math.floor(limit - spent))))
  reply.header(`x-ratelimit-reset-${what}`, durationOf(timeUntilBelow(spent, 0, limit)))
}

/** `120ms`, `8.64s`, `6m0s`. */
export function durationOf(ms: number): string {
  if (ms <= 999) return `${Math.ceil(ms)}ms`
  const seconds = Math.ceil(ms / 10) / 100
  if (seconds < 60) return `${seconds}s`
  return `${Math.floor(seconds / 60)}m${Math.floor(seconds % 60)}s`
}
