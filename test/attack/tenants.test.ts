import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { keys, type Method, type TestApp } from '../support/app.ts'
import { openAppWithoutShedding } from '../support/app-without-shedding.ts'
import { completeOf } from '../support/calls.ts'
import { secret, storeOneOfEach, type Things } from '../support/one-of-each.ts'
import { dumpOf } from '../support/record-dump.ts'
import { withoutNamesAndTimes } from './tenant-answers.ts'

/** Plausible names of things that do not exist. */
function nothingAt(project: string): Things {
  const digest = () => randomUUID().replaceAll('-', '').padEnd(43, 'x')
  return {
    project,
    call: randomUUID(),
    trace: randomUUID(),
    object: 'missing',
    digest: digest(),
    alias: 'neverset',
    tag: 'nevertag',
    spec: 'nospec',
    table: randomUUID().replaceAll('-', '').padEnd(64, '0'),
    row: digest(),
    file: digest(),
    feedback: randomUUID(),
    queue: randomUUID(),
    rule: randomUUID(),
    item: randomUUID(),
    price: randomUUID(),
    monitor: randomUUID(),
    alertRule: randomUUID(),
    alertEndpoint: randomUUID(),
  }
}

type Request = [method: Method, url: string, body?: Record<string, unknown>]

const equals = (field: string, value: string) => ({
  $expr: { $eq: [{ $getField: field }, { $literal: value }] },
})

