import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Caller } from '../domain/callers.ts'
import { askInside, type Inside, type InsideAnswer, type InsideRequest } from '../http/inside.ts'

/** Finds whom a key belongs to now; undefined if it was revoked. */
export type FindCaller = (keyHash: string) => Promise<Caller | undefined>

/** Before something is asked again that failed through a fault of a server. */
const pausesMs = [1_000, 5_000]
/** Nothing is asked meanwhile, if there is no room or no money left. */
const fullMs = 2_000
const poorMs = 60_000
const maxWaitMs = 60_000

interface Asker {
  app: FastifyInstance
  findCaller: FindCaller
  user: string
  keyHash: string
}

/**
 * Asks as a user would with the same key: all rights, limits and budgets are those of now. Undefined if the key is no
 * longer one of the user. What has no room now is to be asked again later.
 */
export async function askInBackground(
  { app, findCaller, user, keyHash }: Asker,
  inside: Omit<Inside, 'caller' | 'callerNow'>,
  request: InsideRequest,
): Promise<InsideAnswer | { waitMs: number } | undefined> {
  const { signal } = inside
  for (let tries = 0; ; tries++) {
    const caller = await findCaller(keyHash)
    if (caller === undefined || caller.name !== user) return undefined
    const answer = await askInside(app, { ...inside, caller, callerNow: () => findCaller(keyHash) }, request)
    signal.throwIfAborted()
    const { status, text, header } = answer
    // A request that breaks what answers it must not be asked for ever.
    const isFault = status === 503 && /"(?:engine_failed|upstream_unavailable)"/.test(text)
    if (status === 429 || (status === 503 && !isFault)) return { waitMs: waitOf(text, header('retry-after')) }
    const pause = status >= 500 ? pausesMs[tries] : undefined
    if (pause === undefined) return answer
    await sleep(pause, undefined, { signal })
  }
}

function waitOf(answered: string, retryAfter: string | undefined): number {
  if (answered.includes('"budget_exceeded"')) return poorMs
  const seconds = Number(retryAfter ?? 0)
  return Math.min(maxWaitMs, Math.max(seconds * 1_000, fullMs))
}

/** A text as a header carries it. */
export const headerText = (text: string): string => Buffer.from(text).toString('latin1')
