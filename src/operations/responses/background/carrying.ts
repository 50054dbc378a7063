import type { FastifyInstance } from 'fastify'
import { newId } from '../../../domain/ids.ts'
import { now } from '../../../domain/time.ts'
import { hasDueResponse, type WaitingResponse } from '../../../storage/answers/waiting-responses.ts'
import { type BackgroundWork, inBackground } from '../../background.ts'
import { askInBackground, type FindCaller } from '../../background-asking.ts'
import type { OperationParts } from '../../parts.ts'
import { endedUntil } from './waiting.ts'

const idleMs = 500
const failedMs = 5_000
/** One that is not held again for this long is taken by another process. */
const leaseMs = 10_000
const maxWaitingMs = 86_400_000

const inMicroseconds = (ms: number) => ms * 1_000

interface BackgroundSettings {
  /** How many are answered at once. */
  parallel: number
  responseDays: number
  findCaller: FindCaller
}

/** Answers the responses that wait, each in one process at a time. One that is cancelled or deleted is ended. */
export function startWaitingResponses(
  app: FastifyInstance,
  { db, models }: OperationParts,
  { parallel, responseDays, findCaller }: BackgroundSettings,
  failed: (error: unknown) => void,
): BackgroundWork | undefined {
  // Another server may have models.
  if (models.all.length === 0) return undefined
  const holder = newId()
  const running = new Map<WaitingResponse, { over: AbortController; done: Promise<void> }>()

  const leaseEnd = () => now() + inMicroseconds(leaseMs)

  async function take(): Promise<boolean> {
    if (running.size >= parallel || !(await hasDueResponse(db, now()))) return false
    const taken = await db.write('takeWaiting', { holder, now: now(), until: leaseEnd() })
    if (taken === undefined) return false
    const over = new AbortController()
    const done = answered(taken, over.signal)
      .catch(failed)
      .finally(() => running.delete(taken))
    running.set(taken, { over, done })
    return true
  }

  async function answered(response: WaitingResponse, signal: AbortSignal): Promise<void> {
    const { user_name, id, key_hash: keyHash, body, headers, created_at } = response
    const held = { user_name, id, holder }
    const end = (error: string | null) =>
      db.write('endWaiting', { ...held, error, now: now(), expire_at: endedUntil(responseDays) })
    if (now() > created_at + inMicroseconds(maxWaitingMs)) return end(errorOf('expired', late))
    let until = 0
    try {
      const request = { method: 'POST', url: '/v1/responses', body, headers: JSON.parse(headers) } as const
      const asker = { app, findCaller, user: user_name, keyHash }
      const answer = await askInBackground(asker, { signal, isInBackground: true }, request)
      if (answer === undefined) return await end(errorOf('wrong_credentials', revoked))
      if ('waitMs' in answer) until = now() + inMicroseconds(answer.waitMs)
      else return await end(answer.status < 400 ? null : errorIn(answer.text))
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      // Has no effect on one that has ended.
      await db.write('releaseWaiting', { ...held, until })
    }
  }

  const work = inBackground({
    firstMs: idleMs,
    failedMs,
    failed,
    async run() {
      for (const [{ user_name, id }, { over }] of running) {
        if (!(await db.write('holdWaiting', { user_name, id, holder, until: leaseEnd() }))) over.abort()
      }
      while (await take());
      return idleMs
    },
  })

  return {
    async stop() {
      await work.stop()
      for (const { over } of running.values()) over.abort()
      await Promise.all([...running.values()].map(({ done }) => done))
    },
  }
}

const late = 'It waited for a day, and the model had no room for it.'
const revoked = 'The key with which it was sent is no longer valid.'
const errorOf = (code: string, message: string) => JSON.stringify({ code, message })

/** Null if it is answered: a process that was killed may have stored the answer and no more. */
function errorIn(text: string): string | null {
  const { error } = JSON.parse(text) as { error: { code: string | null; message: string } }
  if (error.code === 'response_exists') return null
  return errorOf(error.code ?? 'server_error', error.message)
}
