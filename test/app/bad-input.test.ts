import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { codeOf } from '../support/answers.ts'
import { type Answer, keys } from '../support/app.ts'
import { project } from '../support/calls.ts'
import { isWhole, picked, sampled } from '../support/campaign-share.ts'
import { documentedPath, documentOf, type Operation, type Schema } from '../support/openapi.ts'
import { addressOf, openAppWithRoutes } from '../support/routes.ts'
import {
  adminsOnly,
  instead,
  methodOf,
  needed,
  sampleBodies,
  sampleBodyOf,
} from '../support/sample-bodies.ts'
import { scriptedBackend, scriptedModel } from '../support/scripted-backend.ts'
import { changed, type Field, fieldsOf, formOf, missing, type Path } from './contract-fields.ts'

const samplesOfTypes: Record<string, unknown> = {
  string: 'x',
  number: 5.5,
  boolean: true,
  array: ['x'],
  object: { x: 1 },
}

/**
 * Values that the contract of a field does not allow. Of the wrong types a share, another one for each index:
 * named-fields.test.ts sends all of them.
 */
function badValues({ schema, nullable, path }: Field, index: number): unknown[] {
  const valuesOf = (isBad: (type: string) => boolean) =>
    sampled(
      Object.entries(samplesOfTypes).flatMap(([type, value]) => (isBad(type) ? [value] : [])),
      index,
    )
  const taken = schema.anyOf?.map((alternative) => alternative.type)
  if (taken) return [...valuesOf((type) => !taken.includes(type))]
  const { type, minimum, maximum, minLength, maxLength, maxItems, pattern, format } = schema
  if (type === undefined && schema.enum === undefined) return []
  const likeType = type === 'integer' ? 'number' : type
  const bad = [...valuesOf((name) => name !== likeType)]
  if (!nullable) bad.push(null)
  if (type === 'integer') bad.push(1.5)
  if (minimum !== undefined) bad.push(minimum - 1)
  if (maximum !== undefined) bad.push(maximum * 2, 1e300)
  if (minLength !== undefined) bad.push('')
  if (maxLength !== undefined) bad.push('x'.repeat(maxLength + 1))
  if (maxLength !== undefined && isWhole) bad.push('x'.repeat(1_000_000 + maxLength))
  if (maxItems !== undefined) bad.push(Array(maxItems + 1).fill('x'))
  if (pattern !== undefined || format !== undefined)
    bad.push(
      // A pattern may accept one of them.
      ...['', 'x', ' ', ...(isWhole ? ['x'.repeat(100_000)] : [])].filter(
        (text) => pattern === undefined || !new RegExp(pattern).test(text),
      ),
    )
  if (schema.enum !== undefined) bad.push('', 'another')
  if (path.at(-1) === 'project_id') bad.push('acme', 'acme/', '/qa', 'acme/q/a', ' acme/qa', 'acme/q\0a')
  return bad
}

/** Statuses of empty bodies that are not 200: one of several fields is needed, or the path names something unknown. */
const ofNoFields: Record<string, number> = {
  '/v2/:entity/:project/eval_results/query': 422,
  '/v2/:entity/:project/evaluation_runs/:evaluation_run_id/finish': 404,
  '/keys': 409,
  '/keys/:id/rotate': 404,
  '/budgets/:id': 404,
  '/users/:name/settings': 404,
}

/** Requests cannot change users of HEDDLE_USERS, create what exists, or move a label that is elsewhere. */
const conflicts = new Set([
  ...['/users', '/keys', '/budgets', '/alert_endpoints', '/alert_rules'],
  '/objs/:object_id/aliases/:alias/move',
])

const isTaken = (url: string, status: number) =>
  status === 200 || status === 202 || status === 404 || (status === 409 && conflicts.has(url))

/** The body without a field, and without the fields that need it. */
function without(url: string, body: Record<string, unknown>, path: Path, value: unknown) {
  const others = needed[url]?.[path.join('.')] ?? []
  const rest = others.reduce(
    (left, other) => changed(left, other.split('.'), missing),
    changed(body, path, value),
  )
  return { ...rest, ...instead[url]?.[path.join('.')] }
}

/** Under /v1 a body that does not fit is a 400, except on the route for traces. */
const isOfModels = (url: string) =>
  (url.startsWith('/v1/') && !/^\/v1\/(?:traces|logs|metrics)$/.test(url)) ||
  url.startsWith('/api/') ||
  /^(?:\/v[12])?\/(?:rerank|score|embed|infill)$/.test(url)

const unfit = (url: string) => (isOfModels(url) ? 400 : 422)

