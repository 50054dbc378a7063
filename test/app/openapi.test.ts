import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { z } from 'zod'
import { apiOf } from '../../src/http/errors.ts'
import { createReferenceApp } from '../../src/http/reference/document.ts'
import { openApp } from '../support/app.ts'
import { documentedPath, documentOf, type Operation, type Schema, withoutNull } from '../support/openapi.ts'
import { openAppWithRoutes } from '../support/routes.ts'

/** Generating the document is slow, so the tests share one. */
const { routes, ...opened } = await openAppWithRoutes({ after })
const document = await documentOf(opened)
const { paths } = document
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

test('the document is valid OpenAPI 3.1', async () => {
  assert.equal(document.openapi, '3.1.0')
  const { valid, errors } = await new Validator().validate({ ...document })
  assert.ok(valid, JSON.stringify(errors))
})

test('the document has every route that is not hidden, and no other', () => {
  const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const declared = routes
    .filter(({ method, isHidden }) => method !== 'HEAD' && !isHidden)
    .map(({ method, url }) => `${method} ${documentedPath(url)}`)
  assert.deepEqual(new Set(documented), new Set(declared))
  assert.ok(declared.length >= 15)
})

test('only routes without a contract are hidden', () => {
  const declared = new Set(routes.filter(({ isHidden }) => !isHidden).map(({ url }) => url))
  for (const { url, isHidden } of routes) {
    if (!isHidden || declared.has(url) || declared.has(url.replace(/\/$/, ''))) continue
    assert.match(
      url,
      /^\/(favicon\.ico|openapi\.json|docs(\/.*)?|v1\/models\/\*|(ui\/?\*?)?|:entity\/:project\/(r\/\*|weave(\/\*)?))$/,
    )
  }
})

const always = [401, 429, 500, 503]
const withBody = [200, ...always, 400, 403, 413, 415, 422]
const ofModels = [200, ...always, 400, 404, 413, 415, 502, 504]

