import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Grant } from '../../../src/domain/roles.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { basic, keys, openApp } from '../../support/app.ts'
import { completeOf } from '../../support/calls.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'

const app = await openApp({ after })
const { get, post, send } = app

type Given = { scope: string; role: string }
type Answered = Awaited<ReturnType<typeof get>>

/** Creates a user with these grants; returns its key. */
async function made(name: string, ...grants: Given[]): Promise<string> {
  const { status, json, text } = await post('/users', { name, grants }, keys.root)
  assert.equal(status, 200, text)
  return json.key.key
}

const outcome = ({ status, json }: Answered) => [status, json?.code]
const grant = (name: string, grants: Given[], as = keys.root) =>
  send('PUT', `/users/${name}/grants`, { grants }, as)

test('an annotator sees the queue, its calls, their feedback and its questions, and nothing else', async () => {
  const project_id = 'acme/review'
  const calls = [completeOf({ project_id }), completeOf({ project_id })]
  assert.equal((await post('/v2/acme/review/calls/complete', { batch: calls })).status, 200)
  const [queued = '', other = ''] = calls.map(({ id }) => id as string)
  const spec = {
    project_id,
    object_id: 'rating',
    val: { name: 'rating', field_schema: { type: 'number' } },
    builtin_object_class: 'AnnotationSpec',
  }
  const { digest } = (await post('/obj/create', { obj: spec })).json
  const hidden = { project_id, object_id: 'private', val: { secret: 1 } }
  const { digest: hiddenDigest } = (await post('/obj/create', { obj: hidden })).json
  const ref = `weave:///${project_id}/object/rating:${digest}`
  const { id: queue } = (await post('/annotation_queues', { project_id, name: 'hard', scorer_refs: [ref] }))
    .json
  const added = await post(`/annotation_queues/${queue}/items`, { project_id, call_ids: [queued] })
  assert.equal(added.json.added_count, 1)
  const about = (call: string) => ({
    project_id,
    weave_ref: `weave:///${project_id}/call/${call}`,
    feedback_type: 'wandb.note.1',
    payload: { note: 'seen' },
  })
  const foreign = (await post('/feedback/create', about(queued))).json
  assert.equal((await post('/feedback/create', about(other))).status, 200)

  const ann = await made('ann', { scope: project_id, role: 'annotator' })
  const next = await post(`/annotation_queues/${queue}/next`, { project_id }, ann)
  assert.equal(next.json.item.call_id, queued, next.text)
  assert.equal((await post('/call/read', { project_id, id: queued }, ann)).status, 200)
  const unseen = await post('/call/read', { project_id, id: other }, ann)
  const unknown = await post('/call/read', { project_id, id: '01234567-89ab-7def-8123-456789abcdef' }, ann)
  assert.deepEqual([outcome(unseen), outcome(unknown)], Array(2).fill([404, 'call_not_found']))
  assert.equal((await post('/obj/read', { project_id, object_id: 'rating', digest }, ann)).status, 200)
  const object = await post('/obj/read', { project_id, object_id: 'private', digest: hiddenDigest }, ann)
  assert.deepEqual(outcome(object), [404, 'object_not_found'])
  for (const [url, body] of [
    ['/calls/stream_query', { project_id }],
    ['/calls/export', { project_id }],
    ['/views/calls', { project_id }],
    ['/refs/read_batch', { refs: [ref] }],
  ] as const) {
    assert.deepEqual(outcome(await post(url, body, ann)), [403, 'role_forbidden'], url)
  }

  const hiddenSpec = {
    ...spec,
    object_id: 'unasked',
    val: { name: 'unasked', field_schema: { enum: ['hidden choice'] } },
  }
  const unasked = (await post('/obj/create', { obj: hiddenSpec })).json.digest
  const annotated = (name: string, version: string, as?: string) => {
    const annotation_ref = `weave:///${project_id}/object/${name}:${version}`
    const feedback_type = `wandb.annotation.${name}`
    const entry = { ...about(queued), feedback_type, annotation_ref, payload: { value: 'other' } }
    return post('/feedback/create', entry, as)
  }
  assert.deepEqual(outcome(await annotated('unasked', unasked)), [400, 'annotation_mismatch'])
  assert.deepEqual(outcome(await annotated('rating', digest, ann)), [400, 'annotation_mismatch'])
  for (const [name, version] of [
    ['unasked', unasked],
    ['private', hiddenDigest],
    ['missing', unasked],
  ]) {
    assert.deepEqual(outcome(await annotated(name, version, ann)), [404, 'object_not_found'], name)
  }

  const own = (await post('/feedback/create', about(queued), ann)).json
  assert.deepEqual(outcome(await post('/feedback/create', about(other), ann)), [404, 'call_not_found'])
  const batch = { batch: [about(queued), about(other)] }
  assert.deepEqual(outcome(await post('/feedback/batch/create', batch, ann)), [404, 'call_not_found'])
  const seen = (await post('/feedback/query', { project_id }, ann)).json.result
  assert.deepEqual(seen.map(({ id }: { id: string }) => id).sort(), [foreign.id, own.id].sort())
  const byId = (id: string) => ({ $expr: { $eq: [{ $getField: 'id' }, { $literal: id }] } })
  for (const { id } of [foreign, own]) await post('/feedback/purge', { project_id, query: byId(id) }, ann)
  const left = (await post('/feedback/query', { project_id }, ann)).json.result
  assert.deepEqual(
    left.map(({ id }: { id: string }) => id),
    [foreign.id],
    "another's feedback stays",
  )

  // The role falls while the lease runs.
  assert.equal((await grant('ann', [{ scope: project_id, role: 'viewer' }])).status, 200)
  const progress = `/annotation_queues/${queue}/items/${next.json.item.id}/progress`
  const done = { project_id, annotation_state: 'completed' }
  assert.deepEqual(outcome(await post(progress, done, ann)), [403, 'role_forbidden'])
  assert.equal((await post('/call/read', { project_id, id: other }, ann)).status, 200)
})

