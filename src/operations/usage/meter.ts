import type { FastifyInstance } from 'fastify'
import { LRUCache } from 'lru-cache'
import { clockNow } from '../../domain/clock.ts'
import type { TokenCount } from '../../domain/money.ts'
import { Refusal } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import { isCountedAlready } from '../../http/inside.ts'
import type { Database } from '../../storage/database.ts'
import type { UsageDay } from '../../storage/users/usage.ts'
import { minuteMicros } from '../../storage/users/users.ts'
import { maxEntries } from '../../threads/cache-bounds.ts'
import { type BackgroundWork, inBackground } from '../background.ts'

/**
 * A killed process loses at most the counts of this time. Flushing after each request would cost more than the counts
 * are worth.
 */
const flushMs = 5_000
const dayMs = 86_400_000

/** Beyond these a key in use is noted more often. */
const maxNotedKeys = 10_000

/** Counts in memory what users request, by the day, and adds it to the record now and then. */
export interface UsageMeter {
  requested(user: string): void
  /** Noted at most once a minute. */
  keyUsed(id: string): void
  refused(user: string): void
  spent(user: string, tokens: TokenCount): void
  flush(): Promise<void>
}

export function createUsageMeter(db: Database): UsageMeter {
  let pending = new Map<string, UsageDay>()
  /** When the use of a key was noted last. */
  const noted = new LRUCache<string, number>(maxEntries(maxNotedKeys))
  let uses: { id: string; at: number }[] = []
  /** The counts of the current day by user, because each request needs one of them. */
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
    keyUsed(id) {
      const at = now()
      if (at - (noted.get(id) ?? 0) < minuteMicros) return
      noted.set(id, at)
      uses.push({ id, at })
    },
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
      const ofKeys = uses
      uses = []
      if (ofKeys.length > 0) await db.write('noteKeyUse', ofKeys).catch(() => undefined)
      try {
        await db.write('addUsage', [...flushed.values()])
      } catch (error) {
        // They may have been stored: adding them again would count them twice.
        if (!(error instanceof Refusal && error.code === 'write_unconfirmed')) {
          for (const [key, lost] of flushed) pending.set(key, sumOf(lost, pending.get(key)))
          current.of.clear()
        }
        throw error
      }
    },
  }
}

function sumOf(day: UsageDay, other?: UsageDay): UsageDay {
  if (other === undefined) return day
  return {
    ...day,
    requests: day.requests + other.requests,
    refused: day.refused + other.refused,
    prompt_tokens: day.prompt_tokens + other.prompt_tokens,
    completion_tokens: day.completion_tokens + other.completion_tokens,
  }
}

/** Counts each request of a known user. */
export function countRequests(app: FastifyInstance, meter: UsageMeter): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { caller } = request
    if (caller !== undefined && caller !== null && !isCountedAlready(request)) {
      meter.requested(caller.name)
      if (caller.key?.id !== undefined) meter.keyUsed(caller.key.id)
    }
    done()
  })
}

/** The rest is flushed when it stops. */
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