for (const [path, statuses] of Object.entries({
  '/health': [200],
  '/ready': [200, 422, 500, 503],
  '/metrics': [200, ...always, 403],
  '/server_info': [200, ...always],
  '/views/events': [200, ...always, 403, 422],
  '/usage': [200, ...always, 403, 422],
  '/call/start': withBody,
  '/call/end': withBody,
  '/call/upsert_batch': withBody,
  '/v2/{entity}/{project}/calls/complete': withBody,
  '/call/read': [...withBody, 404],
  '/call/update': [...withBody, 404],
  '/calls/delete': withBody,
  '/calls/stream_query': [...withBody, 504],
  '/calls/query': [...withBody, 504],
  '/calls/query_stats': [...withBody, 504],
  '/calls/stats': [...withBody, 504],
  '/calls/usage': [...withBody, 504],
  '/trace/usage': [...withBody, 504],
  '/feedback/stats': [...withBody, 504],
  '/feedback/payload_schema': [...withBody, 504],
  '/feedback/aggregate': [...withBody, 504],
  '/agents/query': [...withBody, 504],
  '/agents/agent-versions/query': [...withBody, 504],
  '/agents/spans/query': [...withBody, 504],
  '/agents/spans/stats': [...withBody, 504],
  '/agents/spans/custom-attrs/schema': [...withBody, 504],
  '/agents/search': [...withBody, 504],
  '/agents/traces/chat': [...withBody, 504],
  '/agents/conversations/chat': [...withBody, 504],
  '/agents/conversations/spans': [...withBody, 504],
  '/threads/stream_query': [...withBody, 504],
  '/calls/export': [...withBody, 404, 504],
  '/views/calls': [...withBody, 504],
  '/views/facets': [...withBody, 504],
  '/views/buckets': [...withBody, 504],
  '/views/saved': [...withBody, 409],
  '/views/saved/query': withBody,
  '/views/saved/{view_id}': [...withBody, 404, 409],
  '/views/feedback_buckets': [...withBody, 504],
  '/views/columns': [...withBody, 504],
  '/views/search': [...withBody, 504],
  '/views/trace': [...withBody, 504],
  '/cost/create': withBody,
  '/cost/query': withBody,
  '/cost/purge': withBody,
  '/otel/v1/traces': withBody,
  '/v1/traces': withBody,
  '/agents/otel/v1/traces': withBody,
  '/otel/v1/logs': withBody,
  '/v1/logs': withBody,
  '/agents/otel/v1/logs': withBody,
  '/otel/v1/metrics': withBody,
  '/v1/metrics': withBody,
  '/agents/otel/v1/metrics': withBody,
  '/views/engine': [200, ...always, 403, 422],
  '/users': [200, ...always, 403, 422],
  '/users/{name}': [200, ...always, 403, 404, 409, 422],
  '/keys': [200, ...always, 403, 404, 422],
  '/budgets': [200, ...always, 403, 422],
  '/budgets/{id}': [...withBody, 404],
  '/keys/{id}': [200, ...always, 403, 404, 422],
  '/keys/{id}/rotate': [...withBody, 404, 409],
  '/users/{name}/grants': [...withBody, 404, 409],
  '/users/{name}/settings': [...withBody, 404, 409],
  '/invitations': [...withBody, 409],
  '/invitations/{id}': [200, ...always, 403, 404, 422],
  '/invitations/accept': [...withBody.filter((status) => status !== 401 && status !== 403), 404, 409],
  '/audit/query': [...withBody, 504],
  '/me': [200, ...always, 403, 422],
  '/obj/create': [...withBody, 409],
  '/objs/query': [...withBody, 504],
  '/obj/delete': [...withBody, 404, 409],
  '/objs/{object_id}/versions/{digest}/tags': [...withBody, 404],
  '/objs/{object_id}/versions/{digest}/tags/remove': [...withBody, 404],
  '/objs/{object_id}/aliases': [...withBody, 404, 409],
  '/objs/{object_id}/aliases/remove': [...withBody, 404, 409],
  '/objs/{object_id}/aliases/{alias}/move': [...withBody, 404, 409, 504],
  '/objs/{object_id}/aliases/{alias}/shadow': [200, ...always, 403, 422, 504],
  '/objs/{object_id}/proposals': [...withBody, 404, 502, 504],
  '/tags': [200, ...always, 403, 422, 504],
  '/aliases': [200, ...always, 403, 422, 504],
  '/refs/read_batch': [...withBody, 404],
  '/table/create': [...withBody, 409],
  '/table/update': [...withBody, 404, 504],
  '/table/create_from_digests': [...withBody, 404, 409],
  '/table/query': [...withBody, 504],
  '/table/query_stats': [...withBody, 404],
  '/table/query_stats_batch': [...withBody, 504],
  '/file/create': withBody,
  '/file/content': [...withBody, 404],
  '/files/query_stats': [...withBody, 504],
  '/v2/{entity}/{project}/models': withBody,
  '/v2/{entity}/{project}/models/{object_id}/versions/{digest}': [200, ...always, 403, 404, 422],
  '/v2/{entity}/{project}/models/{object_id}': [200, ...always, 400, 403, 404, 422],
  '/v2/{entity}/{project}/eval_results/query': [...withBody, 504],
  '/v2/{entity}/{project}/evaluation_runs': [...withBody, 409],
  '/v2/{entity}/{project}/evaluation_runs/{evaluation_run_id}': [200, ...always, 403, 404, 422],
  '/v2/{entity}/{project}/scorers/try': [...withBody, 404, 502, 504],
  '/v2/{entity}/{project}/erasures': [...withBody, 409, 504],
  '/v2/{entity}/{project}/calibrations': [...withBody, 404, 504],
  '/v2/{entity}/{project}/calibrations/report': [...withBody, 404, 504],
  '/v2/{entity}/{project}/calibrations/agreement': [...withBody, 404, 504],
  '/v2/{entity}/{project}/evaluation_runs/serve': [...withBody, 404, 409, 504],
  '/v2/{entity}/{project}/evaluation_runs/{evaluation_run_id}/stop': [...withBody, 404],
  '/v2/{entity}/{project}/evaluation_runs/{evaluation_run_id}/resume': [...withBody, 404, 409, 504],
  '/v2/{entity}/{project}/evaluation_runs/{evaluation_run_id}/finish': [...withBody, 404, 409, 504],
  '/v2/{entity}/{project}/predictions': [...withBody, 404, 409],
  '/v2/{entity}/{project}/predictions/{prediction_id}': [200, ...always, 403, 404, 422],
  '/v2/{entity}/{project}/predictions/{prediction_id}/finish': [...withBody, 404],
  '/v2/{entity}/{project}/scores': [...withBody, 404, 409],
  '/v2/{entity}/{project}/scores/{score_id}': [200, ...always, 403, 404, 422],
  '/views/evaluations': [...withBody, 504],
  '/views/scores': [...withBody, 504],
  '/views/rank': [...withBody, 504],
  '/evaluations/status': [...withBody, 504],
  '/annotation_queues': withBody,
  '/annotation_queues/query': [...withBody, 504],
  '/annotation_queues/stats': [...withBody, 504],
  '/annotation_queues/{queue_id}': [200, ...always, 403, 404, 422],
  '/annotation_queues/{queue_id}/items': [...withBody, 404],
  '/annotation_queues/{queue_id}/items/query': [...withBody, 404, 504],
  '/annotation_queues/{queue_id}/items/{item_id}/progress': [...withBody, 404, 409],
  '/annotation_queues/{queue_id}/items/{item_id}/release': [...withBody, 404],
  '/annotation_queues/{queue_id}/items/{item_id}/reopen': [...withBody, 404, 409],
  '/annotation_queues/{queue_id}/next': [...withBody, 404],
  '/annotation_queues/{queue_id}/preferences': [...withBody, 404, 504],
  '/annotation_queues/{queue_id}/rules': [...withBody, 404, 409],
  '/annotation_queues/{queue_id}/rules/{rule_id}': [...withBody, 404],
  '/alert_rules': [...withBody, 404, 409],
  '/alert_rules/try': [...withBody, 404, 504],
  '/alert_rules/{rule_id}': [...withBody, 404, 409],
  '/alert_endpoints': [...withBody, 409],
  '/alert_endpoints/{endpoint_id}': [...withBody, 404],
  '/alert_endpoints/{endpoint_id}/rotate': [...withBody, 404],
  '/alert_endpoints/{endpoint_id}/test': [...withBody, 404],
  '/alert_endpoints/{endpoint_id}/replay': [...withBody, 404],
  '/alert_events/query': withBody,
  '/monitors': [...withBody, 404],
  '/monitors/query': [...withBody, 504],
  '/monitors/stats': [...withBody, 504],
  '/monitors/{monitor_id}/run': [...withBody, 404, 409],
  '/monitors/{monitor_id}/runs': [200, ...always, 403, 404, 422],
  '/monitors/{monitor_id}/runs/{run_id}': [200, ...always, 403, 404, 422],
  '/monitors/{monitor_id}/runs/{run_id}/cancel': [...withBody, 404],
  '/monitors/{monitor_id}': [200, ...always, 403, 404, 422],
  '/v1/chat/completions': [...ofModels, 403],
  '/v1/chat/completions/': [...ofModels, 403],
  '/v1/completions': [...ofModels, 403],
  '/v1/embeddings': [...ofModels, 403],
  '/v2/embed': [...ofModels, 403],
  '/infill': [...ofModels, 403],
  '/v1/fim/completions': [...ofModels, 403],
  '/v1/rerank': [...ofModels, 403],
  '/v1/decisions': [...ofModels, 403],
  '/v1/systemone': [...ofModels, 403],
  '/v1/responses': [...ofModels, 403, 409],
  '/v1/responses/{response_id}': [200, ...always, 400, 404, 504],
  '/v1/responses/{response_id}/cancel': [200, ...always, 400, 404],
  '/v1/responses/{response_id}/input_items': [200, ...always, 400, 404, 504],
  '/v1/responses/input_tokens': [...ofModels, 403],
  '/v1/conversations': [200, ...always, 400, 403, 404, 409, 413, 415],
  '/v1/conversations/{conversation_id}': [200, ...always, 400, 404],
  '/v1/conversations/{conversation_id}/items': [200, ...always, 400, 404, 413, 415],
  '/v1/conversations/{conversation_id}/items/{item_id}': [200, ...always, 400, 404],
  '/v1/files': [200, ...always, 400, 403, 413, 415],
  '/v1/files/{file_id}': [200, ...always, 400, 403, 404],
  '/v1/files/{file_id}/content': [200, ...always, 400, 403, 404],
  '/v1/batches': [200, ...always, 400, 403, 404, 409, 413, 415],
  '/v1/batches/{batch_id}': [200, ...always, 400, 403, 404],
  '/v1/batches/{batch_id}/cancel': [200, ...always, 400, 403, 404, 409],
  '/v1/messages': [...ofModels, 403],
  '/v1/messages/count_tokens': ofModels,
  '/v1/messages/batches': [200, ...always, 400, 403, 409, 413, 415],
  '/v1/messages/batches/{message_batch_id}': [200, ...always, 400, 403, 404],
  '/v1/messages/batches/{message_batch_id}/cancel': [200, ...always, 400, 403, 404],
  '/v1/messages/batches/{message_batch_id}/results': [200, ...always, 400, 403, 404],
  '/v1/models': [200, ...always, 400],
  '/v1/models/{model}': [200, ...always, 400, 404],
  '/api/chat': [...ofModels, 403],
  '/api/generate': [...ofModels, 403],
  '/api/embed': [...ofModels, 403],
  '/api/embeddings': [...ofModels, 403],
  '/api/show': [200, ...always, 400, 404, 413, 415],
  '/api/pull': [200, ...always, 400, 403, 404, 413, 415],
  '/api/tags': [200, ...always],
  '/api/create': [...always, 403],
  '/tokenize': [...ofModels, 422],
  '/detokenize': [...ofModels, 422],
  '/mcp': [...withBody, 202, 404],
  '/tokenizer_info': [200, ...always, 400, 404, 422],
})) {
  test(`${path} documents its statuses`, () => {
    const [operation] = Object.values(paths[path] ?? {}) as [Operation]
    assert.deepEqual(
      Object.keys(operation.responses).map(Number),
      statuses.toSorted((a, b) => a - b),
    )
    assert.ok(operation.summary)
    assert.equal(operation.tags?.length, 1)
    for (const [status, { content }] of Object.entries(operation.responses)) {
      if (status === '200' || status === '202') continue
      const schema = content?.['application/json']?.schema
      const members = {
        openai: ['error'],
        anthropic: ['type', 'error', 'request_id'],
        ollama: ['error', 'code'],
        record: ['reason', 'code', 'detail', 'deleted_at'],
      }[apiOf(path)]
      const parts = path === '/ready' && status === '503' ? ['record', 'model', 'models'] : []
      assert.deepEqual(Object.keys(schema?.properties ?? {}), [...members, ...parts])
    }
  })
}

