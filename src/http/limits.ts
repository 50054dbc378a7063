import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Caller } from '../domain/callers.ts'
import { type Spending, settle, startSpending, untilBelow } from '../domain/rates.ts'
import { refuse } from '../domain/refusals.ts'
import { whenClosed } from './disconnect.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Its answers cost tokens of a model. */
    spendsTokens?: boolean
    /** Its answer ends when its client leaves, so it is none of the requests at once. */
    staysOpen?: boolean
  }
}

/** What a user with limits does at the moment. */
interface Activity {
  requests: Spending
  tokens: Spending
  running: number
}

export interface Limits {
  /** Takes tokens from what the user may spend in a minute, when they are known. */
  spendTokens(caller: Caller, tokens: number): void
}

/** Holds users to what was set for them. Users without limits are not looked at. */
export function limitUsers(app: FastifyInstance, refused: (user: string) => void): Limits {
  const activities = new Map<string, Activity>()

  function activityOf(user: string, now: number): Activity {
    let activity = activities.get(user)
    if (activity === undefined) {
      activity = { requests: startSpending(now), tokens: startSpending(now), running: 0 }
      activities.set(user, activity)
    }
    return activity
  }

  app.addHook('onRequest', (request, reply, done) => {
    const { name, settings } = request.caller ?? {}
    if (name === undefined || settings === undefined) return done()
    const { requests_per_minute, tokens_per_minute, requests_at_once } = settings
    const now = performance.now()
    const activity = activityOf(name, now)
    const beyond = (limit: number, what: string, waitMs: number) => {
      refused(name)
      const seconds = Math.max(1, Math.ceil(waitMs / 1000))
      return refuse('rate_limit_exceeded', { user: name, limit, what, seconds })
    }
    if (requests_per_minute !== undefined) {
      const spent = settle(activity.requests, requests_per_minute, now)
      const isFull = spent + 1 > requests_per_minute
      writeRate(reply, 'requests', requests_per_minute, isFull ? spent : spent + 1)
      if (isFull) {
        const wait = untilBelow(spent, requests_per_minute - 1, requests_per_minute)
        return done(beyond(requests_per_minute, 'requests per minute', wait))
      }
    }
    if (tokens_per_minute !== undefined) {
      const spent = settle(activity.tokens, tokens_per_minute, now)
      writeRate(reply, 'tokens', tokens_per_minute, spent)
      if (request.routeOptions.config.spendsTokens && spent >= tokens_per_minute) {
        const wait = untilBelow(spent, tokens_per_minute - 1, tokens_per_minute)
        return done(beyond(tokens_per_minute, 'tokens per minute', wait))
      }
    }
    const { staysOpen } = request.routeOptions.config
    if (!staysOpen && requests_at_once !== undefined && activity.running >= requests_at_once) {
      return done(beyond(requests_at_once, 'requests at once', 0))
    }
    // A refused request takes nothing: who keeps trying is served as soon as who waits.
    if (requests_per_minute !== undefined) activity.requests.amount += 1
    if (staysOpen) return done()
    activity.running++
    whenClosed(reply, () => activity.running--)
    done()
  })

  return {
    spendTokens({ name, settings }, tokens) {
      if (settings?.tokens_per_minute === undefined) return
      activityOf(name, performance.now()).tokens.amount += tokens
    },
  }
}

/** As OpenAI writes it: https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers */
function writeRate(reply: FastifyReply, what: 'requests' | 'tokens', limit: number, spent: number): void {
  reply.header(`x-ratelimit-limit-${what}`, String(limit))
  reply.header(`x-ratelimit-remaining-${what}`, String(Math.max(0, Math.floor(limit - spent))))
  reply.header(`x-ratelimit-reset-${what}`, durationOf(untilBelow(spent, 0, limit)))
}

/** `120ms`, `8.64s`, `6m0s`. */
export function durationOf(ms: number): string {
  if (ms <= 999) return `${Math.ceil(ms)}ms`
  const seconds = Math.ceil(ms / 10) / 100
  if (seconds < 60) return `${seconds}s`
  return `${Math.floor(seconds / 60)}m${Math.floor(seconds % 60)}s`
}
