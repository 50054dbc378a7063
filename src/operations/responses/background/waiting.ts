import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import type { Caller } from '../../../domain/callers.ts'
import { refuse } from '../../../domain/refusals.ts'
import { now } from '../../../domain/time.ts'
import { disconnectSignal } from '../../../http/disconnect.ts'
import {
  type NewWaitingResponse,
  readWaitingText,
  type WaitingResponse,
} from '../../../storage/answers/waiting-responses.ts'
import { databaseOf } from '../../../storage/database.ts'
import { boundTo } from '../../../storage/transaction.ts'
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

/** With the answer as long as it has no output. */
type ShownResponse = Pick<NewWaitingResponse, 'head' | keyof WaitingResponse>

export const shownWaiting = ({ head, status, error }: Pick<ShownResponse, 'head' | 'status' | 'error'>) => ({
  ...JSON.parse(head),
  status,
  error: error === null ? null : JSON.parse(error),
  completed_at: null,
  incomplete_details: null,
  usage: null,
  output: [],
})

const missing = (id: string) => refuse('response_not_found', { id })

function textOf({ services, caller, reply }: WaitingContext, id: string, name: 'head' | 'body') {
  const db = databaseOf(caller.name, services.db)
  return readWaitingText(boundTo(db, disconnectSignal(reply)), { user_name: caller.name, id }, name)
}

/** Undefined if it does not wait: it may be answered since a moment ago. */
export async function findWaiting(context: WaitingContext, id: string): Promise<ShownResponse | undefined> {
  const response = await responsesOf(context.caller, context.services).waiting(id)
  const head = response && (await textOf(context, id, 'head'))
  return response && head !== undefined ? { ...response, head } : undefined
}

/** What it is to be answered to. Undefined for one that has ended: without an answer it keeps no request. */
export async function waitingInput(context: WaitingContext, id: string): Promise<Item[] | undefined> {
  const { services, caller, reply } = context
  const store = responsesOf(caller, services)
  const body = (await store.waiting(id)) && (await textOf(context, id, 'body'))
  if (body === undefined) return undefined
  const { input } = JSON.parse(body) as { input: unknown }
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
  const ended = await findWaiting(context, id)
  // It was answered or deleted meanwhile.
  if (ended?.status !== 'cancelled') throw refuse('response_not_in_background', { id })
  return shownWaiting(ended)
}

/**
 * The events of a response that is answered while nobody waits: those of its answer, once there is one. Their numbers are
 * the same however often they are read.
 */
export async function* waitingEvents(
  context: WaitingContext,
  first: ShownResponse,
): AsyncGenerator<ResponseEvent> {
  const { services, caller, reply } = context
  const { id, head } = first
  const signal = disconnectSignal(reply)
  const store = responsesOf(caller, services)
  const event = (type: string, shown: Pick<WaitingResponse, 'status' | 'error'>) => ({
    type,
    response: shownWaiting({ ...shown, head }),
  })
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