test('every operation has an id of its own, made of its method and its path', () => {
  const ids = operations.map(({ operation }) => operation.operationId ?? '')
  assert.equal(new Set(ids).size, ids.length)
  for (const id of ids) assert.match(id, /^(get|post|put|delete)([A-Z][a-z0-9]*)+$/)
  const byId = new Map(
    operations.map(({ path, method, operation }) => [operation.operationId, { path, method }]),
  )
  for (const [id, method, path] of [
    ['postCallStart', 'post', '/call/start'],
    ['postV1ChatCompletions', 'post', '/v1/chat/completions'],
    ['postV1ChatCompletionsSlash', 'post', '/v1/chat/completions/'],
    ['postV2EvalResultsQuery', 'post', '/v2/{entity}/{project}/eval_results/query'],
    ['deleteAnnotationQueuesByQueueId', 'delete', '/annotation_queues/{queue_id}'],
    ['getV1ModelsByModel', 'get', '/v1/models/{model}'],
    ['postAgentsAgentVersionsQuery', 'post', '/agents/agent-versions/query'],
  ]) {
    assert.deepEqual(byId.get(id), { path, method })
  }
})

test('every answer and every refusal has a description', () => {
  for (const { path, operation } of operations) {
    for (const [status, { description }] of Object.entries(operation.responses)) {
      assert.notEqual(description, 'Default Response', `${path} ${status}`)
      assert.ok(description.length >= 5, `${path} ${status}`)
    }
  }
})

