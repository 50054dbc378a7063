import type { FastifyInstance } from 'fastify'
import { clockNow } from '../../domain/clock.ts'
import { Refusal } from '../../domain/refusals.ts'
import type { Database } from '../../storage/database.ts'
import type { UsageDay } from '../../storage/users/usage.ts'
import { type BackgroundWork, inBackground } from '../background.ts'
import type { TokenCount } from '../generation/parts.ts'

/** What a kill loses at most: a flush to the disk for each request would cost more than counting is worth. */
const flushMs = 5_000
const dayMs = 86_400_000

/** Counts in memory what users ask for, by the day, and adds it to the record now and then. */
export interface UsageMeter {
  requested(user: string): void
  refused(user: string): void
  spent(user: string, tokens: TokenCount): void
  flush(): Promise<void>
}

export function createUsageMeter(db: Database): UsageMeter {
  let pending = new Map<string, UsageDay>()
  /** Those of one day by their users: each request asks for one. */
  let current = { day: 0, of: new Map<string, UsageDay>() }

  function today(user: string): UsageDay {
    const day = Math.floor(clockNow() / dayMs)
    if (day !== current.day) current = { day, of: new Map() }
    let found = current.of.get(user)
    if (found === undefined) {
      found = dayOf(user, new Date(day * dayMs).toISOString().slice(0, 10))
      current.of.set(user, found)
    }
    return found
  }

  function dayOf(user: string, day: string): UsageDay {
    const key = `${day} ${user}`
    const found = pending.get(key) ?? {
      user_name: user,
      day,
      requests: 0,
      refused: 0,
      prompt_tokens: 0,
      completion_tokens: 0,
    }
    pending.set(key, found)
    return found
  }

  return {
    requested: (user) => void today(user).requests++,
    refused: (user) => void today(user).refused++,
    spent(user, { prompt, completion }) {
      const counted = today(user)
      counted.prompt_tokens += prompt
      counted.completion_tokens += completion
    },
    async flush() {
      if (pending.size === 0) return
      const flushed = pending
      pending = new Map()
      current.of.clear()
      try {
        await db.write('addUsage', [...flushed.values()])
      } catch (error) {
        // It may be stored: to add it again would count it twice.
        if (!(error instanceof Refusal && error.code === 'write_unconfirmed')) {
          for (const [key, lost] of flushed) pending.set(key, sumOf(lost, pending.get(key)))
          current.of.clear()
        }
        throw error
      }
    },
  }
}

function sumOf(one: UsageDay, other?: UsageDay): UsageDay {
  if (other === undefined) return one
  return {
    ...one,
    requests: one.requests + other.requests,
    refused: one.refused + other.refused,
    prompt_tokens: one.prompt_tokens + other.prompt_tokens,
    completion_tokens: one.completion_tokens + other.completion_tokens,
  }
}

/** Each request of somebody who is known. */
export function countRequests(app: FastifyInstance, meter: UsageMeter): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.caller !== undefined && request.caller !== null) meter.requested(request.caller.name)
    done()
  })
}

/** What is left is flushed at the end. */
export function startFlushing(meter: UsageMeter, failed: (error: unknown) => void): BackgroundWork {
  const work = inBackground({
    firstMs: flushMs,
    failedMs: flushMs,
    failed,
    async run() {
      await meter.flush()
      return flushMs
    },
  })
  return {
    async stop() {
      await work.stop()
      await meter.flush().catch(failed)
    },
  }
}
