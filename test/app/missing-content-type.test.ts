import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { codeOf } from '../support/answers.ts'
import { basic, keys } from '../support/app.ts'
import { project } from '../support/calls.ts'
import { addressOf, openAppWithRoutes } from '../support/routes.ts'
import { methodOf, sampleBodies, sampleBodyOf } from '../support/sample-bodies.ts'
import { scriptedBackend } from '../support/scripted-backend.ts'

/** W&B's Python client posts JSON without a Content-Type; the routes of models are asked by clients that send one. */

const { app } = await openAppWithRoutes({ after }, { backend: scriptedBackend() })

/** Clients of models expect a 415, and spans may be protobuf. */
const needsType = (url: string) =>
  url.startsWith('/v1/') ||
  url.endsWith('/rerank') ||
  url === '/v2/embed' ||
  url === '/infill' ||
  /^(?:\/v1)?\/score$/.test(url) ||
  /\/v1\/(?:traces|logs)$/.test(url)

const ask = async (url: string, headers: Record<string, string>) => {
  const { statusCode, body } = await app.inject({
    method: methodOf(url),
    url: addressOf({ url }),
    headers: { authorization: basic(keys.root), ...headers },
    // Bytes, because `inject` adds a content type to an object.
    payload: Buffer.from(JSON.stringify(sampleBodyOf(url, project))),
  })
  // Answers are JSON, lines or events; refusals are JSON.
  return { status: statusCode, code: statusCode < 400 ? undefined : codeOf({ json: JSON.parse(body) }) }
}

for (const url of Object.keys(sampleBodies)) {
  test(`${url}: a body without a content type is ${needsType(url) ? 'refused' : 'JSON'}`, async () => {
    const { status, code } = await ask(url, {})
    if (needsType(url)) assert.deepEqual([status, code], [415, 'unsupported_media_type'])
    else assert.notEqual(status, 415)
  })
}

test('without a content type, JSON is read like JSON with one', async () => {
  const send = async (headers: Record<string, string>, payload: Buffer, url = '/call/read') => {
    const answer = await app.inject({ method: 'POST', url, headers, payload })
    return { status: answer.statusCode, code: codeOf({ json: answer.json() }) }
  }
  const authorization = basic(keys.alice)
  const read = Buffer.from(JSON.stringify({ project_id: project, id: '0123456789abcdef' }))
  assert.deepEqual(await send({ authorization }, read), { status: 404, code: 'call_not_found' })
  const chunked = { authorization, 'transfer-encoding': 'chunked' }
  assert.deepEqual(await send(chunked, read), { status: 404, code: 'call_not_found' })
  assert.deepEqual(await send({ authorization }, Buffer.from('{')), { status: 400, code: 'malformed_json' })
  assert.deepEqual(await send({ authorization }, Buffer.from('[]')), { status: 422, code: 'invalid_request' })
  assert.deepEqual(await send({}, read), { status: 401, code: 'not_authenticated' })
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', '']) {
    const other = await send({ authorization, 'content-type': type }, read)
    assert.deepEqual(other, { status: 415, code: 'unsupported_media_type' }, type)
  }
  const form = await send({ authorization }, read, '/file/create')
  assert.deepEqual(form, { status: 415, code: 'unsupported_media_type' })
})

test('a page of another site cannot use the credentials that a browser remembers', async () => {
  const url = '/calls/delete'
  for (const headers of [
    { origin: 'https://evil.example.com' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ]) {
    assert.deepEqual(await ask(url, headers as Record<string, string>), {
      status: 415,
      code: 'unsupported_media_type',
    })
  }
})