/** Every way to name a thing, in requests to a project. */
function requestsFor(things: Things, project_id: string): Request[] {
  const {
    call,
    trace,
    object,
    digest,
    alias,
    tag,
    spec,
    table,
    row,
    file,
    feedback,
    queue,
    rule,
    item,
    price,
    monitor,
    alertRule,
    alertEndpoint,
  } = things
  const ref = (path: string) => `weave:///${things.project}/${path}`
  const said = { feedback_type: 'thumbs', payload: {} }
  const ran = { feedback_type: `wandb.runnable.${object}`, payload: { output: 1 } }
  const judged = { feedback_type: `wandb.annotation.${spec}`, payload: { value: 1 } }
  const about = ref(`call/${call}`)
  const inQueue = `/annotation_queues/${queue}`
  const kinds = ['ops', 'datasets', 'scorers', 'evaluations', 'models']
  const posts: [url: string, fields: Record<string, unknown>][] = [
    ['/call/read', { id: call, include_costs: true, include_total_storage_size: true }],
    ['/calls/stream_query', { filter: { call_ids: [call] } }],
    ['/calls/stream_query', { filter: { trace_ids: [trace] } }],
    ['/calls/stream_query', { filter: { parent_ids: [call] } }],
    ['/calls/stream_query', { filter: { input_refs: [ref(`object/${object}:${digest}`)] } }],
    ['/calls/stream_query', { query: equals('id', call) }],
    ['/calls/stream_query', { query: equals('project_id', things.project) }],
    ['/calls/stream_query', { query: equals('annotation_queue_items.queue_id', queue) }],
    ['/calls/query_stats', { filter: { trace_ids: [trace] }, include_total_storage_size: true }],
    ['/calls/query_stats', { query: equals('annotation_queue_items.queue_id', queue) }],
    ['/calls/delete', { call_ids: [call] }],
    ['/obj/read', { object_id: object, digest }],
    ['/obj/read', { object_id: object, digest: 'latest' }],
    ['/obj/read', { object_id: object, digest: 'v0' }],
    ['/obj/read', { object_id: object, digest: alias }],
    ['/objs/query', { filter: { object_ids: [object] } }],
    ['/objs/query', { filter: { tags: [tag], aliases: [alias] }, include_tags_and_aliases: true }],
    ['/obj/delete', { object_id: object }],
    ['/obj/delete', { object_id: object, digests: [digest] }],
    [`/objs/${object}/versions/${digest}/tags/remove`, { tags: [tag] }],
    [`/objs/${object}/aliases/remove`, { aliases: [alias] }],
    ['/table/query', { digest: table }],
    ['/table/query', { digest: table, filter: { row_digests: [row] } }],
    ['/table/query_stats', { digest: table }],
    ['/table/query_stats_batch', { digests: [table], include_storage_size: true }],
    ['/table/update', { base_digest: table, updates: [] }],
    ['/table/create_from_digests', { row_digests: [row] }],
    ['/file/content', { digest: file }],
    ['/files/content', { digest: file }],
    ['/feedback/query', { query: equals('id', feedback) }],
    ['/feedback/query', { query: equals('svc_ref', about) }],
    ['/feedback/query', { query: equals('queue_id', queue), fields: ['count(*)'] }],
    ['/feedback/purge', { query: equals('id', feedback) }],
    ['/feedback/create', { svc_ref: about, ...said, queue_id: queue }],
    ['/feedback/create', { svc_ref: about, ...judged, annotation_ref: ref(`object/${spec}:latest`) }],
    ['/feedback/create', { svc_ref: about, ...judged, annotation_ref: ref(`object/${object}:${digest}`) }],
    [
      '/feedback/create',
      {
        svc_ref: about,
        ...ran,
        runnable_ref: ref(`op/${object}:${digest}`),
        call_ref: about,
        trigger_ref: ref(`object/${object}:latest`),
      },
    ],
    ['/feedback/replace', { svc_ref: about, ...said, feedback_id: feedback }],
    [`${inQueue}/items`, { call_ids: [call] }],
    [`${inQueue}/items/query`, {}],
    [`${inQueue}/items/${item}/progress`, { annotation_state: 'completed' }],
    [`${inQueue}/next`, {}],
    [`${inQueue}/rules`, { pick: { kind: 'all' } }],
    [`${inQueue}/items/query`, { filter: { rule_id: rule } }],
    ['/annotation_queues/stats', { queue_ids: [queue] }],
    ['/monitors/stats', { monitor_ids: [monitor] }],
    [`/monitors/${monitor}/run`, {}],
    [`/monitors/${monitor}/runs/${monitor}/cancel`, {}],
    ['/monitors', { name: 'm', scorers: [{ scorer: ref(`object/${object}:latest`) }] }],
    [`/alert_endpoints/${alertEndpoint}/test`, {}],
    [`/alert_endpoints/${alertEndpoint}/rotate`, {}],
    [`/alert_endpoints/${alertEndpoint}/replay`, {}],
    ['/alert_events/query', { rule_id: alertRule }],
    ['/alert_rules', { name: 'r', on: 'call', endpoint_ids: [alertEndpoint] }],
    ['/cost/query', { query: equals('id', price) }],
    ['/cost/purge', { query: equals('id', price) }],
  ]
  const atProject = encodeURIComponent(project_id)
  return [
    ...posts.map(([url, fields]): Request => ['POST', url, { project_id, ...fields }]),
    ['PUT', `/objs/${object}/versions/${digest}/tags`, { project_id, tags: [tag] }],
    ['PUT', `/objs/${object}/aliases`, { project_id, digest, aliases: [alias] }],
    ['PUT', inQueue, { project_id, name: 'mine now' }],
    ['GET', `${inQueue}?project_id=${atProject}`],
    ['GET', `${inQueue}/rules?project_id=${atProject}`],
    ['PUT', `${inQueue}/rules/${rule}`, { project_id, paused: true }],
    ['DELETE', `${inQueue}/rules/${rule}?project_id=${atProject}`],
    ['DELETE', `${inQueue}?project_id=${atProject}`],
    ['PUT', `/alert_rules/${alertRule}`, { project_id, name: 'mine now' }],
    ['DELETE', `/alert_rules/${alertRule}?project_id=${atProject}`],
    ['PUT', `/alert_endpoints/${alertEndpoint}`, { project_id, name: 'mine now' }],
    ['DELETE', `/alert_endpoints/${alertEndpoint}?project_id=${atProject}`],
    ['PUT', `/monitors/${monitor}`, { project_id, name: 'mine now' }],
    ['GET', `/monitors/${monitor}/runs?project_id=${atProject}`],
    ['GET', `/monitors/${monitor}?project_id=${atProject}`],
    ['DELETE', `/monitors/${monitor}?project_id=${atProject}`],
    ...kinds.flatMap((kind): Request[] => [
      ['GET', `/v2/${project_id}/${kind}`],
      ['GET', `/v2/${project_id}/${kind}/${object}/versions/${digest}`],
      ['DELETE', `/v2/${project_id}/${kind}/${object}`],
    ]),
  ]
}