/** Fields that may accept `{"x": 1.5e3}`. */
const takesAnyObject = new Set([
  ...['text', 'state', 'params'],
  'reasoning',
  'context_management',
  ...[
    'query',
    'filter',
    'costs',
    'tolerance',
    'payload',
    'attributes',
    'eval_attributes',
    'inputs',
    'output',
    'value',
    'summary',
    'metadata',
    'kv_transfer_params',
  ],
  ...['chat_template_kwargs', 'mm_processor_kwargs', 'engine_xargs', 'vllm_xargs', 'stream_options'],
  ...['prompt_cache_options', 'ec_transfer_params', 'media_io_kwargs', 'image', 'access_programs'],
  ...['background_options'],
  ...['diagnostics', 'billing_policy', 'fallbacks', 'fallback_credit_token'],
  ...['format', 'options', 'repetition_detection', 'cache_control', 'context_management', 'output_config'],
])

function shortly(value: unknown): string {
  return value === missing ? 'missing' : (JSON.stringify(value)?.slice(0, 60) ?? 'undefined')
}

function assertNamed(answer: Answer, path: Path, given: string): void {
  const place = path.join('.')
  assert.ok(answer.status >= 400 && answer.status < 500, `${place} ${given}: ${answer.status} ${answer.text}`)
  const {
    reason = '',
    detail = [],
    error,
  } = answer.json as Partial<{
    reason: string
    detail: { loc: Path; msg: string }[]
    error: { message: string; param?: string | null } | string
  }>
  assert.equal(typeof codeOf(answer), 'string')
  const { message, param } = typeof error === 'string' ? { message: error } : (error ?? {})
  const named =
    reason.includes(place) ||
    param?.startsWith(place) ||
    // To clients of Anthropic and Ollama only the message can name a path.
    (param === undefined && message?.includes(place)) ||
    detail.some(({ loc }) => loc.slice(1, path.length + 1).join('.') === place)
  assert.ok(named, `${place} ${given} is not named: ${answer.text.slice(0, 300)}`)
}

/** With a model, for the routes that need one. No case depends on data of another. */
const backend = scriptedBackend()
backend.served = { ...scriptedModel, infill: { prefix: 1, suffix: 2, middle: 3, ends: [] } }
const opened = await openAppWithRoutes({ after }, { backend })
const forAdmins = new Set([...adminsOnly].map((url) => addressOf({ url })))
/** Sends as a user with access: some routes are for admins. */
const send: typeof opened.send = (method, url, body) =>
  opened.send(method, url, body, forAdmins.has(url) ? keys.root : keys.alice)

const { paths } = await documentOf(opened)

function operationOf(url: string): Partial<Operation> {
  return paths[documentedPath(url)]?.[methodOf(url).toLowerCase()] ?? {}
}

function bodySchemaOf(url: string): Schema {
  const schema = operationOf(url).requestBody?.content['application/json'].schema
  assert.ok(schema)
  return formOf(schema, sampleBodyOf(url, project))
}

test('every route with a body has a sample, and every sample has a route', () => {
  const urls = opened.routes.filter(({ takesBody, isHidden }) => takesBody && !isHidden).map(({ url }) => url)
  assert.deepEqual(new Set(Object.keys(sampleBodies)), new Set(urls))
})

