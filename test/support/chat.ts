import assert from 'node:assert/strict'
import type { ChatChunk } from '../../src/operations/chat/answer-contract.ts'
import type { Answer } from './app.ts'

export const chatUrl = '/v1/chat/completions'

/** The shortest body that is answered. */
export const asking = (fields: Record<string, unknown> = {}) => ({
  messages: [{ role: 'user', content: 'Hi' }],
  ...fields,
})

export interface Events {
  chunks: ChatChunk[]
  comments: number
  /** The error that took the place of the rest. */
  error: { message: string; type: string; param: string | null; code: string } | undefined
}

/** Reads a stream as strictly as its standard allows: each event is one line, and the last one marks the end. */
export function eventsOf(text: string): Events {
  const events: Events = { chunks: [], comments: 0, error: undefined }
  assert.ok(text.endsWith('data: [DONE]\n\n'), `the stream ends with ${JSON.stringify(text.slice(-60))}`)
  for (const event of text.slice(0, -'data: [DONE]\n\n'.length).split('\n\n').slice(0, -1)) {
    assert.ok(!event.includes('\n'), event)
    if (event.startsWith(':')) {
      events.comments++
      continue
    }
    assert.ok(event.startsWith('data: {'), event)
    assert.equal(events.error, undefined, 'nothing comes after an error')
    const value = JSON.parse(event.slice('data: '.length))
    if ('error' in value) events.error = value.error
    else events.chunks.push(value)
  }
  return events
}

/** Assembles the chunks of one choice as a client does. */
export function choiceOf(chunks: readonly ChatChunk[], index: number) {
  const mine = chunks.flatMap(({ choices }) => choices).filter((choice) => choice.index === index)
  const logprobs = mine.flatMap((choice) => choice.logprobs?.content ?? [])
  const ends = mine.filter((choice) => choice.finish_reason !== null)
  assert.equal(ends.length, 1, `choice ${index} ends once`)
  assert.equal(mine.at(-1), ends[0], `nothing of choice ${index} comes after its end`)
  assert.deepEqual(
    mine.map(({ delta }) => 'role' in delta),
    mine.map((_, place) => place === 0),
    `choice ${index} says first and once who speaks`,
  )
  return {
    role: mine[0]?.delta.role,
    content: mine.map(({ delta }) => delta.content ?? '').join(''),
    logprobs,
    tokens: mine.flatMap((choice) => choice.token_ids ?? []),
    finish_reason: ends[0]?.finish_reason,
    stop_reason: ends[0]?.stop_reason,
  }
}

export function assertRefused(
  { status, json }: Pick<Answer, 'status' | 'json'>,
  expected: { status: number; code: string; param: string | null; message?: RegExp },
): void {
  assert.deepEqual(
    [status, json?.error?.code, json?.error?.param],
    [expected.status, expected.code, expected.param],
    JSON.stringify(json),
  )
  assert.deepEqual(Object.keys(json), ['error'])
  assert.deepEqual(Object.keys(json.error), ['message', 'type', 'param', 'code'])
  if (expected.message) assert.match(json.error.message, expected.message)
}