test('answers that can be streamed are also described as events', () => {
  const streamed = operations.filter(({ operation }) => {
    const schema = operation.requestBody?.content['application/json']?.schema
    const stream = schema?.properties?.stream
    return stream !== undefined && withoutNull(stream).schema.enum?.join() !== 'false'
  })
  assert.deepEqual(
    streamed.map(({ path }) => path),
    [
      '/v1/chat/completions',
      '/v1/chat/completions/',
      '/v1/completions',
      '/infill',
      '/v1/fim/completions',
      '/v1/responses',
      '/v1/messages',
      '/api/chat',
      '/api/generate',
      '/api/pull',
    ],
  )
  for (const { path, operation } of streamed) {
    const { content = {} } = operation.responses['200'] ?? {}
    const streamType = path.startsWith('/api/') ? 'application/x-ndjson' : 'text/event-stream'
    assert.deepEqual(Object.keys(content), ['application/json', streamType])
    if (streamType !== 'text/event-stream') {
      assert.ok(content[streamType]?.schema.properties, path)
      continue
    }
    if (path === '/v1/responses') {
      assert.ok(content['application/json']?.schema.properties?.output)
      assert.ok(content['text/event-stream']?.schema.properties?.sequence_number)
      continue
    }
    if (path === '/v1/messages') {
      const events = content['text/event-stream']?.schema.oneOf ?? []
      assert.equal(events.length, 7)
      continue
    }
    const text = path === '/infill' ? 'content' : 'choices'
    for (const { schema } of Object.values(content)) assert.ok(schema.properties?.[text])
    const event = content['text/event-stream']?.schema
    assert.ok(!event?.required?.includes('usage'), 'only the last event may have the usage')
  }
})