test('who reads and reviews but does not write removes and replaces only its own feedback', async () => {
  const project_id = 'acme/notes'
  const call = completeOf({ project_id })
  assert.equal((await post(`/v2/${project_id}/calls/complete`, { batch: [call] })).status, 200)
  const note = {
    project_id,
    weave_ref: `weave:///${project_id}/call/${call.id}`,
    feedback_type: 'wandb.note.1',
    payload: { note: 'seen' },
  }
  const { id } = (await post('/feedback/create', note)).json
  const grants = ['viewer', 'annotator'].map((role) => ({ scope: project_id, role }))
  const both = await made('both', ...grants)
  const { key: limited } = (await post('/keys', { scopes: ['read', 'review'] }, keys.alice)).json
  const query = { $expr: { $eq: [{ $getField: 'id' }, { $literal: id }] } }
  await post('/feedback/purge', { project_id, query }, both)
  await post('/feedback/replace', { ...note, feedback_id: id }, both)
  const left = (await post('/feedback/query', { project_id, query })).json.result
  assert.equal(left.length, 1)
  await post('/feedback/purge', { project_id, query }, limited)
  assert.equal((await post('/feedback/query', { project_id, query })).json.result.length, 0)
})

test('the id of an answer leads an annotator to no call that is in no queue', async (t) => {
  const { app: served, post } = await openApp(t, { backend: scriptedBackend() })
  const project_id = 'acme/review'
  const asked = await served.inject({
    method: 'POST',
    url: '/v1/chat/completions',
    headers: { authorization: basic(keys.alice), 'x-heddle-project': project_id },
    payload: { messages: [{ role: 'user', content: 'hi' }] },
  })
  const call = completeOf({ project_id })
  await post('/v2/acme/review/calls/complete', { batch: [call] })
  const { id: queue } = (await post('/annotation_queues', { project_id, name: 'q', scorer_refs: [] })).json
  await post(`/annotation_queues/${queue}/items`, { project_id, call_ids: [call.id] })
  const grants = [{ scope: project_id, role: 'annotator' }]
  const { key } = (await post('/users', { name: 'guest', grants }, keys.root)).json.key
  const refTo = (id: string) => `weave:///${project_id}/call/${id}`
  const call_ref = refTo(asked.json().id)
  const note = {
    project_id,
    feedback_type: 'note',
    payload: {},
    weave_ref: refTo(call.id as string),
    call_ref,
  }
  const refs: string[] = []
  for (const as of [key, keys.alice]) {
    const { id } = (await post('/feedback/create', note, as)).json
    const query = { $expr: { $eq: [{ $getField: 'id' }, { $literal: id }] } }
    const { json } = await post('/feedback/query', { project_id, fields: ['call_ref'], query }, as)
    refs.push(json.result[0].call_ref)
  }
  assert.equal(refs[0], call_ref)
  assert.notEqual(refs[1], call_ref)
})

