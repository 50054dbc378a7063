import { compactJson } from '../../../packages/json/index.ts'
import { idOf } from '../../domain/ids.ts'
import type { Refusal } from '../../domain/refusals.ts'
import { anthropicError, openAiError } from '../../http/errors.ts'
import { type Batch, isOfMessages } from '../../storage/batches/batches.ts'
import type { BatchLine } from '../../storage/batches/lines.ts'

export type Ending = 'completed' | 'expired' | 'cancelled'

/** What one request was answered. */
interface Answered {
  status: number
  /** JSON. */
  body: string
  /** The id of the request with which it was asked; null if it was not. */
  request: string | null
  /** Paths of fields that had no effect. */
  ignored: readonly string[]
}

type Named = Pick<BatchLine, 'line' | 'custom_id'>

/** How a batch tells what became of a request. */
interface LineForm {
  answered(batch: Batch, line: Named, answered: Answered): string
  unanswered(batch: Batch, line: Named, ending: Ending): string
  /** The body of an answer that refuses. */
  refused(refusal: Refusal, request: string): object
}

export const formOf = (batch: Batch): LineForm => (isOfMessages(batch) ? messageForm : openAiForm)

export const requestIdOf = (batch: Pick<Batch, 'id'>, line: number): string =>
  `batch_req_${idOf(`${batch.id} ${line}`).replaceAll('-', '')}`

/** An answer may have line breaks between its tokens. */
const inOneLine = (body: string) => (body.includes('\n') ? compactJson(body) : body)

const namedFields = (ignored: readonly string[]) =>
  ignored.length === 0 ? '' : `,"ignored_fields":${JSON.stringify(ignored)}`

const unanswered: Record<Ending, { code: string; message: string }> = {
  completed: { code: 'batch_failed', message: 'This request was not asked.' },
  expired: {
    code: 'batch_expired',
    message: 'This request could not be executed before the completion window expired.',
  },
  cancelled: { code: 'batch_cancelled', message: 'This request was not executed: the batch was cancelled.' },
}

/** A line of the file of answers or of the file of errors. */
const openAiForm: LineForm = {
  answered(batch, { line, custom_id }, { status, body, request, ignored }) {
    const [id, custom, asked] = [requestIdOf(batch, line), custom_id, request].map((value) =>
      JSON.stringify(value),
    )
    const response = `{"status_code":${status},"request_id":${asked},"body":${inOneLine(body)}${namedFields(ignored)}}`
    return `{"id":${id},"custom_id":${custom},"response":${response},"error":null}`
  },
  unanswered: (batch, { line, custom_id }, ending) =>
    JSON.stringify({
      id: requestIdOf(batch, line),
      custom_id,
      response: null,
      error: unanswered[ending],
    }),
  refused: openAiError,
}

/** A line of the results of Anthropic's batches. */
const messageForm: LineForm = {
  answered(_batch, { custom_id }, { status, body, ignored }) {
    const answer = status < 400 ? '"type":"succeeded","message"' : '"type":"errored","error"'
    const inParams = ignored.map((name) => name.replace(/^body\./, 'params.'))
    return resultLine(custom_id, `{${answer}:${inOneLine(body)}${namedFields(inParams)}}`)
  },
  unanswered(batch, { line, custom_id }, ending) {
    if (ending !== 'completed')
      return resultLine(custom_id, `{"type":"${ending === 'expired' ? 'expired' : 'canceled'}"}`)
    const error = { type: 'api_error', message: unanswered.completed.message }
    const refused = { type: 'error', error, request_id: requestIdOf(batch, line) }
    return resultLine(custom_id, JSON.stringify({ type: 'errored', error: refused }))
  },
  refused: (refusal, id) => anthropicError(refusal, { id }),
}

const resultLine = (custom_id: string, result: string) =>
  `{"custom_id":${JSON.stringify(custom_id)},"result":${result}}`