test('every field of the operations of the specification has a description', () => {
  const missing: string[] = []
  let seen = 0
  const visit = (schema: Schema, where: string) => {
    for (const [name, inner] of Object.entries(schema.properties ?? {})) {
      seen += 1
      if ((inner.description ?? '').length < 5) missing.push(`${where}.${name}`)
      visit(inner, `${where}.${name}`)
    }
    for (const inner of schema.anyOf ?? schema.oneOf ?? []) visit(inner, where)
    if (schema.items) visit(schema.items, `${where}[]`)
    if (typeof schema.additionalProperties === 'object') visit(schema.additionalProperties, `${where}{}`)
  }
  for (const path of [
    '/feedback/create',
    '/v1/chat/completions',
    '/v1/chat/completions/',
    '/v2/{entity}/{project}/eval_results/query',
    '/call/read',
    '/annotation_queues/{queue_id}/items/{item_id}/progress',
  ]) {
    const { requestBody, responses, parameters } = paths[path]?.post ?? assert.fail(path)
    visit(requestBody?.content['application/json'].schema as Schema, `${path} body`)
    for (const [type, { schema }] of Object.entries(responses['200']?.content ?? {}))
      visit(schema, `${path} ${type}`)
    for (const { name, description } of parameters ?? []) {
      seen += 1
      if (!description) missing.push(`${path} ${name}`)
    }
  }
  assert.deepEqual(missing, [])
  assert.ok(seen >= 400, `${seen} were seen`)
})

