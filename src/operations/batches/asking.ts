import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { compactJson, membersOf } from '../../../packages/json/index.ts'
import type { Caller } from '../../domain/callers.ts'
import { idOf } from '../../domain/ids.ts'
import { refuse } from '../../domain/refusals.ts'
import { openAiError } from '../../http/errors.ts'
import { askInside } from '../../http/inside.ts'
import type { Batch } from '../../storage/batches/batches.ts'
import type { BatchLine } from '../../storage/batches/lines.ts'
import { projectHeader } from '../recording/target-headers.ts'

/** Finds whom a key belongs to now; undefined if it was revoked. */
export type FindCaller = (keyHash: string) => Promise<Caller | undefined>

interface LineAnswer {
  status: number
  /** A line of the output. */
  answer: string
  model: string | null
  tokens: ReturnType<typeof tokensIn>
}

/** Before something is asked again that failed through a fault of a server. */
const pausesMs = [1_000, 5_000]
/** Nothing is asked meanwhile, if there is no room or no money left. */
const fullMs = 2_000
const poorMs = 60_000
const maxWaitMs = 60_000

interface Asking {
  app: FastifyInstance
  findCaller: FindCaller
  batch: Batch
  line: BatchLine
  /** The line of the input. */
  text: string
  signal: AbortSignal
}

/**
 * Asks one line as its user would with the same key: all rights, limits and budgets are those of now. What has no room
 * now is asked again later.
 */
export async function askLine(asking: Asking): Promise<LineAnswer | { waitMs: number }> {
  const { app, findCaller, batch, line, text, signal } = asking
  const body = membersOf(text).get('body') ?? '{}'
  for (let tries = 0; ; tries++) {
    const caller = await findCaller(batch.key_hash)
    if (caller === undefined || caller.name !== batch.user_name) {
      return lineAnswer(asking, 401, JSON.stringify(openAiError(refuse('wrong_credentials'))), null)
    }
    const inside = {
      caller,
      callerNow: () => findCaller(batch.key_hash),
      signal,
      batched: { batch: batch.id, custom_id: line.custom_id },
    }
    const headers = { [projectHeader]: Buffer.from(batch.project_id).toString('latin1') }
    const answer = await askInside(app, inside, { method: 'POST', url: batch.endpoint, body, headers })
    signal.throwIfAborted()
    const { status, text: answered, header } = answer
    // A line that breaks what answers it must not be asked for ever.
    const isFault = status === 503 && /"(?:engine_failed|upstream_unavailable)"/.test(answered)
    if (status === 429 || (status === 503 && !isFault))
      return { waitMs: waitOf(answered, header('retry-after')) }
    const pause = status >= 500 ? pausesMs[tries] : undefined
    const request = header('x-request-id') ?? null
    if (pause === undefined) {
      const isJson = header('content-type')?.startsWith('application/json')
      return isJson
        ? lineAnswer(asking, status, answered, request)
        : lineAnswer(asking, 500, notJson(request), request)
    }
    await sleep(pause, undefined, { signal })
  }
}

/** A line whose answer cannot be a line of the output has to end, too. */
const notJson = (request: string | null) =>
  JSON.stringify(openAiError(refuse('internal_error', { request: request ?? 'of the line' })))

function waitOf(answered: string, retryAfter: string | undefined): number {
  if (answered.includes('"budget_exceeded"')) return poorMs
  const seconds = Number(retryAfter ?? 0)
  return Math.min(maxWaitMs, Math.max(seconds * 1_000, fullMs))
}

export const requestIdOf = (batch: Pick<Batch, 'id'>, line: number): string =>
  `batch_req_${idOf(`${batch.id} ${line}`).replaceAll('-', '')}`

function lineAnswer(
  { batch, line }: Asking,
  status: number,
  body: string,
  request: string | null,
): LineAnswer {
  const [id, custom, asked] = [requestIdOf(batch, line.line), line.custom_id, request].map((value) =>
    JSON.stringify(value),
  )
  const inOneLine = body.includes('\n') ? compactJson(body) : body
  const response = `{"status_code":${status},"request_id":${asked},"body":${inOneLine}}`
  const members = status < 400 ? membersOf(body) : new Map<string, string>()
  return {
    status,
    answer: `{"id":${id},"custom_id":${custom},"response":${response},"error":null}`,
    model: JSON.parse(members.get('model') ?? 'null'),
    tokens: tokensIn(JSON.parse(members.get('usage') ?? '{}') ?? {}),
  }
}

interface Usage {
  prompt_tokens?: number
  input_tokens?: number
  completion_tokens?: number
  output_tokens?: number
  prompt_tokens_details?: { cached_tokens?: number } | null
  input_tokens_details?: { cached_tokens?: number } | null
  completion_tokens_details?: { reasoning_tokens?: number } | null
  output_tokens_details?: { reasoning_tokens?: number } | null
}

/** Each endpoint has names of its own. */
function tokensIn(usage: Usage) {
  const cached = usage.prompt_tokens_details ?? usage.input_tokens_details
  const thought = usage.completion_tokens_details ?? usage.output_tokens_details
  return {
    input_tokens: usage.prompt_tokens ?? usage.input_tokens ?? 0,
    cached_tokens: cached?.cached_tokens ?? 0,
    output_tokens: usage.completion_tokens ?? usage.output_tokens ?? 0,
    reasoning_tokens: thought?.reasoning_tokens ?? 0,
  }
}
