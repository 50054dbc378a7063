import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { codeOf } from '../support/answers.ts'
import { basic, keys } from '../support/app.ts'
import { openAppWithRoutes } from '../support/routes.ts'
import { scriptedBackend } from '../support/scripted-backend.ts'

/** Requests of clients with a wrong base URL, and operations of OpenAI that do not exist here. */

const { app, routes } = await openAppWithRoutes({ after }, { backend: scriptedBackend() })

async function ask(method: string, url: string) {
  const answer = await app.inject({
    method: method as 'GET',
    url,
    headers: { authorization: basic(keys.alice), host: 'models.example:8080' },
  })
  const json = answer.json()
  return {
    status: answer.statusCode,
    json,
    code: codeOf({ json }),
    message: json.error?.message ?? json.reason,
  }
}

const ofModels = routes.filter(
  ({ url, method, isHidden }) =>
    url.startsWith('/v1/') &&
    !/^\/v1\/(?:traces|logs|metrics)$/.test(url) &&
    !url.endsWith('/') &&
    method !== 'HEAD' &&
    !isHidden,
)

test('without /v1 a request is told the base URL that its client needs', async () => {
  assert.ok(ofModels.length > 15)
  for (const { method, url } of ofModels) {
    const path = url.replace(/:\w+/g, 'x1').slice('/v1'.length)
    const isOfRecord = routes.some((route) => route.url === path)
    if (isOfRecord) continue
    const { status, code, message } = await ask(method, path)
    assert.deepEqual([status, code], [404, 'route_not_found'], path)
    const hint = `There is /v1${path}: the base URL of this client is http://models.example:8080/v1.`
    assert.equal(message, `There is no route ${method} ${path}. ${hint}`)
  }
})

test('with /v1 twice it is told that the client adds it', async () => {
  for (const { method, url } of ofModels) {
    const path = `/v1${url.replace(/:\w+/g, 'x1')}`
    const { status, message } = await ask(method, path)
    const hint = 'This client adds /v1 itself: its base URL is http://models.example:8080.'
    assert.deepEqual([status, message], [404, `There is no route ${method} ${path}. ${hint}`])
  }
})

test('the hint has the form that the client reads', async () => {
  for (const path of ['/chat/completions', '/completions', '/responses', '/embeddings', '/v1/v1/responses']) {
    assert.equal((await ask('POST', path)).json.error.type, 'not_found_error', path)
  }
  for (const path of ['/models', '/models/x', '/responses/resp_1?stream=true']) {
    assert.equal((await ask('GET', path)).json.error.type, 'not_found_error', path)
  }
  for (const path of ['/messages', '/messages/count_tokens', '/v1/v1/messages']) {
    assert.equal((await ask('POST', path)).json.type, 'error', path)
  }
  for (const path of ['/completions/create', '/nothing', '/v2/acme/qa/nothing', '/v1x']) {
    const { json, message } = await ask('POST', path)
    assert.equal(json.code, 'route_not_found', path)
    assert.equal(message, `There is no route POST ${path}. GET /openapi.json lists them.`)
  }
})

test('a word in the place of an id names an operation that does not exist', async () => {
  const parents = new Set(
    ofModels.flatMap(({ url }) => /^(.*)\/:(?:response|completion)_id/.exec(url)?.[1] ?? []),
  )
  assert.deepEqual([...parents].sort(), ['/v1/chat/completions', '/v1/responses'])
  const words = ['compact', 'batch', 'batches', 'search', 'some_thing', 'input-items']
  for (const parent of parents) {
    for (const word of words) {
      for (const [method, path] of [
        ...['POST', 'GET', 'DELETE', 'PUT'].map((name) => [name, `${parent}/${word}`] as const),
        ['POST', `${parent}/${word}/cancel`],
        ['GET', `${parent}/${word}/messages`],
      ] as const) {
        const isRoute = routes.some(({ url }) => url === path)
        const { status, code, message } = await ask(method, path)
        if (isRoute || code === 'method_not_allowed') continue
        assert.deepEqual([status, code], [404, 'route_not_found'], `${method} ${path}`)
        if (path.split('/').length > parent.split('/').length + 1) continue
        assert.ok(
          message.startsWith(`There is no route ${method} ${path}. There are: POST ${parent}, `),
          message,
        )
        assert.ok(message.includes(`GET ${parent}/:`), message)
      }
    }
  }
  const id = 'abcdefabcdefabcd'
  assert.equal((await ask('GET', `/v1/chat/completions/${id}`)).code, 'completion_not_found')
  assert.equal((await ask('GET', '/v1/chat/completions/chatcmpl-batch')).code, 'completion_not_found')
  assert.equal((await ask('GET', '/v1/responses/resp_compact')).code, 'response_not_found')
})