/** Booleans whose value when absent is not fixed. */
const undecided = [
  'is_shared',
  'is_op',
  'summary_require_intersection',
  'add_special_tokens',
  'disable_additional_properties',
  'strict',
  // Depends on HEDDLE_RECORD.
  'store',
]

test('every boolean and every offset of a request has a default', () => {
  let seen = 0
  const visit = (given: Schema, where: string, isRequired = true) => {
    const { schema, nullable } = withoutNull(given)
    const name = where.split('.').at(-1) as string
    const isOptional = !isRequired || nullable
    if (isOptional && (schema.type === 'boolean' || name === 'offset') && !undecided.includes(name)) {
      seen += 1
      assert.notEqual(given.default, undefined, where)
    }
    for (const [member, inner] of Object.entries(schema.properties ?? {}))
      visit(inner, `${where}.${member}`, schema.required?.includes(member) ?? false)
    for (const inner of schema.anyOf ?? schema.oneOf ?? []) visit(inner, where)
    if (schema.items) visit(schema.items, where)
  }
  for (const { path, operation } of operations) {
    for (const { schema } of Object.values(operation.requestBody?.content ?? {})) visit(schema, path)
    for (const { name, schema, required } of operation.parameters ?? [])
      visit(schema, `${path}.${name}`, required ?? false)
  }
  assert.ok(seen >= 40, `${seen} were seen`)
})

test('the defaults of a chat completion are those of the specification', () => {
  const { schema } = paths['/v1/chat/completions']?.post?.requestBody?.content['application/json'] ?? {}
  const defaults = {
    add_generation_prompt: true,
    add_special_tokens: false,
    continue_final_message: false,
    echo: false,
    frequency_penalty: 0,
    ignore_eos: false,
    include_reasoning: true,
    include_stop_str_in_output: false,
    length_penalty: 1,
    logprobs: false,
    min_tokens: 0,
    n: 1,
    parallel_tool_calls: true,
    presence_penalty: 0,
    priority: 0,
    skip_special_tokens: true,
    spaces_between_special_tokens: true,
    stop: [],
    stream: false,
    tool_choice: 'none',
    top_logprobs: 0,
    use_beam_search: false,
  }
  for (const [name, value] of Object.entries(defaults)) {
    assert.deepEqual(schema?.properties?.[name]?.default, value, name)
  }
})

test('a chat answer may have every field of the specification', () => {
  const { responses = {} } = paths['/v1/chat/completions']?.post ?? {}
  const answer = responses['200']?.content?.['application/json']?.schema as Schema
  const choice = answer.properties?.choices?.items as Schema
  const message = choice.properties?.message as Schema
  const wanted: [Schema, string[]][] = [
    [
      answer,
      [
        ...['choices', 'model', 'usage', 'created', 'id', 'kv_transfer_params', 'object', 'prompt_logprobs'],
        ...['prompt_token_ids', 'prompt_text', 'metrics', 'service_tier', 'system_fingerprint'],
      ],
    ],
    [choice, ['index', 'message', 'finish_reason', 'logprobs', 'stop_reason', 'token_ids']],
    [
      message,
      [
        ...['role', 'annotations', 'audio', 'content', 'function_call', 'reasoning', 'refusal', 'tool_calls'],
        // The older name of reasoning.
        'reasoning_content',
      ],
    ],
  ]
  for (const [schema, fields] of wanted) {
    assert.deepEqual(Object.keys(schema.properties ?? {}).toSorted(), fields.toSorted())
  }
  const optional = ['annotations', 'audio', 'function_call', 'reasoning', 'tool_calls']
  for (const name of optional) assert.ok(!message.required?.includes(name), name)
})