test('a deleted queue shows its calls to annotators no longer', async () => {
  const project_id = 'acme/gone'
  const call = completeOf({ project_id })
  await post('/v2/acme/gone/calls/complete', { batch: [call] })
  const { id } = (await post('/annotation_queues', { project_id, name: 'q', scorer_refs: [] })).json
  await post(`/annotation_queues/${id}/items`, { project_id, call_ids: [call.id] })
  const key = await made('gone', { scope: 'acme', role: 'annotator' })
  assert.equal((await post('/call/read', { project_id, id: call.id }, key)).status, 200)
  await send('DELETE', `/annotation_queues/${id}?project_id=${encodeURIComponent(project_id)}`)
  assert.deepEqual(outcome(await post('/call/read', { project_id, id: call.id }, key)), [
    404,
    'call_not_found',
  ])
})

test('an admin of an entity gives roles there, keeps those elsewhere, and raises nobody beyond', async () => {
  const lead = await made('lead', { scope: 'acme', role: 'admin' })
  const key = await made('member-1', { scope: 'acme', role: 'viewer' }, { scope: 'globex', role: 'editor' })
  assert.equal((await grant('member-1', [{ scope: 'acme/qa', role: 'editor' }], lead)).status, 200)
  const { grants, operations } = (await get('/me', key)).json
  assert.deepEqual(
    grants.map(({ scope, role }: Given) => [scope, role]),
    [
      ['globex', 'editor'],
      ['acme/qa', 'editor'],
    ],
  )
  assert.ok(operations.includes('write') && !operations.includes('administer'))
  for (const [scope, code] of [
    ['*', 'entity_forbidden'],
    ['globex', 'entity_forbidden'],
  ] as const) {
    assert.deepEqual(outcome(await grant('member-1', [{ scope, role: 'admin' }], lead)), [403, code])
  }
  const self = await grant('lead', [{ scope: 'acme', role: 'admin' }], lead)
  assert.deepEqual(outcome(self), [409, 'own_user_stays'])
  assert.deepEqual(outcome(await get('/users', lead)), [403, 'role_forbidden'])
  assert.deepEqual(outcome(await grant('bob', [], keys.root)), [409, 'user_configured'])
  const listed = (await get('/users', keys.root)).json.users
  assert.deepEqual(
    listed.find(({ name }: { name: string }) => name === 'alice').grants,
    [{ scope: 'acme', role: 'editor' }],
    'a member from before is an editor',
  )
})

test('only operators change the grants of an operator, who remains one unless a grant said so', async () => {
  const lead = await made('lead-2', { scope: 'acme', role: 'admin' })
  const added = await post('/users', { name: 'op', role: 'admin', entities: ['acme'] }, keys.root)
  const op = added.json.key.key
  assert.deepEqual(outcome(await grant('op', [], lead)), [403, 'role_forbidden'])
  const { key: administering } = (await post('/keys', { scopes: ['administer'] }, op)).json
  await post('/users', { name: 'op-2', role: 'admin', entities: ['acme'] }, keys.root)
  assert.deepEqual(outcome(await grant('op-2', [], administering)), [403, 'scope_forbidden'])
  for (const grants of [[{ scope: 'acme', role: 'viewer' }], []]) {
    assert.equal((await grant('op', grants)).status, 200)
    const me = (await get('/me', op)).json
    assert.equal(me.role, 'admin')
    assert.deepEqual(
      me.grants.map(({ scope, role }: Given) => ({ scope, role })),
      grants,
    )
    assert.equal((await get('/users', op)).status, 200)
  }
  await grant('op', [{ scope: '*', role: 'admin' }])
  await grant('op', [{ scope: 'acme', role: 'viewer' }])
  assert.equal((await get('/me', op)).json.role, 'member')
})

