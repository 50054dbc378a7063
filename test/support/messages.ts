import assert from 'node:assert/strict'
import type { BlockEvent, MessageAnswer, MessageEvent } from '../../src/operations/messages/contract.ts'
import type { Answer } from './app.ts'

export const messagesUrl = '/v1/messages'

/** The shortest body that is answered. */
export const askingMessage = (fields: Record<string, unknown> = {}) => ({
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Hi' }],
  ...fields,
})

type Block = MessageAnswer['content'][number]
type Delta = Extract<BlockEvent, { type: 'content_block_delta' }>['delta']
type ErrorEvent = {
  type: 'error'
  error: { type: string; message: string; details: { error_code: string } }
  request_id: string
}

/** The kind of block that each delta belongs to. */
const kinds: Record<Delta['type'], Block['type']> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'thinking',
  input_json_delta: 'tool_use',
}

export interface MessageStream {
  events: MessageEvent[]
  pings: number
  /** The message as a client assembles it; undefined if an error took the place of the rest. */
  message: MessageAnswer | undefined
  /** The arguments of each call, as they were written. */
  inputs: string[]
  error: ErrorEvent | undefined
}

/**
 * Reads a stream as strictly as Anthropic describes it: a start, blocks one after the other with their deltas, one delta
 * of the message, a stop; pings anywhere in between.
 */
export function messageStreamOf(text: string): MessageStream {
  assert.ok(text.endsWith('\n\n'), `the stream ends with ${JSON.stringify(text.slice(-60))}`)
  const stream: MessageStream = { events: [], pings: 0, message: undefined, inputs: [], error: undefined }
  let message: MessageAnswer | undefined
  let state: 'start' | 'between' | Block['type'] | 'ended' | 'over' = 'start'
  const blockAt = (index: number): Block => {
    assert.equal(index, (message?.content.length ?? 0) - 1, 'an event is of the last block')
    return message?.content[index] as Block
  }
  for (const event of text.slice(0, -2).split('\n\n')) {
    const [, name, data] = /^event: ([a-z_]+)\ndata: (\{.*\})$/.exec(event) ?? []
    assert.ok(name !== undefined && data !== undefined, event)
    const value = JSON.parse(data) as MessageEvent | ErrorEvent
    assert.equal(value.type, name)
    assert.notEqual(state, 'over', `${name} comes behind the end`)
    if (value.type === 'error') {
      stream.error = value
      state = 'over'
      continue
    }
    if (value.type === 'ping') {
      stream.pings++
      continue
    }
    stream.events.push(value)
    switch (value.type) {
      case 'message_start':
        assert.equal(state, 'start')
        assert.deepEqual([value.message.content, value.message.stop_reason], [[], null])
        message = structuredClone(value.message)
        state = 'between'
        break
      case 'content_block_start':
        assert.equal(state, 'between')
        assert.equal(value.index, message?.content.length)
        message?.content.push({ ...value.content_block })
        state = value.content_block.type
        if (state === 'tool_use') stream.inputs.push('')
        break
      case 'content_block_delta': {
        const { delta } = value
        const block = blockAt(value.index)
        assert.equal(state, kinds[delta.type], `${delta.type} in a block of type ${state}`)
        if (delta.type === 'text_delta' && block.type === 'text') block.text += delta.text
        if (delta.type === 'thinking_delta' && block.type === 'thinking') block.thinking += delta.thinking
        if (delta.type === 'signature_delta' && block.type === 'thinking') {
          assert.equal(block.signature, '', 'a thought has one signature')
          block.signature = delta.signature
        }
        if (delta.type === 'input_json_delta') {
          stream.inputs[stream.inputs.length - 1] += delta.partial_json
        }
        break
      }
      case 'content_block_stop': {
        const block = blockAt(value.index)
        assert.equal(state, block.type)
        if (block.type === 'thinking') assert.notEqual(block.signature, '', 'a thought has a signature')
        state = 'between'
        break
      }
      case 'message_delta': {
        assert.equal(state, 'between')
        const { type: _, delta, ...rest } = value
        assert.notEqual(delta.stop_reason, null)
        Object.assign(message as MessageAnswer, delta, rest)
        state = 'ended'
        break
      }
      case 'message_stop':
        assert.equal(state, 'ended')
        stream.message = message
        state = 'over'
    }
  }
  assert.equal(state, 'over', 'the stream has an end')
  return stream
}

export function assertMessageRefused(
  { status, json, headers }: Pick<Answer, 'status' | 'json' | 'headers'>,
  expected: { status: number; type: string; code: string; message?: RegExp },
): void {
  assert.deepEqual(
    [status, json?.error?.type, json?.error?.details?.error_code],
    [expected.status, expected.type, expected.code],
    JSON.stringify(json),
  )
  assert.deepEqual(Object.keys(json), ['type', 'error', 'request_id'])
  assert.deepEqual(Object.keys(json.error), ['type', 'message', 'details'])
  assert.equal(json.type, 'error')
  assert.equal(json.request_id, headers['request-id'])
  if (expected.message) assert.match(json.error.message, expected.message)
}
