import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { z } from 'zod'
import { contractOf } from '../../src/body-contracts.ts'
import { traits } from '../../src/domain/fields.ts'
import { openApp } from '../support/app.ts'
import { project } from '../support/calls.ts'
import { addressOf, openAppWithRoutes } from '../support/routes.ts'
import { methodOf } from '../support/sample-bodies.ts'

/** Paths of a contract without a bound on the number of values, each of which would be named when it is wrong. */
function* unboundedIn(schema: z.ZodType, path = 'body'): Generator<string> {
  const { verbatim: kept, isTransparent, isLong } = traits.get(schema) ?? {}
  if (kept || (isTransparent && schema instanceof z.ZodPipe && schema.out instanceof z.ZodRecord)) return
  if (schema instanceof z.ZodArray) {
    const isBounded = isLong || schema.def.checks?.some((check) => 'maximum' in check._zod.def)
    if (!isBounded) yield path
    yield* unboundedIn(schema.element as z.ZodType, `${path}[]`)
  } else if (schema instanceof z.ZodObject) {
    for (const [name, member] of Object.entries(schema.shape as Record<string, z.ZodType>)) {
      yield* unboundedIn(member, `${path}.${name}`)
    }
  } else if (schema instanceof z.ZodUnion) {
    for (const option of schema.options) yield* unboundedIn(option as z.ZodType, path)
  } else if (schema instanceof z.ZodPipe) {
    yield* unboundedIn(schema.in as z.ZodType, path)
    yield* unboundedIn(schema.out as z.ZodType, path)
  } else if ([z.ZodNullable, z.ZodOptional, z.ZodLazy].some((kind) => schema instanceof kind)) {
    yield* unboundedIn((schema as z.ZodOptional<z.ZodType>).unwrap(), path)
  } else if (!isScalar(schema)) yield `${path} (${schema.def.type})`
}

function isScalar(schema: z.ZodType): boolean {
  return [
    z.ZodString,
    z.ZodISODateTime,
    z.ZodNumber,
    z.ZodBoolean,
    z.ZodNull,
    z.ZodEnum,
    z.ZodLiteral,
    z.ZodTransform,
  ].some((kind) => schema instanceof kind)
}

test('every list and record in a body has a bound', async (t) => {
  const { routes } = await openAppWithRoutes(t)
  const bodies = routes.filter(({ body }) => body !== undefined)
  assert.ok(bodies.length > 40)
  const unbounded = bodies.flatMap(({ url, body }) =>
    [...unboundedIn(body as z.ZodType)].map((place) => `${url} ${place}`),
  )
  assert.deepEqual(unbounded, [])
})

test('the threads that read large bodies know the contract of every route', async (t) => {
  const { routes } = await openAppWithRoutes(t)
  const bodies = routes.filter(({ body, contract }) => body !== undefined && contract !== undefined)
  assert.ok(bodies.length > 40)
  for (const { url, body, contract } of bodies) {
    assert.equal(await contractOf(contract as string), body, url)
  }
})

test('the walk over contracts finds lists and records without a bound', () => {
  const list = z.array(z.string())
  for (const [schema, places] of [
    [z.object({ a: z.object({ b: list.nullish() }) }), ['body.a.b']],
    [z.object({ a: z.array(z.object({ b: list })).max(3) }), ['body.a[].b']],
    [z.object({ a: z.record(z.string(), z.string()) }), ['body.a (record)']],
    [z.preprocess((value) => value, z.object({ a: list.min(1) })), ['body.a']],
    [z.object({ a: z.union([z.string(), list]) }), ['body.a']],
  ] as const) {
    assert.deepEqual([...unboundedIn(schema)], places)
  }
})

const many = 300_000
const wrong = '1,'.repeat(many - 1)

/** Bodies in which nearly everything is wrong: their messages are short, whatever their size. */
const bodies: [url: string, body: string, named: string][] = [
  ['/annotation_queues/:queue_id/items', `"call_ids":[${wrong}1]`, 'call_ids: expected at most 1000 entries'],
  ['/annotation_queues/stats', `"queue_ids":[${wrong}1]`, 'queue_ids: expected at most 1000 entries'],
  ['/monitors/stats', `"monitor_ids":[${wrong}1]`, 'monitor_ids: expected at most 100 entries'],
  ['/calls/delete', `"call_ids":[${wrong}1]`, 'call_ids: expected at most 1000 entries'],
  [
    '/calls/stream_query',
    `"filter":{"call_ids":[${wrong}1]}`,
    'filter.call_ids: expected at most 1000 entries',
  ],
  ['/obj/delete', `"object_id":"x","digests":[${wrong}1]`, 'digests: expected at most 100 entries'],
  ['/refs/read_batch', `"refs":[${wrong}1]`, 'refs: expected at most 1000 entries'],
  ['/otel/v1/traces', `"resourceSpans":[${wrong}1]`, 'resourceSpans: expected at most 50000 entries'],
  ['/otel/v1/logs', `"resourceLogs":[${wrong}1]`, 'resourceLogs: expected at most 50000 entries'],
  ['/otel/v1/metrics', `"resourceMetrics":[${wrong}1]`, 'resourceMetrics: expected at most 50000 entries'],
  [
    '/otel/v1/traces',
    `"resourceSpans":[${`{"scopeSpans":[${'1,'.repeat(29_999)}1]},`.repeat(9)}{}]`,
    'resourceSpans.0.scopeSpans.0: expected object, received number',
  ],
  [
    '/otel/v1/traces',
    `"resourceSpans":[{"scopeSpans":[${`{"spans":[${'1,'.repeat(29_999)}1]},`.repeat(9)}{}]}]`,
    'resourceSpans.0.scopeSpans.0.spans.0: expected an object, received 1',
  ],
  [
    '/cost/create',
    `"costs":{${Array.from({ length: many }, (_, n) => `"m${n}":1`).join()}}`,
    'costs: expected 1 to 1000 models',
  ],
  [
    '/table/create',
    `"table":{"project_id":"${project}","rows":[${wrong}1]}`,
    'table.rows.0: expected an object, received 1',
  ],
  ['/call/upsert_batch', `"batch":[${wrong}1]`, 'batch.0: expected object, received number'],
  ['/v2/:entity/:project/calls/complete', `"batch":[${wrong}1]`, 'batch.0: expected object, received number'],
  ['/feedback/batch/create', `"batch":[${wrong}1]`, 'batch.0: expected object, received number'],
]

const { post, send } = await openApp({ after })

for (const [url, body, named] of bodies) {
  test(`${url}: of very many wrong values few are named: ${named}`, async () => {
    const address = addressOf({ url })
    const { status, json } = await send(methodOf(url), address, `{"project_id":"${project}",${body}}`)
    assert.equal(status, 422)
    assert.ok(json.reason.startsWith(`The body does not fit the schema: ${named}`), json.reason.slice(0, 200))
    assert.ok(json.detail.length <= 10, `${json.detail.length} paths`)
  })
}

test('of a few wrong values every one is named', async () => {
  const { json } = await post('/calls/delete', { project_id: 5, call_ids: [1, 'x', 2] })
  assert.deepEqual(
    json.detail.map(({ loc }: { loc: unknown[] }) => loc.join('.')),
    ['body.project_id', 'body.call_ids.0', 'body.call_ids.2'],
  )
})