test('an operator who only reads an entity gives nobody more there', async () => {
  const grants = [{ scope: 'umbrella', role: 'viewer' }]
  const steward = { name: 'steward', role: 'admin', entities: ['acme'], grants }
  const { key } = (await post('/users', steward, keys.root)).json.key
  assert.equal((await post('/users', { name: 'umbra', entities: ['umbrella'] }, keys.root)).status, 200)
  for (const [url, body] of [
    ['/users', { name: 'puppet', entities: ['umbrella'] }],
    ['/keys', { user: 'umbra' }],
    ['/budgets', { scope: 'entity', subject: 'umbrella', window: 'day', amount: '1' }],
  ] as const)
    assert.deepEqual(outcome(await post(url, body, key)), [403, 'role_forbidden'], url)
  const limit = { scope: 'project', subject: 'umbrella/core', window: 'day', amount: '1' }
  const { id } = (await post('/budgets', limit, keys.root)).json.budget
  const changed = await send('PUT', `/budgets/${id}`, { amount: '9' }, key)
  assert.deepEqual(outcome(changed), [403, 'role_forbidden'])
  assert.deepEqual(outcome(await send('DELETE', `/budgets/${id}`, undefined, key)), [403, 'role_forbidden'])
  assert.equal((await get('/budgets', key)).json.budgets[0].amount, '1')
  assert.equal((await post('/users', { name: 'helper', entities: ['acme'] }, key)).status, 200)
  assert.equal((await post('/keys', { user: 'helper' }, key)).status, 200)
})

test('the projects of a user are those of its grants', async () => {
  for (const project of ['acme/listed', 'acme/other'])
    assert.equal(
      (await post('/obj/create', { obj: { project_id: project, object_id: 'x', val: 1 } })).status,
      200,
    )
  const key = await made('narrow', { scope: 'acme/listed', role: 'viewer' })
  const { projects } = (await get('/projects', key)).json
  assert.deepEqual(
    projects.map(({ project }: { project: string }) => project),
    ['acme/listed'],
  )
})

test('a key does what its scopes say, and makes no wider or longer one', async () => {
  const whole = await made('keeper', { scope: 'acme', role: 'editor' })
  const later = '2200-01-01T00:00:00Z'
  const limited = await post('/keys', { scopes: ['read', 'keys'], expires_at: later }, whole)
  assert.equal(limited.status, 200, limited.text)
  const { key } = limited.json
  assert.equal((await post('/calls/query_stats', { project_id: 'acme/qa' }, key)).status, 200)
  const refused = await post('/obj/create', { obj: { project_id: 'acme/qa', object_id: 'x', val: 1 } }, key)
  assert.deepEqual(outcome(refused), [403, 'scope_forbidden'])
  assert.match(refused.json.reason, /write_calls/)
  assert.deepEqual((await get('/me', key)).json.operations, ['own', 'keys', 'read_queues', 'read'])
  for (const body of [{}, { scopes: ['write'] }, { scopes: ['read', 'infer'] }])
    assert.deepEqual(outcome(await post('/keys', body, key)), [403, 'scope_forbidden'])
  const longer = { scopes: ['read'], expires_at: '2300-01-01T00:00:00Z' }
  assert.deepEqual(outcome(await post('/keys', longer, key)), [403, 'key_outlives'])
  const child = (await post('/keys', { scopes: ['read'] }, key)).json
  const listed = (await get('/keys', whole)).json.keys
  assert.deepEqual(
    listed
      .slice(1)
      .map(({ scopes, expires_at }: { scopes: string[]; expires_at: string }) => [
        scopes,
        new Date(expires_at).toISOString(),
      ]),
    [
      [['read', 'keys'], '2200-01-01T00:00:00.000Z'],
      [['read'], '2200-01-01T00:00:00.000Z'],
    ],
  )
  assert.deepEqual(outcome(await get('/keys', child.key)), [403, 'scope_forbidden'])
  const past = await post('/keys', { expires_at: '2020-01-01T00:00:00Z' }, whole)
  assert.deepEqual(outcome(past), [400, 'invalid_value'])
})

test('a key without the scope read learns nothing of calls by trying scorers on them', async () => {
  const whole = await made('trier', { scope: 'acme/qa', role: 'editor' })
  const tried = async (...scopes: string[]) => {
    const { key } = (await post('/keys', { scopes }, whole)).json
    const check = { kind: 'contains', field: 'output', any_of: ['swordfish'] }
    return post('/v2/acme/qa/scorers/try', { call_ids: ['x'], check }, key)
  }
  assert.deepEqual(outcome(await tried('infer')), [403, 'scope_forbidden'])
  assert.equal((await tried('infer', 'read')).status, 200)
})