for (const url of Object.keys(sampleBodies)) {
  // Accepts one of two fields: see test/app/page/sessions.test.ts.
  if (url === '/ui/session') continue
  const address = addressOf({ url })
  const method = methodOf(url)
  const sample = () => sampleBodyOf(url, project)
  const isPublic = opened.routes.some(
    (route) => route.url === url && route.method === method && route.isPublic,
  )

  test(`${url}: a field with a wrong value is named`, async () => {
    const { responses } = operationOf(url)
    assert.ok(responses)
    const asTaken = await send(method, address, sample())
    assert.ok(isTaken(url, asTaken.status), asTaken.text)
    const fields = [...fieldsOf(bodySchemaOf(url), sample())]
    assert.ok(fields.length > 0)
    for (const [index, field] of fields.entries()) {
      const bad = badValues(field, index)
      if (field.required) bad.push(missing)
      for (const value of bad) {
        const answer = await send(method, address, changed(sample(), field.path, value))
        // Without credentials the body is not read to its end.
        if (isPublic && codeOf(answer) === 'body_too_large') continue
        assertNamed(answer, field.path, shortly(value))
        assert.ok(String(answer.status) in responses, `${answer.status} is not documented`)
      }
    }
  })

  test(`${url}: an optional field may be missing or null`, async () => {
    const fields = fieldsOf(bodySchemaOf(url), sample())
    for (const [index, { path, required, nullable }] of [...fields].entries()) {
      for (const value of picked([...(nullable ? [null] : []), ...(required ? [] : [missing])], index)) {
        const { status, text } = await send(method, address, without(url, sample(), path, value))
        assert.ok(isTaken(url, status), `${path.join('.')} ${shortly(value)}: ${text}`)
      }
    }
  })

  test(`${url}: a body of another kind is refused`, async () => {
    const { required = [], additionalProperties } = bodySchemaOf(url)
    const withoutFields = ['{}', '{"x":1}', '{"__proto__":{}}']
    for (const body of ['null', 'true', '5', '"x"', '[]', '[{}]', ...withoutFields]) {
      const answer = await send(method, address, body)
      const { status } = answer
      if (required.length === 0 && withoutFields.includes(body)) {
        const isStrict = additionalProperties === false && body !== '{}'
        assert.equal(status, isStrict ? 422 : (ofNoFields[url] ?? (url in instead ? 400 : 200)), body)
        continue
      }
      assert.deepEqual([status, codeOf(answer)], [unfit(url), 'invalid_request'], body)
    }
  })

  test(`${url}: when a field is given twice the last one counts`, async () => {
    const text = JSON.stringify(sample())
    const { status } = await send(method, address, text)
    for (const [index, name] of Object.keys(sample()).entries()) {
      for (const bad of picked(['5', '"x"', '[[]]', 'null', '{"x":[1.0]}'], index)) {
        const first = await send(method, address, text.replace('{', `{"${name}":${bad},`))
        // Each of them may create something, until there is no room for more.
        const isSame = first.status === status || (status === 200 && isTaken(url, first.status))
        assert.ok(isSame, first.text)
      }
      const last = await send(method, address, text.replace(/\}$/, `,"${name}":{"x":1.5e3}}`))
      if (takesAnyObject.has(name)) assert.ok(last.status < 500, last.text)
      else assertNamed(last, [name], 'twice')
    }
  })

  test(`${url}: a body that is too deep is refused wherever it is deep`, async () => {
    const deep = `${'['.repeat(250)}1.0${']'.repeat(250)}`
    const nested = `${'{"a":'.repeat(250)}1${'}'.repeat(250)}`
    for (const value of [deep, nested]) {
      for (const name of [...sampled(Object.keys(sample())), 'unknown']) {
        const body = JSON.stringify({ ...sample(), [name]: '@' }).replace('"@"', value)
        const answer = await send(method, address, body)
        assert.deepEqual([answer.status, codeOf(answer)], [413, 'body_too_deep'], name)
      }
    }
  })

  test(`${url}: keys that are special in JavaScript have no effect`, async () => {
    const text = JSON.stringify(sample())
    const plain = await send(method, address, text)
    for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '']) {
      const members = `"${key}":{"project_id":"globex/qa","id":1,"batch":5}`
      const answer = await send(method, address, text.replace('{', `{${members},`))
      // Queries refuse unknown fields.
      if (answer.status === 422 && plain.status !== 422) {
        assert.match(answer.text, /"msg":"unknown field"/)
        assert.deepEqual(JSON.parse(answer.text).detail[0].loc, ['body', key])
      } else assert.equal(answer.status, plain.status, answer.text)
    }
  })

  test(`${url}: a body that is cut off at any position is not JSON`, async () => {
    const text = JSON.stringify(sample())
    const step = Math.ceil(text.length / (isWhole ? 50 : 10))
    for (let length = 1; length < text.length; length += step) {
      const answer = await send(method, address, text.slice(0, length))
      assert.deepEqual([answer.status, codeOf(answer)], [400, 'malformed_json'], text.slice(0, length))
    }
  })
}

test('an invalid project in a path is named', async () => {
  for (const [path, field] of [
    [`${'x'.repeat(255)}/qa`, 'path.entity'],
    [`acme/${'x'.repeat(255)}`, 'path.project'],
    [`${'x'.repeat(128)}/${'x'.repeat(128)}`, 'path.project'],
    ['acme/q%09a', 'path.project'],
    ['acme/q%2Fa', 'path.project'],
    ['acme/..%2F..', 'path.project'],
  ] as const) {
    const answer = await opened.post(`/v2/${path}/calls/complete`, { batch: [] })
    assert.equal(answer.status, 422)
    assert.ok(answer.json.reason.startsWith(`The path does not fit the schema: ${field}: expected `))
    assert.equal(answer.json.detail?.length, 1)
  }
})