/** Refs name the project of the thing themselves, whatever project the request names. */
function referencesTo({ project, object, digest, alias, table, row, call }: Things): Request[] {
  return [
    `object/${object}:${digest}`,
    `object/${object}:latest`,
    `object/${object}:v0`,
    `object/${object}:${alias}/attr/secret`,
    `op/${object}:${digest}`,
    `table/${table}`,
    `call/${call}`,
    `object/${object}:${digest}/attr/rows/id/${row}`,
  ].map((path) => ['POST', '/refs/read_batch', { refs: [`weave:///${project}/${path}`] }])
}

async function openTenants(t: TestContext): Promise<TestApp & { theirs: Things }> {
  const opened = await openAppWithoutShedding(t)
  const theirs = await storeOneOfEach(opened, 'acme/qa', keys.alice)
  return { ...opened, theirs }
}

const isBobs = (project: string) => project.startsWith('globex/')

test('P6: a thing of another tenant and one that does not exist get the same answer', async (t) => {
  const { send, theirs, database } = await openTenants(t)
  const missing = nothingAt(theirs.project)
  const before = await dumpOf(database, isBobs)
  const asBob = async (things: Things, [method, url, body]: Request) => {
    const answer = await send(method, url, body, keys.bob)
    assert.ok(answer.status < 500, `${url}: ${answer.text}`)
    assert.ok(!answer.text.includes(secret), `${url}: ${answer.text}`)
    return withoutNamesAndTimes(answer, things)
  }
  const all = (things: Things) => [
    ...requestsFor(things, things.project),
    ...requestsFor(things, 'globex/qa'),
    ...referencesTo(things),
  ]
  const ofNothing = all(missing)
  for (const [index, request] of all(theirs).entries()) {
    const answer = await asBob(theirs, request)
    assert.deepEqual(answer, await asBob(missing, ofNothing[index] as Request), JSON.stringify(request))
    const [, , body] = request
    if (body?.project_id === theirs.project) assert.equal(answer.status, 403, JSON.stringify(request))
  }
  assert.deepEqual(await dumpOf(database, isBobs), before)

  // The owner gets different answers, so there was a difference to hide.
  let different = 0
  const ofOwner = async (things: Things, [method, url, body]: Request) =>
    withoutNamesAndTimes(await send(method, url, body), things)
  const asked = requestsFor(missing, missing.project)
  for (const [index, request] of requestsFor(theirs, theirs.project).entries()) {
    const told = await ofOwner(theirs, request)
    const toldOfNothing = await ofOwner(missing, asked[index] as Request)
    if (told.status !== toldOfNothing.status || told.text !== toldOfNothing.text) different++
  }
  assert.ok(different > 25, `${different} answers differ`)
})

test('P6: calls of another tenant under the same ids stay apart', async (t) => {
  const { post, theirs } = await openTenants(t)
  const { call: id, trace: trace_id } = theirs
  const read = { project_id: 'acme/qa', id, include_total_storage_size: true }
  const found = {
    project_id: 'acme/qa',
    filter: { trace_ids: [trace_id] },
    include_feedback: true,
    include_total_storage_size: true,
  }
  const before = [(await post('/call/read', read)).json, (await post('/calls/stream_query', found)).text]
  const project_id = 'globex/qa'
  const inner = completeOf({ project_id, trace_id, parent_id: id })
  const batch = [completeOf({ project_id, id, trace_id, display_name: 'mine' }), inner]
  for (const [url, body] of [
    ['/v2/globex/qa/calls/complete', { batch }],
    ['/call/update', { project_id, call_id: id, display_name: 'mine too' }],
    [
      '/feedback/create',
      { project_id, svc_ref: `weave:///acme/qa/call/${id}`, feedback_type: 'thumbs', payload: { up: false } },
    ],
    ['/calls/delete', { project_id, call_ids: [id] }],
  ] as const) {
    assert.equal((await post(url, body, keys.bob)).status, 200, url)
  }
  assert.equal((await post('/call/read', { project_id, id: inner.id }, keys.bob)).status, 404)
  assert.deepEqual(
    [(await post('/call/read', read)).json, (await post('/calls/stream_query', found)).text],
    before,
  )
})

