import type { FastifyRequest } from 'fastify'
import { membersOf } from '../../../../packages/json/index.ts'
import { writeJson } from '../../../domain/json/text.ts'
import { refuse, wrong } from '../../../domain/refusals.ts'
import { now } from '../../../domain/time.ts'
import { type NewWaitingResponse, requireStorable } from '../../../storage/answers/waiting-responses.ts'
import { databaseOf } from '../../../storage/database.ts'
import { headerText } from '../../background-asking.ts'
import {
  headersOfTurn,
  parentHeader,
  projectHeader,
  recordingTarget,
  threadHeader,
  threadOf,
  traceHeader,
} from '../../recording/target-headers.ts'
import { checkedResponse, type ResponseParts } from '../answering.ts'
import type { ResponsesBody } from '../contract.ts'
import { responsePrefix } from '../items.ts'
import { headOf } from '../response.ts'

type Queued = FastifyRequest & { body: ResponsesBody }

/** Checks what can be checked without the model, and keeps the request until the model has room for it. */
export async function queueResponse(
  services: ResponseParts,
  request: Queued,
  signal: AbortSignal,
): Promise<NewWaitingResponse> {
  const { body, caller, keyHash } = request
  if (keyHash === undefined) throw refuse('batch_needs_key')
  checkTogether(body)
  const target = recordingTarget(caller, request.headers)
  const recording = await services.recorder.open(
    {
      caller,
      target,
      kind: 'response',
      isAskedForBySilence: true,
      needing: { field: 'background', received: 'true' },
      isStream: false,
      inputs: request.keptBody,
    },
    signal,
  )
  // Only asked: the answer will have a recording of its own.
  recording?.end()
  await recording?.proof
  const db = databaseOf(caller.name, services.db)
  const { id, found, input } = await checkedResponse(services, body, { caller, signal })
  await requireStorable(db, [target.project, ...(input.continued ? [input.continued.project] : [])])
  const time = now()
  const head = headOf(body, {
    id,
    created: Math.floor(time / 1_000_000),
    model: found.served.names[0] as string,
    toolChoice: services.settings.toolChoice,
    isStored: true,
  })
  const isBelow = target.isTraced !== true
  const headers = {
    ...headersOfTurn(request),
    [projectHeader]: target.project,
    [threadHeader]: target.thread ?? threadOf(request.headers, body),
    [parentHeader]: isBelow ? target.parent : null,
    [traceHeader]: isBelow ? target.trace : null,
  }
  const texts = {
    head: writeJson(head),
    headers: writeJson(headersIn(headers)),
    prompt: request.namedPrompt === undefined ? null : writeJson(request.namedPrompt),
    body: bodyOf(request.keptBody.json().text, id),
  }
  const response: NewWaitingResponse = {
    ...{ user_name: caller.name, id, project_id: target.project, key_hash: keyHash, ...texts },
    bytes: Object.values(texts).reduce((sum, text) => sum + (text?.length ?? 0), 0),
    ...{ status: 'queued', error: null, created_at: time, ended_at: null, expire_at: null },
    ...{ held_by: null, held_until: 0 },
  }
  await db.write('addWaiting', response)
  return response
}

function checkTogether({ store, cache_salt }: ResponsesBody): void {
  if (store === false)
    throw wrong('background', 'true together with "store": false', 'false, or an answer that is stored')
  // It is a secret, and what waits is on the disk.
  if (cache_salt != null) throw wrong('cache_salt', 'given together with "background": true', 'null')
}

const headersIn = (headers: Record<string, string | null>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, text]) => (text === null ? [] : [[name, headerText(text)]])),
  )

/** The request as it is asked later: whole, and under the id that was answered. */
function bodyOf(text: string, id: string): string {
  const members = membersOf(text)
  for (const name of ['stream', 'stream_options']) members.delete(name)
  members.set('request_id', JSON.stringify(id.slice(responsePrefix.length)))
  return `{${[...members].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`
}
