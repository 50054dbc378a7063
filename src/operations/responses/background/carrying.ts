import type { FastifyInstance } from 'fastify'
import { membersOf } from '../../../../packages/json/index.ts'
import { newId } from '../../../domain/ids.ts'
import { JsonText } from '../../../domain/json/text.ts'
import { now } from '../../../domain/time.ts'
import {
  hasDueResponse,
  heldWaiting,
  type NewWaitingResponse,
} from '../../../storage/answers/waiting-responses.ts'
import { type BackgroundWork, inBackground } from '../../background.ts'
import { askInBackground, type FindCaller } from '../../background-asking.ts'
import type { OperationParts } from '../../parts.ts'

const idleMs = 500
const failedMs = 5_000
/** One that is not held again for this long is taken by another process. */
const leaseMs = 10_000
const renewalMs = 3_000
const maxTakenAtOnce = 8
const maxWaitingMs = 86_400_000

const inMicroseconds = (ms: number) => ms * 1_000

interface BackgroundSettings {
  /** How many are answered at once. */
  parallel: number
  findCaller: FindCaller
}

const keyOf = ({ user_name, id }: { user_name: string; id: string }) => JSON.stringify([user_name, id])

/** Answers the responses that wait, each in one process at a time. One that is cancelled or deleted is ended. */
export function startWaitingResponses(
  app: FastifyInstance,
  { db, models, responseDays }: OperationParts,
  { parallel, findCaller }: BackgroundSettings,
  failed: (error: unknown) => void,
): BackgroundWork[] {
  // Another server may have models.
  if (models.all.length === 0) return []
  const holder = newId()
  const running = new Map<string, { over: AbortController; done: Promise<void> }>()
  let renewed = performance.now()

  const leaseEnd = () => now() + inMicroseconds(leaseMs)

  async function take(): Promise<boolean> {
    if (running.size >= parallel || !(await hasDueResponse(db, now()))) return false
    const taken = await db.write('takeWaiting', { holder, now: now(), until: leaseEnd() })
    if (taken === undefined) return false
    const over = new AbortController()
    const done = answered(taken, over.signal)
      .catch(failed)
      .finally(() => running.delete(keyOf(taken)))
    running.set(keyOf(taken), { over, done })
    return true
  }

  /** The answer is stored by the request itself, and then waits no more. */
  async function answered(response: NewWaitingResponse, signal: AbortSignal): Promise<void> {
    const { user_name, id, key_hash: keyHash, body, headers, prompt, created_at } = response
    const held = { user_name, id, holder }
    const fail = async (error: string) => {
      const { endedUntil } = await import('./waiting.ts')
      await db.write('failWaiting', { ...held, error, now: now(), expire_at: endedUntil(responseDays) })
    }
    if (now() > created_at + inMicroseconds(maxWaitingMs)) return fail(errorOf('expired', late))
    let until = 0
    try {
      const created = Math.floor(created_at / 1_000_000)
      const inside = {
        signal,
        waiting: { holder, created },
        ...(prompt && { namedPrompt: promptOf(prompt) }),
      }
      const answer = await askInBackground({ app, findCaller, user: user_name, keyHash }, inside, {
        method: 'POST',
        url: '/v1/responses',
        body: body ?? '{}',
        headers: JSON.parse(headers),
      })
      if (answer === undefined) await fail(errorOf('wrong_credentials', revoked))
      else if ('waitMs' in answer) until = now() + inMicroseconds(answer.waitMs)
      else if (answer.status >= 400) await fail(errorIn(answer.text))
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      // Has no effect on one that has ended.
      await db.write('releaseWaiting', { ...held, until })
    }
  }

  /** Ends what this process holds no more. */
  async function look(): Promise<void> {
    if (running.size === 0) return
    if (performance.now() - renewed >= renewalMs) {
      await db.write('holdWaiting', { holder, until: leaseEnd() })
      renewed = performance.now()
    }
    const before = [...running]
    const held = new Set((await heldWaiting(db, holder)).map(keyOf))
    for (const [key, { over }] of before) if (!held.has(key)) over.abort()
  }

  const work = inBackground({
    firstMs: idleMs,
    failedMs,
    failed,
    async run() {
      await look()
      for (let count = 0; count < maxTakenAtOnce; count++) if (!(await take())) break
      return idleMs
    },
  })

  async function stop(): Promise<void> {
    await work.stop()
    for (const { over } of running.values()) over.abort()
    await Promise.all([...running.values()].map(({ done }) => done))
  }
  return [{ stop }]
}

function promptOf(text: string) {
  const { variables = '{}', ...named } = Object.fromEntries(membersOf(text))
  const { id, version, label } = Object.fromEntries(
    Object.entries(named).map(([name, value]) => [name, JSON.parse(value) as string]),
  ) as { id: string; version: string; label: string }
  return { id, version, label, variables: new JsonText(variables) }
}

const late = 'It waited for a day, and the model had no room for it.'
const revoked = 'The key with which it was sent is no longer valid.'
const errorOf = (code: string, message: string) => JSON.stringify({ code, message })

function errorIn(text: string): string {
  const { error } = JSON.parse(text) as { error: { code: string | null; message: string } }
  return errorOf(error.code ?? 'server_error', error.message)
}
