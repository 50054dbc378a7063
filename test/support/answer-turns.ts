import assert from 'node:assert/strict'
import type { ChatChunk } from '../../src/operations/chat/answer-contract.ts'
import type { Answer, TestApp } from './app.ts'
import { asking, chatUrl, eventsOf } from './chat.ts'

export interface AnswerToolCall {
  id: string
  type: string
  function: { name: string; arguments: string }
}

/** A choice of an answer, whole or assembled from its chunks. */
export interface AnswerTurn {
  role: string
  /** Empty if the message has none. */
  content: string
  reasoning: string
  calls: AnswerToolCall[]
  /** OpenAI's original form of a call. */
  call?: AnswerToolCall['function']
  finish: string
  stop: unknown
  logprobs: unknown[] | null
  tokens: number[] | undefined
}

// biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
type Answered = any

export function turnOf({ message, finish_reason, stop_reason, logprobs, token_ids }: Answered): AnswerTurn {
  const { role, content, reasoning = '', reasoning_content = '', tool_calls = [], function_call } = message
  assert.equal(reasoning_content, reasoning)
  assert.equal(content, content || (reasoning || tool_calls.length > 0 || function_call ? null : ''))
  return {
    role,
    content: content ?? '',
    reasoning,
    calls: tool_calls,
    ...(function_call && { call: function_call }),
    finish: finish_reason,
    stop: stop_reason,
    logprobs: logprobs?.content ?? null,
    tokens: token_ids,
  }
}

/** Assembles the chunks like the strictest clients: id and name come once, then arguments; the role is first, the end last. */
export function turnOfChunks(chunks: readonly ChatChunk[], index: number): AnswerTurn {
  const mine = chunks.flatMap(({ choices }) => choices).filter((choice) => choice.index === index)
  const turn: AnswerTurn = {
    role: '',
    content: '',
    reasoning: '',
    calls: [],
    finish: '',
    stop: undefined,
    logprobs: null,
    tokens: undefined,
  }
  for (const [place, { delta, finish_reason, stop_reason, logprobs, token_ids }] of mine.entries()) {
    assert.equal('role' in delta, place === 0, 'who speaks is said first and once')
    assert.equal(finish_reason !== null, place === mine.length - 1, 'the last chunk says why it ended')
    turn.role ||= delta.role ?? ''
    turn.content += delta.content ?? ''
    turn.reasoning += delta.reasoning ?? ''
    assert.equal(delta.reasoning_content, delta.reasoning)
    for (const call of delta.tool_calls ?? []) addCall(turn.calls, call)
    if (delta.function_call) turn.call = addFunction(turn.call, delta.function_call)
    if (logprobs) turn.logprobs = [...(turn.logprobs ?? []), ...logprobs.content]
    if (token_ids) turn.tokens = [...(turn.tokens ?? []), ...token_ids]
    if (finish_reason === null) continue
    turn.finish = finish_reason
    turn.stop = stop_reason
  }
  return turn
}

type ChatDelta = ChatChunk['choices'][number]['delta']
type CallDelta = NonNullable<ChatDelta['tool_calls']>[number]

function addCall(
  calls: AnswerToolCall[],
  { index, id, type, function: { name, arguments: more } }: CallDelta,
) {
  const known = calls[index]
  if (known === undefined) {
    assert.equal(index, calls.length, 'calls are counted from 0')
    assert.ok(id && type && name && more !== undefined, 'a call begins with its id, type and name')
    calls.push({ id, type, function: { name, arguments: more } })
    return
  }
  assert.deepEqual([id, type, name], [undefined, undefined, undefined], 'they come once')
  assert.ok(more)
  known.function.arguments += more
}

function addFunction(
  known: AnswerToolCall['function'] | undefined,
  { name, arguments: more = '' }: NonNullable<ChatDelta['function_call']>,
): AnswerToolCall['function'] {
  assert.equal(name === undefined, known !== undefined, 'the name comes once')
  return { name: known?.name ?? (name as string), arguments: (known?.arguments ?? '') + more }
}

export interface BothAnswers {
  turns: AnswerTurn[]
  usage: Answered
  whole: Answer
  chunks: ChatChunk[]
}

/** Asks for a whole answer and for a stream; apart from the ids of calls both must be the same. */
export async function askWholeAndStreamed(
  { post }: Pick<TestApp, 'post'>,
  fields: Record<string, unknown>,
): Promise<BothAnswers> {
  const whole = await post(chatUrl, asking(fields))
  assert.equal(whole.status, 200, whole.text)
  const streamed = await post(
    chatUrl,
    asking({ ...fields, stream: true, stream_options: { include_usage: true } }),
  )
  assert.equal(streamed.status, 200, streamed.text)
  const { chunks, error } = eventsOf(streamed.text)
  assert.equal(error, undefined)
  const turns: AnswerTurn[] = whole.json.choices.map(turnOf)
  for (const [index, turn] of turns.entries()) {
    const asStream = turnOfChunks(chunks, index)
    const ids = [...turn.calls, ...asStream.calls].map(({ id }) => id)
    assert.equal(new Set(ids).size, ids.length, 'each call has an id of its own')
    assert.deepEqual(withoutIds(asStream), withoutIds(turn))
  }
  const usage = chunks.at(-1)?.usage
  assert.deepEqual(usage, whole.json.usage)
  assert.deepEqual(streamed.headers['x-heddle-widened'], whole.headers['x-heddle-widened'])
  return { turns, usage, whole, chunks }
}

const withoutIds = (turn: AnswerTurn) => ({ ...turn, calls: turn.calls.map(({ id: _, ...call }) => call) })
