import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { codeOf } from '../support/answers.ts'
import { basic, keys } from '../support/app.ts'
import { project } from '../support/calls.ts'
import { fileForm, formType } from '../support/forms.ts'
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
  /\/v1\/(?:traces|logs|metrics)$/.test(url)

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
  for (const site of ['cross-site', 'same-site'])
    assert.deepEqual(await ask(url, { 'sec-fetch-site': site }), {
      status: 415,
      code: 'unsupported_media_type',
    })
  const own = { host: 'here:8080', origin: 'http://here:8080' }
  const behindProxy = { origin: 'https://heddle.example.com', 'sec-fetch-site': 'same-origin' }
  for (const [url, type, payload] of [
    ['/calls/delete', undefined, Buffer.from(JSON.stringify(sampleBodyOf('/calls/delete', project)))],
    ['/files/create', formType, fileForm(project, 'text')],
    ['/v1/files', formType, fileForm(project, 'text')],
    ['/v1/responses/resp_0/cancel', undefined, undefined],
    ['/v1/batches/batch_0/cancel', 'text/plain', undefined],
  ] as const) {
    const send = async (headers: Record<string, string>, authorization = basic(keys.root)) => {
      const sent = { authorization, ...(type && { 'content-type': type }), ...headers }
      const { statusCode, body } = await app.inject({
        method: 'POST',
        url,
        headers: sent,
        ...(payload && { payload }),
      })
      return statusCode < 400 ? statusCode : codeOf({ json: JSON.parse(body) })
    }
    const usual = await send({})
    for (const origin of ['https://evil.example.com', 'http://here:9090', 'null'])
      assert.equal(await send({ ...own, origin }), 'origin_forbidden', `${url} ${origin}`)
    // No browser remembers a Bearer; a page that has one was allowed to send it.
    const bearer = await send({ origin: 'https://evil.example.com' }, `Bearer ${keys.root}`)
    if (url !== '/calls/delete')
      assert.deepEqual([bearer, await send(own), await send(behindProxy)], [usual, usual, usual])
  }
})