test('every route that is not public requires credentials', () => {
  const { security } = document
  assert.deepEqual(security, [{ basic: [] }, { bearer: [] }, { key: [] }])
  const named = ({ method, url }: { method: string; url: string }) => `${method} ${url}`
  const isPublic = new Set(routes.filter((route) => route.isPublic).map(named))
  const takesKey = named({ method: 'POST', url: '/ui/session' })
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const name = named({ method: method.toUpperCase(), url: path })
      assert.deepEqual(operation.security, isPublic.has(name) ? [] : undefined, name)
      assert.equal('401' in operation.responses, !isPublic.has(name) || name === takesKey, name)
    }
  }
})

test('fields that are stored as text are described by their type', () => {
  const fieldOf = (path: string, ...steps: string[]) => {
    let schema = paths[path]?.post?.requestBody?.content['application/json'].schema as Schema
    for (const step of steps) {
      schema = withoutNull(schema.properties?.[step] as Schema).schema
      if (schema.items) schema = schema.items
    }
    return schema
  }
  const anyObject = { type: 'object', additionalProperties: true }
  for (const [path, ...steps] of [
    ['/call/start', 'start', 'inputs'],
    ['/call/start', 'start', 'attributes'],
    ['/call/start', 'start', 'otel_dump'],
    ['/call/end', 'end', 'summary'],
    ['/v2/{entity}/{project}/calls/complete', 'batch', 'inputs'],
    ['/calls/stream_query', 'query'],
    ['/calls/query_stats', 'query'],
    ['/cost/query', 'query'],
    ['/cost/purge', 'query'],
  ] as [string, ...string[]][]) {
    const { type, additionalProperties } = fieldOf(path, ...steps)
    assert.deepEqual({ type, additionalProperties }, anyObject, steps.join('.'))
  }
  assert.deepEqual(fieldOf('/call/end', 'end', 'output'), {})
  assert.ok(fieldOf('/call/start', 'start').properties?.svc_run_id)
})

test('GET /docs is a page for people, with credentials', async (t) => {
  const { app, get } = await openApp(t, { settings: { HEDDLE_DOCS: 'on' } })
  assert.equal((await app.inject('/docs')).statusCode, 401)
  for (const url of ['/docs', '/docs/']) {
    const page = await get(url)
    assert.equal(page.status, 200)
    assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
    assert.match(page.text, /<!DOCTYPE html>/)
    assert.match(String(page.headers['content-security-policy']), /default-src 'self'/)
    const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file = '']) => file)
    assert.ok(files.length > 0)
    for (const file of files) {
      assert.equal((await get(new URL(file, 'http://host/docs/').pathname)).status, 200, file)
    }
  }
  assert.deepEqual((await get('/docs/json')).json, (await get('/openapi.json')).json)
})

test('HEDDLE_DOCS=off removes the page and the document', async (t) => {
  const { get } = await openApp(t, { settings: { HEDDLE_DOCS: 'off' } })
  for (const url of ['/docs', '/docs/', '/docs/json', '/openapi.json']) {
    assert.equal((await get(url)).status, 404, url)
  }
})

test('the schemas are converted while others have their turns, and not when the document is put together', async (t) => {
  let converted = 0
  const routes = Array.from({ length: 3 }, (_, at) => ({
    method: 'POST' as const,
    url: `/${at}`,
    schema: { body: z.lazy(() => z.object({ at: z.literal(++converted) })) },
    handler: () => {},
  }))
  const reference = await createReferenceApp(routes, '1.0.0')
  t.after(() => reference.close())
  const before = converted
  assert.ok(before >= routes.length)
  assert.deepEqual(Object.keys(reference.swagger().paths ?? {}), ['/0', '/1', '/2'])
  assert.equal(converted, before)
})
