import type { Part } from '../../../packages/chat-format/index.ts'
import { clockNow } from '../../domain/clock.ts'
import { type JsonText, writeJson } from '../../domain/json/text.ts'
import { ollamaError } from '../../http/errors.ts'
import type { EventForm } from '../../http/streams/sse.ts'
import type { Delta } from '../generation/deltas.ts'
import type { Generation } from '../generation/generation.ts'
import { checkCandidates, logprobShown } from '../generation/logprobs.ts'
import { createTally } from '../generation/usage.ts'
import { inputOf } from '../messages/answer.ts'
import type { Named } from './turns.ts'

/** One JSON object per line. White space before an object means nothing, so it keeps a silent connection open. */
export const ollamaLines: EventForm = {
  type: 'application/x-ndjson',
  write: (line) => `${writeJson(line)}\n`,
  keepAlive: ' ',
  failure: (refusal) => `${JSON.stringify(ollamaError(refusal))}\n`,
  end: '',
}

interface Call {
  id: string
  function: { name: string; arguments: JsonText }
}

/** What a line adds to the answer. */
interface Output {
  content: string
  thinking: string
  calls: Call[]
  logprobs: ReturnType<typeof logprobShown>[]
}

/** How a route shows what is output: as a message, or as a response. */
export type LineForm = (output: Output) => object

const messageForm: LineForm = ({ content, thinking, calls }) => ({
  message: {
    role: 'assistant',
    content,
    ...(thinking !== '' && { thinking }),
    ...(calls.length > 0 && { tool_calls: calls }),
  },
})

/** Clients drop a line without a `context`. An empty one stands for no conversation, and is accepted when it comes back. */
const responseForm: LineForm = ({ content, thinking }) => ({
  response: content,
  ...(thinking !== '' && { thinking }),
  context: [],
})

export const lineForms = { message: messageForm, response: responseForm }

type Line = Output & { ended?: object }

const nothing = (): Output => ({ content: '', thinking: '', calls: [], logprobs: [] })
const nanoseconds = (ms: number) => Math.max(0, Math.round(ms * 1_000_000))

type Asked = Pick<Generation, 'prompts' | 'choices' | 'told'> & {
  deltas: AsyncIterable<Delta[]>
  arrived: number
}

/** What each line says. The last one says nothing, and how the answer ended. A call comes whole. */
async function* outputOf(asked: Asked): AsyncGenerator<Line> {
  const { arrived } = asked
  const tally = createTally(asked)
  const open = new Map<number, { id: string; name: string; text: string }>()
  let readAt = arrived
  let reason = 'stop'

  function add(output: Output, turnPart: Part): void {
    if (turnPart.kind === 'content') output.content += turnPart.text
    else if (turnPart.kind === 'reasoning') output.thinking += turnPart.text
    else if (turnPart.kind === 'call') open.set(turnPart.index, { ...turnPart, text: '' })
    else {
      const call = open.get(turnPart.index)
      if (call === undefined) return
      if (turnPart.kind === 'arguments') call.text += turnPart.text
      else {
        output.calls.push({ id: call.id, function: { name: call.name, arguments: inputOf(call.text) } })
      }
    }
  }

  for await (const group of asked.deltas) {
    const output = nothing()
    for (const delta of group) {
      tally.add(delta)
      if (delta.kind === 'prompt') {
        readAt = performance.now()
        continue
      }
      for (const turnPart of delta.turnParts) add(output, turnPart)
      for (const logprob of delta.logprobs) output.logprobs.push(logprobShown(logprob, false))
      if (delta.finished) reason = delta.finished.reason
    }
    const { content, thinking, calls, logprobs } = output
    if (content !== '' || thinking !== '' || calls.length + logprobs.length > 0) yield output
  }
  const { prompt_tokens, completion_tokens } = tally.total()
  const now = performance.now()
  yield {
    ...nothing(),
    ended: {
      done_reason: reason,
      total_duration: nanoseconds(now - arrived),
      load_duration: 0,
      prompt_eval_count: prompt_tokens,
      prompt_eval_duration: nanoseconds(readAt - arrived),
      eval_count: completion_tokens,
      eval_duration: nanoseconds(now - readAt),
    },
  }
}

export function lineOf(askedName: string, form: LineForm, { ended, ...output }: Line) {
  const { logprobs } = output
  return {
    model: askedName,
    created_at: new Date(clockNow()).toISOString(),
    ...form(output),
    done: ended !== undefined,
    ...(logprobs.length > 0 && { logprobs }),
    ...ended,
  }
}

export async function* linesOf(asked: Asked & Named, form: LineForm): AsyncGenerator<object> {
  for await (const line of outputOf(asked)) yield lineOf(asked.askedName, form, line)
}

/** The whole answer in one object. */
export async function wholeLine(asked: Asked & Named, form: LineForm): Promise<object> {
  const whole = nothing()
  let ended = {}
  let candidates = 0
  for await (const line of outputOf(asked)) {
    whole.content += line.content
    whole.thinking += line.thinking
    for (const call of line.calls) whole.calls.push(call)
    for (const logprob of line.logprobs) {
      whole.logprobs.push(logprob)
      candidates += 1 + logprob.top_logprobs.length
    }
    checkCandidates('top_logprobs', candidates)
    ended = { ...ended, ...line.ended }
  }
  return lineOf(asked.askedName, form, { ...whole, ended })
}