test('P6: refs to another tenant in the values of a tenant are not followed', async (t) => {
  const { post, theirs } = await openTenants(t)
  const project_id = 'globex/qa'
  const refs = [theirs, nothingAt(theirs.project)].map(
    ({ object, digest }) => `weave:///acme/qa/object/${object}:${digest}`,
  )
  const calls = refs.map((ref) => completeOf({ project_id, inputs: { ref, deep: [{ ref }] }, output: ref }))
  assert.equal((await post('/v2/globex/qa/calls/complete', { batch: calls }, keys.bob)).status, 200)
  const expanded = { project_id, expand_columns: ['inputs.ref', 'inputs.deep.0.ref', 'output'] }
  for (const [index, ref] of refs.entries()) {
    const body = { ...expanded, filter: { call_ids: [calls[index]?.id] } }
    const { text } = await post('/calls/stream_query', body, keys.bob)
    const { inputs, output } = JSON.parse(text)
    assert.deepEqual([inputs, output], [{ ref, deep: [{ ref }] }, ref])
  }
  const answers = []
  for (const [index, ref] of refs.entries()) {
    const obj = {
      project_id,
      object_id: `bait${index}`,
      val: { ref, rows: `weave:///acme/qa/table/${theirs.table}` },
    }
    assert.equal((await post('/obj/create', { obj }, keys.bob)).status, 200)
    for (const path of ['attr/ref/attr/secret', `attr/rows/id/${theirs.row}`]) {
      const bait = `weave:///globex/qa/object/bait${index}:v0/${path}`
      const { status, text } = await post('/refs/read_batch', { refs: [bait] }, keys.bob)
      answers.push([index, status, text])
    }
  }
  const ofTheirs = answers.filter(([index]) => index === 0).map(([, ...answer]) => answer)
  assert.deepEqual(
    ofTheirs.map(([status]) => status),
    [403, 403],
  )
  assert.deepEqual(
    ofTheirs,
    answers.filter(([index]) => index === 1).map(([, ...answer]) => answer),
  )
})

test('P6: OpenTelemetry spans are not stored in a project without access', async (t) => {
  const { app, database } = await openTenants(t)
  const before = await dumpOf(database, () => false)
  const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } })
  const resourceOf = (entity: string) => ({
    attributes: [attribute('wandb.entity', entity), attribute('wandb.project', 'qa')],
  })
  const spans = [
    {
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      name: 'chat',
      startTimeUnixNano: '1767323045123456789',
      endTimeUnixNano: '1767323046500000999',
    },
  ]
  const sent = (...entities: string[]) => ({
    resourceSpans: entities.map((entity) => ({ resource: resourceOf(entity), scopeSpans: [{ spans }] })),
  })
  const authorization = `Bearer ${keys.bob}`
  for (const [payload, header] of [
    [sent('acme'), 'globex/qa'],
    [sent('globex', 'acme'), 'globex/qa'],
    [sent('globex'), 'acme/qa'],
    [{ resourceSpans: [{ scopeSpans: [{ spans }] }] }, 'acme/qa'],
  ] as const) {
    const headers = { authorization, project_id: header, 'content-type': 'application/json' }
    const answer = await app.inject({ method: 'POST', url: '/otel/v1/traces', headers, payload })
    assert.equal(answer.statusCode, 403, answer.body)
  }
  assert.deepEqual(await dumpOf(database, () => false), before)
})
