import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { basic, keys, openApp } from './app.ts'

/**
 * Checks the refusals of every route with a body before it reads a field: the user, the content type, the size, and
 * whether it is JSON.
 */
export async function assertCommonRefusals(
  t: Pick<TestContext, 'after'>,
  url: string,
  valid: unknown,
): Promise<void> {
  const { app } = await openApp(t, { settings: { HEDDLE_BODY_LIMIT: '2048', HEDDLE_DOCS: 'off' } })
  const text = JSON.stringify(valid)
  const send = async (
    payload: string | Buffer,
    headers: { authorization?: string; 'content-type'?: string },
  ) => {
    const response = await app.inject({ method: 'POST', url, headers, payload })
    return { status: response.statusCode, body: response.json() }
  }
  const authorization = basic(keys.alice)
  const json = { authorization, 'content-type': 'application/json' }

  assert.deepEqual(await send(text, { 'content-type': 'application/json' }), {
    status: 401,
    body: {
      reason:
        'This server needs credentials: Basic with user name "api" and a key as password, Bearer with a key, or a key in x-api-key or api-key.',
      code: 'not_authenticated',
    },
  })
  assert.deepEqual(await send(text, { authorization, 'content-type': 'text/plain' }), {
    status: 415,
    body: {
      reason: 'Content-Type "text/plain" is not accepted here; accepted: application/json.',
      code: 'unsupported_media_type',
    },
  })
  assert.deepEqual(await send(text.padEnd(2049), json), {
    status: 413,
    body: {
      reason: 'The body is larger than 2048 bytes; send less at once.',
      code: 'body_too_large',
    },
  })
  assert.deepEqual(await send('', json), {
    status: 400,
    body: { reason: 'The body is not JSON: it is empty.', code: 'malformed_json' },
  })
  assert.deepEqual(await send(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), json), {
    status: 400,
    body: { reason: 'The body is not JSON: it is not UTF-8.', code: 'malformed_json' },
  })
  const cutOff = await send(text.slice(0, -1), json)
  assert.equal(cutOff.status, 400)
  assert.equal(cutOff.body.code, 'malformed_json')
  assert.deepEqual(await send('[]', json), {
    status: 422,
    body: {
      reason: 'The body does not fit the schema: the body: expected object, received array.',
      code: 'invalid_request',
      detail: [{ loc: ['body'], msg: 'expected object, received array', type: 'invalid_type' }],
    },
  })
}