test('a key that only asks models makes no version of an evaluation by running one', async () => {
  const whole = await made('runner', { scope: 'acme/qa', role: 'editor' })
  const { key } = (await post('/keys', { scopes: ['infer'] }, whole)).json
  const dataset = 'weave:///acme/qa/object/d:latest'
  const run = { name: 'e', dataset, settings: [{ name: 's', request: { model: 'any' } }] }
  const rescoring = { project_id: 'acme/qa', source_evaluation_run_id: 'x', scorer_refs: ['x'] }
  for (const [url, body] of [
    ['/v2/acme/qa/evaluation_runs/serve', run],
    ['/evaluations/rescore', rescoring],
  ] as const) {
    assert.deepEqual(outcome(await post(url, body, key)), [403, 'scope_forbidden'], url)
    assert.notEqual((await post(url, body, whole)).json.code, 'scope_forbidden')
  }
})

test('a key without the scope infer has no judge ask a model later', async () => {
  const whole = await made('judging', { scope: 'acme/qa', role: 'editor' })
  const scoring = async (name: string, fields: object) => {
    const { json, text } = await post('/v2/acme/qa/scorers', { name, ...fields }, whole)
    assert.ok(json.scorer, text)
    return json.scorer as string
  }
  const asked = (prompt: string) => ({ model: 'any', prompt, schema: { type: 'object' } })
  const judge = await scoring('judge', { judge: asked('Is {output} right?') })
  const marks = { _type: 'Scorer', _class_name: 'Scorer', _bases: ['Object', 'BaseModel'] }
  const val = { ...marks, judge: asked('Is {output} short?') }
  const judgeObject = { project_id: 'acme/qa', object_id: 'judge', val }
  const check = await scoring('check', { check: { kind: 'length', max: 9 } })
  const { key } = (await post('/keys', { scopes: ['read', 'write'] }, whole)).json
  const monitor = (scorer: string, as = key) =>
    post('/monitors', { project_id: 'acme/qa', name: 'm', scorers: [{ scorer }] }, as)
  const ofCheck = (await monitor(check)).json.monitor
  const ofJudge = (await monitor(judge, whole)).json.monitor
  const change = (id: string, fields: object) =>
    send('PUT', `/monitors/${id}`, { project_id: 'acme/qa', ...fields }, key)
  const run = (id: string) => post(`/monitors/${id}/run`, { project_id: 'acme/qa' }, key)
  const shadow = { version: 'v0', share: 1, scorer: judge }
  for (const refused of [
    await monitor(judge),
    await change(ofCheck.id, { scorers: [{ scorer: judge }] }),
    await change(ofJudge.id, { sampling_rate: 1 }),
    await run(ofJudge.id),
    await post('/calls/score', { project_id: 'acme/qa', call_ids: ['x'], scorer_refs: [judge] }, key),
    await send('PUT', '/objs/p/aliases/live/shadow', { project_id: 'acme/qa', shadow }, key),
    await post('/v2/acme/qa/scorers', { name: 'judge', judge: asked('Is {output} long?') }, key),
    await post('/obj/create', { obj: judgeObject }, key),
  ])
    assert.deepEqual(outcome(refused), [403, 'scope_forbidden'], refused.text)
  assert.equal((await change(ofCheck.id, { sampling_rate: 0.5 })).status, 200)
  assert.equal((await run(ofCheck.id)).status, 200)
  assert.equal((await change(ofJudge.id, { active: false })).status, 200)
})

test('a key without the scope read has nothing of calls told to an address or in proposals', async () => {
  const whole = await made('telling', { scope: 'acme/qa', role: 'editor' })
  const { key } = (await post('/keys', { scopes: ['write', 'infer'] }, whole)).json
  const endpoint = { project_id: 'acme/qa', name: 'out', url: 'https://example.com/hook' }
  const { id } = (await post('/alert_endpoints', endpoint, whole)).json.endpoint
  const address = { project_id: 'acme/qa', url: 'https://example.com/other' }
  for (const refused of [
    await post('/alert_endpoints', endpoint, key),
    await send('PUT', `/alert_endpoints/${id}`, address, key),
    await post('/objs/support/proposals', { project_id: 'acme/qa', run: 'none' }, key),
  ])
    assert.deepEqual(outcome(refused), [403, 'scope_forbidden'], refused.text)
})

