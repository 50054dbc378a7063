import type { FastifyInstance } from 'fastify'
import { membersOf } from '../../../packages/json/index.ts'
import { maxUnknown } from '../../domain/json/read.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'
import { ignoredHeader, maxName } from '../../http/answer-headers/ignored-fields.ts'
import type { Batch } from '../../storage/batches/batches.ts'
import type { BatchLine } from '../../storage/batches/lines.ts'
import { askInBackground, type FindCaller, headerText } from '../background-asking.ts'
import { projectHeader } from '../recording/target-headers.ts'
import { formOf, requestIdOf } from './result-lines.ts'

interface LineAnswer {
  status: number
  /** A line of the output. */
  answer: string
  model: string | null
  tokens: ReturnType<typeof tokensIn>
}

interface Asking {
  app: FastifyInstance
  findCaller: FindCaller
  batch: Batch
  line: BatchLine
  /** The line of the input. */
  text: string
  signal: AbortSignal
}

/** Asks one line. What has no room now is asked again later. */
export async function askLine(asking: Asking): Promise<LineAnswer | { waitMs: number }> {
  const { batch, line, text, signal } = asking
  const answer = await askInBackground(
    { ...asking, user: batch.user_name, keyHash: batch.key_hash },
    { signal, batched: { batch: batch.id, custom_id: line.custom_id } },
    {
      method: 'POST',
      url: batch.endpoint,
      body: membersOf(text).get('body') ?? '{}',
      headers: { [projectHeader]: headerText(batch.project_id) },
    },
  )
  const refused = (refusal: Refusal, request = requestIdOf(batch, line.line)) =>
    JSON.stringify(formOf(batch).refused(refusal, request))
  if (answer === undefined) return lineAnswer(asking, 401, refused(refuse('wrong_credentials')), null)
  if ('waitMs' in answer) return answer
  const { status, text: answered, header } = answer
  const request = header('x-request-id') ?? null
  const isJson = header('content-type')?.startsWith('application/json')
  const ignored = ignoredIn(text, header(ignoredHeader))
  if (isJson) return lineAnswer(asking, status, answered, request, ignored)
  // A line whose answer cannot be a line of the output has to end, too.
  const notJson = refuse('internal_error', { request: request ?? 'of the line' })
  return lineAnswer(asking, 500, refused(notJson, request ?? undefined), request)
}

/** Nobody sees the header of an answer in a file. Names are of the line, and bounded as they are in the header. */
function ignoredIn(text: string, ofBody = ''): string[] {
  const ofLine = [...membersOf(text).keys()].filter((name) => !membersOfLine.has(name))
  const names = ofLine.slice(0, maxUnknown).map((name) => name.slice(0, maxName))
  // Names in the header have no spaces; its end may say how many more there are.
  const inBody = (name: string) => (name.includes(' ') ? name : `body.${name}`)
  return [...names, ...(ofBody === '' ? [] : ofBody.split(', ').map(inBody))]
}

const membersOfLine = new Set(['custom_id', 'method', 'url', 'body'])

function lineAnswer(
  { batch, line }: Asking,
  status: number,
  body: string,
  request: string | null,
  ignored: readonly string[] = [],
): LineAnswer {
  const members = status < 400 ? membersOf(body) : new Map<string, string>()
  return {
    status,
    answer: formOf(batch).answered(batch, line, { status, body, request, ignored }),
    model: JSON.parse(members.get('model') ?? 'null'),
    tokens: tokensIn(JSON.parse(members.get('usage') ?? '{}') ?? {}),
  }
}

interface Usage {
  prompt_tokens?: number
  input_tokens?: number
  completion_tokens?: number
  output_tokens?: number
  /** Of messages, whose tokens of the input are those that were not. */
  cache_read_input_tokens?: number
  prompt_tokens_details?: { cached_tokens?: number } | null
  input_tokens_details?: { cached_tokens?: number } | null
  completion_tokens_details?: { reasoning_tokens?: number } | null
  output_tokens_details?: { reasoning_tokens?: number; thinking_tokens?: number } | null
}

/** Each endpoint has names of its own. */
function tokensIn(usage: Usage) {
  const cached = usage.prompt_tokens_details ?? usage.input_tokens_details
  const { reasoning_tokens } = usage.completion_tokens_details ?? usage.output_tokens_details ?? {}
  const besides = usage.cache_read_input_tokens ?? 0
  return {
    input_tokens: usage.prompt_tokens ?? (usage.input_tokens ?? 0) + besides,
    cached_tokens: cached?.cached_tokens ?? besides,
    output_tokens: usage.completion_tokens ?? usage.output_tokens ?? 0,
    reasoning_tokens: reasoning_tokens ?? usage.output_tokens_details?.thinking_tokens ?? 0,
  }
}
