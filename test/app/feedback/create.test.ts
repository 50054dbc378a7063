import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { aboutCall, allFeedback, feedbackOf, giveFeedback } from '../../support/feedback.ts'

test('feedback/create: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/feedback/create', feedbackOf())
  const { post } = await openApp(t)
  for (const [fields, field, msg, type = 'custom'] of [
    [{ svc_ref: undefined }, 'svc_ref', 'expected string, received nothing', 'invalid_type'],
    [{ svc_ref: '' }, 'svc_ref', 'expected string to have >=1 characters, received ""', 'too_small'],
    [{ feedback_type: 5 }, 'feedback_type', 'expected string, received number', 'invalid_type'],
    [{ payload: [] }, 'payload', 'expected an object, received a list'],
    [{ payload: null }, 'payload', 'expected an object, received null'],
    [
      { svc_user_id: 'bob' },
      'svc_user_id',
      'is set by the server from the credentials; leave it out or send null, received "bob"',
      'invalid_type',
    ],
    [
      { wb_user_id: 'alice' },
      'wb_user_id',
      'is set by the server from the credentials; leave it out or send null, received "alice"',
      'invalid_type',
    ],
  ] as [object, string, string, string?][]) {
    assert.deepEqual(whole(await post('/feedback/create', feedbackOf({ ...fields }))), {
      status: 422,
      body: {
        reason: `The body does not fit the schema: ${field}: ${msg}.`,
        code: 'invalid_request',
        detail: [{ loc: ['body', field], msg, type }],
      },
    })
  }
  // The form is checked before access, and access before anything is looked up.
  assert.deepEqual(
    whole(await post('/feedback/create', feedbackOf({ project_id: 'globex/qa', svc_ref: 'weave:///x' }))),
    {
      status: 403,
      body: {
        reason: 'Your key has no access to the entity of project_id: "globex/qa".',
        code: 'entity_forbidden',
      },
    },
  )
  assert.deepEqual(whole(await post('/feedback/create', feedbackOf({ svc_ref: 'weave:///acme/qa/' }))), {
    status: 400,
    body: {
      reason:
        'svc_ref: "weave:///acme/qa/"; accepted: <scheme>:///<entity>/<project>/<kind>/…, or a string that is not a reference.',
      code: 'invalid_value',
    },
  })
  assert.deepEqual(await allFeedback(post), [])
})

test('feedback/create: returns and stores the record', async (t) => {
  const { post } = await openApp(t)
  const before = Date.now()
  const { status, json } = await post('/feedback/create', feedbackOf())
  const { id, created_at } = json
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  const time = Date.parse(created_at)
  assert.ok(created_at.endsWith('Z') && time >= before && time <= Date.now())
  assert.deepEqual(
    { status, json },
    {
      status: 200,
      json: { id, created_at, svc_user_id: 'alice', wb_user_id: 'alice', payload: { up: true } },
    },
  )
  assert.deepEqual(await allFeedback(post), [
    {
      id,
      project_id: 'acme/qa',
      svc_ref: aboutCall,
      weave_ref: aboutCall,
      svc_user_id: 'alice',
      wb_user_id: 'alice',
      creator: null,
      created_at,
      feedback_type: 'thumbs',
      payload: { up: true },
      annotation_ref: null,
      runnable_ref: null,
      call_ref: null,
      trigger_ref: null,
      queue_id: null,
    },
  ])
})

test('feedback/create: null is the same as absent, and unknown fields are ignored', async (t) => {
  const { post } = await openApp(t)
  const { status, json } = await post('/feedback/create', {
    ...feedbackOf({ id: 'mine', creator: 'Alice A.' }),
    annotation_ref: null,
    runnable_ref: null,
    call_ref: null,
    trigger_ref: null,
    queue_id: null,
    svc_user_id: null,
    wb_user_id: null,
    scorer_tags: ['x'],
    span_trace_id: 'y',
  })
  assert.equal(status, 200)
  assert.equal(json.id, 'mine')
  assert.equal((await allFeedback(post))[0]?.creator, 'Alice A.')
})

test('feedback/create: accepts weave_ref, which is what Weave calls the reference', async (t) => {
  const { post } = await openApp(t)
  const { svc_ref, ...rest } = feedbackOf()
  assert.equal((await post('/feedback/create', { ...rest, weave_ref: svc_ref })).status, 200)
  assert.equal((await allFeedback(post))[0]?.svc_ref, aboutCall)
  assert.equal((await post('/feedback/create', { ...rest, svc_ref, weave_ref: svc_ref })).status, 200)
  const { status, json } = await post('/feedback/create', { ...rest, svc_ref, weave_ref: `${svc_ref}0` })
  const [detail] = json.detail as { loc: string[] }[]
  assert.deepEqual([status, detail?.loc], [422, ['body', 'weave_ref']])
})

for (const svc_ref of [
  'weave:///acme/qa/object/dataset:abc/attr/rows/id/def',
  'weave:///acme/qa/op/answer:abc',
  'weave:///acme/qa/table/abc',
  'other-scheme:///a/b/c',
  'anything at all',
  'weave://acme',
  '👋',
]) {
  test(`feedback/create: accepts the reference ${svc_ref}`, async (t) => {
    const { post } = await openApp(t)
    await giveFeedback(post, { svc_ref })
    assert.equal((await allFeedback(post))[0]?.svc_ref, svc_ref)
  })
}

for (const svc_ref of ['weave:///', 'weave:///acme', 'weave:///acme/qa', 'x:///a//b', 'x:////a/b']) {
  test(`feedback/create: refuses the incomplete reference ${svc_ref}`, async (t) => {
    const { post } = await openApp(t)
    const { status, json } = await post('/feedback/create', feedbackOf({ svc_ref }))
    assert.deepEqual([status, json.code], [400, 'invalid_value'])
    assert.ok(json.reason.startsWith(`svc_ref: ${JSON.stringify(svc_ref)}; accepted: `))
  })
}

test('P9: a payload comes back with its digits', async (t) => {
  const { post } = await openApp(t)
  for (const [i, [sent, kept = sent]] of (
    [
      ['{"n":9223372036854775807,"d":1.0,"e":[1E5,-0.0,1e400]}'],
      ['{"text":"\\u00e9\\ud83d\\udc4b\\/"}'],
      ['{"b":1,"a":2,"10":3,"a":4.00}'],
      ['{ "a" : [ 1.50 , { } ] }', '{"a":[1.50,{}]}'],
      ['{}'],
    ] as [string, string?][]
  ).entries()) {
    const body = JSON.stringify(feedbackOf({ id: `f${i}`, payload: '@' })).replace('"@"', sent)
    const created = await post('/feedback/create', body)
    assert.ok(created.text.endsWith(`"payload":${kept}}`), created.text)
    const found = await post('/feedback/query', { project_id: 'acme/qa', fields: ['payload'], offset: i })
    assert.equal(found.text, `{"result":[{"payload":${kept}}],"total_count":${i + 1}}`)
  }
})

test('P6: feedback stays in its project', async (t) => {
  const { post } = await openApp(t)
  await giveFeedback(post, { id: 'same', payload: { of: 'alice' } })
  await giveFeedback(post, { id: 'same', project_id: 'globex/qa', payload: { of: 'bob' } }, keys.bob)
  assert.deepEqual(
    (await allFeedback(post)).map(({ payload }) => payload),
    [{ of: 'alice' }],
  )
  assert.deepEqual(
    (await allFeedback(post, 'globex/qa', keys.bob)).map(({ payload }) => payload),
    [{ of: 'bob' }],
  )
})
