import { setTimeout as sleep } from 'node:timers/promises'
import type { Caller } from '../../../domain/callers.ts'
import { refuse } from '../../../domain/refusals.ts'
import { now } from '../../../domain/time.ts'
import type { WaitingResponse } from '../../../storage/answers/waiting-responses.ts'
import { databaseOf } from '../../../storage/database.ts'
import { numbering, type ResponseEvent } from '../events.ts'
import type { Item } from '../items.ts'
import { replayOf } from '../replay.ts'
import { type ReadableResponse, responsesOf, type StoreParts } from '../store.ts'
import { inputOf } from '../stored-items.ts'

const dayInMicroseconds = 86_400_000_000
/** Of a failure, where answers are kept as long as the record keeps their calls: it has none. */
const usualDays = 30
const lookMs = 250

/** Until when one is shown that failed or was cancelled. */
export const endedUntil = (responseDays: number): number =>
  now() + (responseDays > 0 ? responseDays : usualDays) * dayInMicroseconds

export function shownWaiting({ head, status, error }: WaitingResponse) {
  return {
    ...JSON.parse(head),
    status,
    error: error === null ? null : JSON.parse(error),
    completed_at: null,
    incomplete_details: null,
    usage: null,
    output: [],
  }
}

/** What it is to be answered to. */
export async function waitingInput(
  { sealing }: Pick<StoreParts, 'sealing'>,
  { name }: Caller,
  { id, project_id, body, referred }: WaitingResponse,
): Promise<Item[]> {
  const { unseal } = await sealing.open(name)
  const content = { id, project_id, previous_id: null, expires: true, asked: body, referred, answer: null }
  const input = await inputOf(content, async (sealed) => unseal(sealed))
  if (input === undefined) throw refuse('response_not_found', { id })
  return input.items
}

/** One that is cancelled already is shown as it is. */
export async function cancelWaitingResponse(services: StoreParts, caller: Caller, id: string) {
  const store = responsesOf(caller, services)
  const waiting = await store.waiting(id)
  if (waiting === undefined || waiting.status === 'failed') {
    const isThere = waiting !== undefined || (await store.has(id))
    throw refuse(isThere ? 'response_not_in_background' : 'response_not_found', { id })
  }
  const expire_at = endedUntil(services.responseDays)
  await databaseOf(caller.name, services.db).write('cancelWaiting', {
    user_name: caller.name,
    id,
    now: now(),
    expire_at,
  })
  const ended = await store.waiting(id)
  // It was answered or deleted meanwhile.
  if (ended?.status !== 'cancelled') throw refuse('response_not_in_background', { id })
  return shownWaiting(ended)
}

/** What becomes of a response: its answer, or undefined if it was deleted. */
type Found = ReadableResponse | WaitingResponse | undefined

const isWaiting = (found: Found): found is WaitingResponse => found !== undefined && 'head' in found

/**
 * The events of a response that is answered while nobody waits: those of its answer, once there is one. Their numbers are
 * the same however often they are read.
 */
export async function* waitingEvents(
  first: WaitingResponse,
  find: () => Promise<Found>,
  signal: AbortSignal,
): AsyncGenerator<ResponseEvent> {
  const number = numbering()
  const begun = shownWaiting({ ...first, status: 'queued', error: null })
  yield number({ type: 'response.created', response: begun })
  yield number({ type: 'response.in_progress', response: { ...begun, status: 'in_progress' } })
  let found: Found = first
  while (isWaiting(found) && found.ended_at === null) {
    await sleep(lookMs, undefined, { signal })
    found = await find()
  }
  if (found === undefined) return
  if (isWaiting(found)) yield number({ type: 'response.failed', response: shownWaiting(found) })
  else for (const event of replayOf(found)) if (event.sequence_number > 1) yield event
}