test('a key that only asks models begins and resumes no run of an evaluation', async () => {
  const whole = await made('resuming', { scope: 'acme/qa', role: 'editor' })
  const { key } = (await post('/keys', { scopes: ['infer'] }, whole)).json
  const run = '/v2/acme/qa/evaluation_runs/019a9c1e-0000-7000-8000-000000000000/resume'
  assert.deepEqual(outcome(await post(run, {}, key)), [403, 'scope_forbidden'])
  assert.deepEqual(outcome(await post(run, {}, whole)), [404, 'evaluation_run_not_found'])
  const none = 'weave:///acme/qa/object/none:v0'
  const body = { project_id: 'acme/qa', evaluation_ref: none, model_ref: none }
  const begun = (as: string) => post('/evaluations/evaluate_model', body, as)
  assert.deepEqual(outcome(await begun(key)), [403, 'scope_forbidden'])
  assert.deepEqual(outcome(await begun(whole)), [404, 'object_not_found'])
})

test('a limited key gives no rights that it lacks, and nothing that outlives it', async () => {
  const whole = await made('limiter', { scope: '*', role: 'admin' })
  const keyWith = async (body: object) => (await post('/keys', body, whole)).json.key as string
  const everything = { scope: '*', role: 'admin' }
  await made('raised', { scope: 'acme', role: 'viewer' })
  const administering = await keyWith({ scopes: ['administer'] })
  const operating = await keyWith({ scopes: ['operate', 'keys'] })
  for (const answer of [
    await post('/invitations', { grants: [everything] }, administering),
    await post('/invitations', { grants: [{ scope: 'acme', role: 'viewer' }] }, administering),
    await grant('raised', [everything], administering),
    await post('/users', { name: 'escaped', grants: [everything] }, operating),
    await post('/users', { name: 'escaped', entities: ['acme'] }, operating),
    await post('/users', { name: 'escaped', role: 'admin', entities: ['*'] }, operating),
  ])
    assert.deepEqual(outcome(answer), [403, 'scope_forbidden'], answer.text)
  const all = ['read', 'review', 'export', 'infer', 'write_calls', 'write', 'keys', 'administer']
  const unable = await keyWith({ scopes: all })
  assert.deepEqual(outcome(await grant('raised', [everything], unable)), [403, 'scope_forbidden'])
  assert.equal((await grant('raised', [{ scope: 'acme', role: 'admin' }], unable)).status, 200)
  assert.equal((await grant('raised', [], administering)).status, 200, 'it may take rights away')
  assert.equal((await post('/keys', { user: 'raised', scopes: ['keys'] }, operating)).status, 200)

  const ending = await keyWith({ expires_at: '2200-01-01T00:00:00Z' })
  for (const answer of [
    await post('/invitations', { grants: [everything] }, ending),
    await post('/users', { name: 'escaped', entities: ['acme'] }, ending),
    await grant('raised', [{ scope: 'acme', role: 'viewer' }], ending),
  ])
    assert.deepEqual(outcome(answer), [403, 'key_outlives'], answer.text)
  assert.equal((await grant('raised', [], ending)).status, 200)

  const grants = [{ scope: 'globex', role: 'viewer' }]
  const operator = await post(
    '/users',
    { name: 'operator', role: 'admin', entities: ['acme'], grants },
    keys.root,
  )
  assert.equal(operator.json.user.role, 'admin', operator.text)
})

