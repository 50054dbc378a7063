import { decisionOp } from '../../domain/decided.ts'
import { traceOf } from '../../domain/ids.ts'
import { type WithSharedTexts, writeJson } from '../../domain/json/text.ts'
import { isSampled } from '../../domain/sampling.ts'
import type { CompletionKind } from '../../storage/answers/completions.ts'
import type { RecordedAnswer } from '../../storage/answers/recorded-answers.ts'
import type { TurnOfAnswer } from '../../storage/answers/turns.ts'
import type { ContinuedTurn } from './agent-requests.ts'
import type { AskedToRecord, EndedAnswer } from './answer.ts'

/** The op of each kind of answer. */
const ops: Record<CompletionKind, string> = {
  chat: 'heddle.chat.completions',
  text: 'heddle.completions',
  response: 'heddle.responses',
  message: 'heddle.messages',
  embedding: 'heddle.embeddings',
  ranking: 'heddle.rerank',
  decision: decisionOp,
}

const wires: Record<CompletionKind, string> = {
  chat: 'openai',
  text: 'openai',
  response: 'openai',
  message: 'anthropic',
  embedding: 'openai',
  ranking: 'openai',
  decision: 'openai',
}

const dayInMicroseconds = 86_400_000_000

/** An answer that has ended, and what was known before it began. */
interface AnswerToWrite {
  callId: string
  asked: AskedToRecord
  result: EndedAnswer
  /** The trace of its parent; null if it is the root of its own. */
  trace: string | null
  /** Microseconds. */
  startedAt: number
  endedAt: number
  /** 0 means for ever. */
  retentionDays: number
}

/** The call of an answer, start and end together. */
export function callOf(answer: AnswerToWrite): WithSharedTexts<RecordedAnswer> {
  const { callId, asked, result, trace, startedAt, endedAt, retentionDays } = answer
  const { caller, target, kind, wire, continued, isStream } = asked
  const { completionId, output, measured } = result
  const inputs = asked.inputs.json()
  const metadata = asked.metadata?.text ?? null
  const attributes = writeJson({
    heddle: {
      completion: completionId,
      wire: wire ?? wires[kind],
      stream: isStream,
      ...(target.agent && { agent: target.agent }),
      ...(continued?.name !== undefined && { turn: continued.name }),
      ...(continued?.subagent !== undefined && { subagent: continued.subagent }),
      ...(asked.metadata && { metadata: asked.metadata }),
      ...(asked.batched && { batch: asked.batched }),
      ...(asked.prompt && { prompt: asked.prompt }),
    },
  })
  const summary = writeJson(summaryOf(result))
  return {
    call: {
      project_id: target.project,
      id: callId,
      display_name: null,
      start: {
        trace_id: trace ?? traceOf(callId),
        parent_id: target.parent,
        thread_id: target.thread,
        // The root of a trace that belongs to a conversation is a turn of it.
        turn_id: target.thread !== null && target.parent === null ? callId : null,
        op_name: ops[kind],
        started_at: startedAt,
        user_id: caller.name,
        expire_at: retentionDays > 0 ? startedAt + retentionDays * dayInMicroseconds : null,
        start_bytes: Buffer.byteLength(attributes) + inputs.bytes,
        attributes,
        inputs: inputs.stored,
      },
      end: {
        ended_at: endedAt,
        exception: result.exception === undefined ? null : plain(result.exception),
        end_bytes: Buffer.byteLength(summary) + output.bytes,
        output: output.stored,
        summary,
      },
    },
    completion: {
      completion_id: completionId,
      kind,
      model: measured.model,
      created_at: startedAt,
      metadata,
    },
    ...(target.agent && target.thread !== null && { isOfAgent: true }),
    ...(continued && target.thread !== null && target.parent === null && { turn: turnOf(asked, continued) }),
    ...(asked.shadow &&
      isSampled(asked.shadow.id, callId, asked.shadow.portion) && {
        shadow: { shadow_id: asked.shadow.id, ...asked.shadow.asked() },
      }),
  }
}

/** The call of a turn that this answer goes on with. */
function turnOf({ target: { agent } }: AskedToRecord, { name }: ContinuedTurn): TurnOfAnswer {
  const heddle = { ...(agent && { agent }), ...(name !== undefined && { turn: name }) }
  const attributes = { ...(agent && { gen_ai: { operation: { name: 'invoke_agent' } } }), heddle }
  return { name: name ?? null, agent: agent?.name ?? null, attributes: JSON.stringify(attributes) }
}

/** Usage is stored under the name of the model, by which its price is found. */
function summaryOf({ measured, leftOut }: EndedAnswer): object {
  const { model, prompt_tokens, completion_tokens, cached_tokens, cost, finish_reasons } = measured
  return {
    usage: {
      [model]: {
        requests: 1,
        prompt_tokens,
        completion_tokens,
        total_tokens: prompt_tokens + completion_tokens,
        ...(cost !== undefined && { total_cost: cost }),
      },
    },
    heddle: {
      ...(measured.first_token_ms !== undefined && { first_token_ms: rounded(measured.first_token_ms) }),
      total_ms: rounded(measured.total_ms),
      finish_reasons,
      cached_tokens,
      ...(leftOut && { left_out: leftOut }),
    },
  }
}

const rounded = (ms: number) => Math.round(ms * 10) / 10

/** Replaces characters that a text column of either database cannot store. */
const plain = (text: string) => text.replaceAll('\0', '\ufffd').toWellFormed()
