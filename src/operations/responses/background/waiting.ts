import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import type { Caller } from '../../../domain/callers.ts'
import { refuse } from '../../../domain/refusals.ts'
import { now } from '../../../domain/time.ts'
import { disconnectSignal } from '../../../http/disconnect.ts'
import { readWaitingText, type WaitingResponse } from '../../../storage/answers/waiting-responses.ts'
import { databaseOf } from '../../../storage/database.ts'
import { numbering, type ResponseEvent } from '../events.ts'
import { itemsOf } from '../input.ts'
import type { Item } from '../items.ts'
import { InputItem } from '../items-contract.ts'
import { createReferences } from '../references.ts'
import { replayOf } from '../replay.ts'
import { responsesOf, type StoreParts } from '../store.ts'

const dayInMicroseconds = 86_400_000_000
/** Of a failure, where answers are kept as long as the record keeps their calls: it has none. */
const usualDays = 30
const lookMs = 250

/** Until when one is shown that failed or was cancelled. */
export const endedUntil = (responseDays: number): number =>
  now() + (responseDays > 0 ? responseDays : usualDays) * dayInMicroseconds

/** What the routes know of a request for a response that waits. */
export interface WaitingContext {
  services: StoreParts
  caller: Caller
  reply: FastifyReply
}

type Shown = Pick<WaitingResponse, 'status' | 'error'>

const shownAs = (head: string, { status, error }: Shown) => ({
  ...JSON.parse(head),
  status,
  error: error === null ? null : JSON.parse(error),
  completed_at: null,
  incomplete_details: null,
  usage: null,
  output: [],
})

const missing = (id: string) => refuse('response_not_found', { id })

async function textOf({ services, caller, reply }: WaitingContext, id: string, name: 'head' | 'body') {
  const db = databaseOf(caller.name, services.db)
  const text = await readWaitingText(db, { user_name: caller.name, id }, name, disconnectSignal(reply))
  if (text === undefined) throw missing(id)
  return text
}

export async function shownWaiting(context: WaitingContext, response: WaitingResponse) {
  return shownAs(await textOf(context, response.id, 'head'), response)
}

/** What it is to be answered to. One that has ended without an answer keeps no request. */
export async function waitingInput(context: WaitingContext, { id }: WaitingResponse): Promise<Item[]> {
  const { services, caller, reply } = context
  const { input } = JSON.parse(await textOf(context, id, 'body')) as { input: unknown }
  const store = responsesOf(caller, services)
  return itemsOf(typeof input === 'string' ? input : InputItem.array().parse(input), {
    response: id,
    unseal: store.unseal,
    // What was accepted once is shown.
    checkPicture: (url) => url,
    item: createReferences(store, disconnectSignal(reply)).find,
  })
}

/** One that is cancelled already is shown as it is. */
export async function cancelWaitingResponse(context: WaitingContext, id: string) {
  const { services, caller } = context
  const store = responsesOf(caller, services)
  const waiting = await store.waiting(id)
  if (waiting === undefined || waiting.status === 'failed') {
    const isThere = waiting !== undefined || (await store.has(id))
    throw isThere ? refuse('response_not_in_background', { id }) : missing(id)
  }
  const expire_at = endedUntil(services.responseDays)
  await databaseOf(caller.name, services.db).write('cancelWaiting', {
    ...{ user_name: caller.name, id },
    ...{ now: now(), expire_at },
  })
  const ended = await store.waiting(id)
  // It was answered or deleted meanwhile.
  if (ended?.status !== 'cancelled') throw refuse('response_not_in_background', { id })
  return shownWaiting(context, ended)
}

/**
 * The events of a response that is answered while nobody waits: those of its answer, once there is one. Their numbers are
 * the same however often they are read.
 */
export async function* waitingEvents(
  context: WaitingContext,
  first: WaitingResponse,
): AsyncGenerator<ResponseEvent> {
  const { services, caller, reply } = context
  const { id } = first
  const signal = disconnectSignal(reply)
  const store = responsesOf(caller, services)
  const head = await textOf(context, id, 'head')
  const event = (type: string, shown: Shown) => ({ type, response: shownAs(head, shown) })
  const number = numbering()
  const queued = { status: 'queued', error: null } as const
  yield number(event('response.created', queued))
  yield number(event('response.queued', queued))
  let waiting: WaitingResponse | undefined = first
  let next = 2
  while (waiting !== undefined && waiting.ended_at === null) {
    if (waiting.status === 'in_progress' && next === 2) {
      yield number(event('response.in_progress', waiting))
      next = 3
    }
    await sleep(lookMs, undefined, { signal })
    // Whoever reads on can go on elsewhere, or later.
    if (reply.server.waits.isStopping) throw refuse('stopping')
    waiting = await store.waiting(id)
  }
  if (waiting !== undefined) yield number(event('response.failed', waiting))
  else {
    const answered = await store.find(id, signal)
    // It was deleted.
    if (answered === undefined) throw missing(id)
    for (const replayed of replayOf(answered)) if (replayed.sequence_number >= next) yield replayed
  }
}