test('after a rotation both keys work until the old one expires', async () => {
  const key = await made('turner', { scope: 'acme', role: 'viewer' })
  const second = (await post('/keys', { scopes: ['read'], name: 'job' }, key)).json
  const rotated = await post(`/keys/${second.id}/rotate`, { overlap_seconds: 3_600 }, key)
  assert.equal(rotated.status, 200, rotated.text)
  for (const either of [second.key, rotated.json.key]) {
    assert.deepEqual((await get('/me', either)).json.operations, ['own', 'read_queues', 'read'])
  }
  const [, old, next] = (await get('/keys', key)).json.keys
  assert.deepEqual([next.name, next.scopes, next.expires_at], ['job', ['read'], null])
  assert.notEqual(old.expires_at, null)
  const again = await post(`/keys/${rotated.json.id}/rotate`, { overlap_seconds: 0 }, key)
  assert.equal((await get('/me', rotated.json.key)).status, 401, 'without an overlap it ends at once')
  assert.equal((await get('/me', again.json.key)).status, 200)
  const over = await post(`/keys/${rotated.json.id}/rotate`, {}, key)
  assert.deepEqual(outcome(over), [404, 'key_not_found'])
  const foreign = await post(`/keys/${again.json.id}/rotate`, {}, keys.alice)
  assert.deepEqual(outcome(foreign), [404, 'key_not_found'])
})

test('an invitation makes one user, even if it is accepted twice at once', async () => {
  const lead = await made('host', { scope: 'acme', role: 'admin' })
  const beyond = await post('/invitations', { grants: [{ scope: 'globex', role: 'viewer' }] }, lead)
  assert.deepEqual(outcome(beyond), [403, 'entity_forbidden'])
  const grants = [{ scope: 'acme/qa', role: 'annotator' }]
  const { json, text } = await post('/invitations', { grants, note: 'Ann' }, lead)
  const { invitation, secret } = json
  assert.match(secret, /^[\w-]{43}$/, text)
  assert.equal(Date.parse(invitation.expires_at) - Date.parse(invitation.created_at), 7 * 86_400_000)
  assert.deepEqual((await get('/invitations', lead)).json.invitations, [invitation])
  const taken = await post('/invitations/accept', { secret, name: 'host' }, 'no key')
  assert.deepEqual(outcome(taken), [409, 'user_exists'])
  await made('departed', { scope: 'acme/qa', role: 'annotator' })
  assert.equal((await send('DELETE', '/users/departed', undefined, keys.root)).status, 200)
  const left = await post('/invitations/accept', { secret, name: 'departed' }, 'no key')
  assert.deepEqual(outcome(left), [409, 'user_name_used'])
  const both = await Promise.all(
    ['guest-1', 'guest-2'].map((name) => post('/invitations/accept', { secret, name }, 'no key')),
  )
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 404])
  const guest = both.find(({ status }) => status === 200)?.json
  const me = (await get('/me', guest.key.key)).json
  assert.deepEqual([me.role, me.grants[0].scope, me.grants[0].role], ['member', 'acme/qa', 'annotator'])
  assert.deepEqual((await get('/invitations', lead)).json.invitations, [])
})

test('an invitation ends when it is withdrawn, and with the rights of who made it', async () => {
  const lead = await made('fallen', { scope: 'acme', role: 'admin' })
  const grants = [{ scope: 'acme', role: 'viewer' }]
  const invited = async () => (await post('/invitations', { grants }, lead)).json
  const [first, second] = [await invited(), await invited()]
  const withdrawn = await send('DELETE', `/invitations/${first.invitation.id}`, undefined, lead)
  assert.equal(withdrawn.status, 200, withdrawn.text)
  await grant('fallen', [{ scope: 'acme', role: 'editor' }])
  for (const { secret } of [first, second, { secret: 'x' }]) {
    const answer = await post('/invitations/accept', { secret, name: 'late' }, 'no key')
    assert.deepEqual(outcome(answer), [404, 'invitation_not_found'])
  }
})

test('a user has at most a hundred open invitations; what has expired does not count, and is deleted', async () => {
  const lead = await made('inviter', { scope: 'initech', role: 'admin' })
  const grants = [{ scope: 'initech', role: 'viewer' }]
  const invite = () => post('/invitations', { grants }, lead)
  const old = { id: 'old', hash: 'old', grants: [], note: '', created_by: 'inviter' }
  const times = { created_at: 1, expires_at: 2 }
  assert.ok(await app.database.write('addInvitation', { ...old, ...times, max: 1 }))
  const ids: string[] = []
  for (let made = 0; made < 99; made++) ids.push((await invite()).json.invitation.id)
  assert.equal(await app.database.get(sql`SELECT id FROM invitations WHERE id = 'old'`), undefined)
  const both = await Promise.all([invite(), invite()])
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409])
  assert.deepEqual(outcome(await invite()), [409, 'too_many_invitations'])
  ids.push(both.find(({ status }) => status === 200)?.json.invitation.id)
  const listed = (await get('/invitations', lead)).json.invitations
  assert.deepEqual(
    listed.map(({ id }: { id: string }) => id),
    ids,
  )
  const foreign = await send(
    'DELETE',
    `/invitations/${ids[0]}`,
    undefined,
    await made('other-lead', { scope: 'acme', role: 'admin' }),
  )
  assert.deepEqual(outcome(foreign), [404, 'invitation_not_found'])
  assert.equal((await send('DELETE', `/invitations/${ids[0]}`, undefined, lead)).status, 200)
  assert.equal((await invite()).status, 200)
})

test('the list of invitations ends after a thousand that the caller may see', async (t) => {
  const other = await openApp(t)
  const lister = { name: 'lister', grants: [{ scope: 'umbrella', role: 'admin' }] }
  const { key } = (await other.post('/users', lister, keys.root)).json.key
  const created_at = Date.now() * 1_000
  for (let n = 0; n < 1_511; n++) {
    const grants: Grant[] = [{ scope: n < 510 ? 'acme' : 'umbrella', role: 'viewer' }]
    const id = `f-${String(n).padStart(4, '0')}`
    const times = { created_at, expires_at: created_at + 60_000_000 }
    const invitation = { id, hash: id, grants, note: '', created_by: id, ...times }
    assert.ok(await other.database.write('addInvitation', { ...invitation, max: 100 }))
  }
  const { invitations } = (await other.get('/invitations', key)).json
  assert.deepEqual(
    [invitations.length, invitations[0].id, invitations.at(-1).id],
    [1_000, 'f-0510', 'f-1509'],
  )
})

test('an invitation rests while who made it is disabled', async () => {
  const lead = await made('absent', { scope: 'acme', role: 'admin' })
  const grants = [{ scope: 'acme', role: 'viewer' }]
  for (const [name, key, isConfigured] of [
    ['absent', lead, false],
    ['root', keys.root, true],
  ] as const) {
    const disable = (disabled: true | null) =>
      app.database.write('changeUserSettings', { name, change: { disabled }, isConfigured, now: 1 })
    const { secret } = (await post('/invitations', { grants }, key)).json
    const accept = () => post('/invitations/accept', { secret, name: `guest-of-${name}` }, 'no key')
    await disable(true)
    assert.deepEqual(outcome(await accept()), [404, 'invitation_not_found'], name)
    await disable(null)
    assert.equal((await accept()).status, 200, name)
  }
})

test('admins read the audit log in pages, the latest first, and it has no secret', async () => {
  const key = await made('noted', { scope: 'acme', role: 'viewer' })
  await grant('noted', [{ scope: 'acme', role: 'editor' }])
  const { id } = (await post('/keys', { scopes: ['read'] }, key)).json
  await send('DELETE', `/keys/${id}`, undefined, key)
  const query = (body: object) => post('/audit/query', body, keys.root)
  const whole = (await query({ limit: 1_000 })).json.entries
  const ofUser = whole.filter(({ details }: { details: { user?: string } }) => details.user === 'noted')
  assert.deepEqual(
    ofUser.map(({ action, actor }: { action: string; actor: string }) => [action, actor]),
    [
      ['key.add', 'noted'],
      ['user.grants', 'root'],
      ['user.add', 'root'],
    ],
  )
  assert.deepEqual(ofUser[1].details.before, [{ scope: 'acme', role: 'viewer' }])
  const pages: unknown[] = []
  for (let before: string | undefined; ; ) {
    const { entries, next } = (await query({ limit: 3, ...(before && { before }) })).json
    pages.push(...entries)
    if (next === null) break
    before = next
  }
  assert.deepEqual(pages, whole)
  const ofKeys = (await query({ action: 'key.', actor: 'noted' })).json.entries
  assert.deepEqual(
    ofKeys.map(({ action }: { action: string }) => action),
    ['key.revoke', 'key.add'],
  )
  assert.ok(!(await query({ limit: 1_000 })).text.includes('hdl_'))
  assert.deepEqual(outcome(await post('/audit/query', {}, keys.alice)), [403, 'role_forbidden'])
})
