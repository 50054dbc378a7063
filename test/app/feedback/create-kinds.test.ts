import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { allFeedback, createObject, createSpec, feedbackOf } from '../../support/feedback.ts'
import { createQueue } from '../../support/queues.ts'

/** Shared by all tests; each uses data of its own. */
const { post, send } = await openApp({ after })

const object = (name: string) => `weave:///acme/qa/object/${name}:abc`
const op = (name: string) => `weave:///acme/qa/op/${name}:abc`
const call = 'weave:///acme/qa/call/0123456789abcdef'
const objectForm = '<scheme>:///<entity>/<project>/object/<name>:<digest>'
const opForm = '<scheme>:///<entity>/<project>/op/<name>:<digest>'
const callForm = '<scheme>:///<entity>/<project>/call/<id>'

const reaction = (emoji: unknown, fields = {}) => ({
  feedback_type: 'wandb.reaction.1',
  payload: { emoji },
  ...fields,
})
const note = (text: unknown, fields = {}) => ({
  feedback_type: 'wandb.note.1',
  payload: { note: text },
  ...fields,
})
const annotation = (fields = {}) => ({
  feedback_type: 'wandb.annotation.quality',
  annotation_ref: object('quality'),
  payload: { value: 5 },
  ...fields,
})
const runnable = (fields = {}) => ({
  feedback_type: 'wandb.runnable.judge',
  runnable_ref: object('judge'),
  payload: { output: 0.5 },
  ...fields,
})
const monitor = (fields = {}) => ({
  feedback_type: 'wandb.agent_monitor',
  runnable_ref: object('judge'),
  call_ref: call,
  trigger_ref: object('trigger'),
  ...fields,
})

const tooLong = 'x'.repeat(1_048_576)

/** Each case breaks a rule and, where possible, later ones as well: the first one is reported. */
const refused: [rule: string, body: object, code: string, reason: string][] = [
  [
    '1: the payload of a reaction',
    { ...reaction(undefined), annotation_ref: 'x', queue_id: 'x' },
    'invalid_payload',
    'payload.emoji: nothing; feedback of type "wandb.reaction.1" accepts a string with one emoji.',
  ],
  [
    '1: the payload of a reaction',
    reaction(5),
    'invalid_payload',
    'payload.emoji: 5; feedback of type "wandb.reaction.1" accepts a string with one emoji.',
  ],
  [
    '1: the payload of a note',
    { ...note(''), annotation_ref: 'x' },
    'invalid_payload',
    'payload.note: ""; feedback of type "wandb.note.1" accepts a string of 1 to 1024 characters.',
  ],
  [
    '1: the payload of a note',
    note('é'.repeat(1025)),
    'invalid_payload',
    'payload.note: more than 1024 characters; feedback of type "wandb.note.1" accepts a string of 1 to 1024 characters.',
  ],
  [
    '1: the payload of a note',
    note(null),
    'invalid_payload',
    'payload.note: null; feedback of type "wandb.note.1" accepts a string of 1 to 1024 characters.',
  ],
  ...['wandb.annotation', 'wandb.annotation.', 'wandb.annotationX', 'wandb.annotation_x.y'].map(
    (feedback_type): (typeof refused)[number] => [
      '2a: the type of an annotation',
      { ...annotation({ feedback_type, annotation_ref: null, payload: {} }) },
      'invalid_value',
      `feedback_type: "${feedback_type}"; accepted: wandb.annotation.<name>.`,
    ],
  ),
  [
    '2b: the reference of an annotation',
    annotation({ annotation_ref: undefined, payload: {} }),
    'invalid_value',
    `annotation_ref: null; accepted: an object reference, ${objectForm}, because feedback_type is "wandb.annotation.quality".`,
  ],
  ...['quality', call, 'weave:///acme/qa/object/quality:', ''].map(
    (annotation_ref): (typeof refused)[number] => [
      '2c: an annotation needs an object',
      annotation({ annotation_ref, payload: {} }),
      'invalid_value',
      `annotation_ref: ${JSON.stringify(annotation_ref)}; accepted: an object reference, ${objectForm}, because feedback_type is "wandb.annotation.quality".`,
    ],
  ),
  [
    '2d: an annotation and its object have one name',
    annotation({ annotation_ref: object('other'), payload: {} }),
    'invalid_value',
    `annotation_ref: "${object('other')}"; accepted: a reference to the name "quality", which feedback_type has.`,
  ],
  [
    '2e: an annotation has a value',
    annotation({ payload: { Value: 1 }, annotation_ref: 'weave:///acme/other/object/quality:x' }),
    'invalid_payload',
    'payload.value: nothing; feedback of type "wandb.annotation.quality" accepts any value, including null.',
  ],
  [
    '2c: an annotation spec is an object, and no op',
    annotation({ annotation_ref: op('quality'), payload: {} }),
    'invalid_value',
    `annotation_ref: "${op('quality')}"; accepted: an object reference, ${objectForm}, because feedback_type is "wandb.annotation.quality".`,
  ],
  ...['wandb.runnable', 'wandb.runnable.', 'wandb.runnables.x'].map(
    (feedback_type): (typeof refused)[number] => [
      '4: the type of a runnable',
      runnable({ feedback_type, runnable_ref: null, payload: {} }),
      'invalid_value',
      `feedback_type: "${feedback_type}"; accepted: wandb.runnable.<name>.`,
    ],
  ),
  [
    '4: the reference of a runnable',
    runnable({ runnable_ref: undefined, payload: {} }),
    'invalid_value',
    `runnable_ref: null; accepted: a reference to an object or an op, ${objectForm} or ${opForm}, because feedback_type is "wandb.runnable.judge".`,
  ],
  [
    '4: a runnable needs an op or an object',
    runnable({ runnable_ref: call, payload: {} }),
    'invalid_value',
    `runnable_ref: "${call}"; accepted: a reference to an object or an op, ${objectForm} or ${opForm}, because feedback_type is "wandb.runnable.judge".`,
  ],
  [
    '4: a runnable and its reference have the same name',
    runnable({ runnable_ref: op('other'), payload: {} }),
    'invalid_value',
    `runnable_ref: "${op('other')}"; accepted: a reference to the name "judge", which feedback_type has.`,
  ],
  [
    '4: an op needs a call_ref',
    runnable({ runnable_ref: op('judge'), payload: {} }),
    'invalid_value',
    'call_ref: null; accepted: a reference, because runnable_ref is an op.',
  ],
  [
    '4: a runnable has an output',
    runnable({ payload: {}, call_ref: 'x', queue_id: 'x' }),
    'invalid_payload',
    'payload.output: nothing; feedback of type "wandb.runnable.judge" accepts any value, including null.',
  ],
  ...(['runnable_ref', 'call_ref', 'trigger_ref'] as const).map((field): (typeof refused)[number] => [
    '5: an agent monitor has all three',
    monitor({ [field]: null, queue_id: 'x' }),
    'invalid_value',
    `${field}: null; accepted: a reference, because feedback_type is "wandb.agent_monitor".`,
  ]),
  ...[reaction('x'), note('x'), monitor(), {}].flatMap((fields) =>
    (
      [
        ['annotation_ref', op('x'), `an object reference, ${objectForm}`],
        ['runnable_ref', 'x', `a reference to an object or an op, ${objectForm} or ${opForm}`],
        ['call_ref', object('x'), `a call reference, ${callForm}`],
        ['trigger_ref', call, `an object reference, ${objectForm}`],
      ] as const
    ).map(([field, ref, accepted]): (typeof refused)[number] => {
      const body = feedbackOf({ ...fields, [field]: ref, queue_id: 'x' })
      const isRequired = field === 'runnable_ref' && body.feedback_type === 'wandb.agent_monitor'
      const why = isRequired ? ', because feedback_type is "wandb.agent_monitor"' : ''
      return [
        '6: others have references of the right kind',
        body,
        'invalid_value',
        `${field}: "${ref}"; accepted: ${accepted}${why}.`,
      ]
    }),
  ),
  [
    '8: the spec of another project',
    annotation({ annotation_ref: 'weave:///acme/other/object/quality:abc', queue_id: 'x' }),
    'invalid_value',
    'annotation_ref: "weave:///acme/other/object/quality:abc"; accepted: a reference to an object of "acme/qa".',
  ],
  [
    '8: the spec of a project without access',
    annotation({ annotation_ref: 'weave:///globex/qa/object/quality:abc' }),
    'invalid_value',
    'annotation_ref: "weave:///globex/qa/object/quality:abc"; accepted: a reference to an object of "acme/qa".',
  ],
  [
    '8: a spec that does not exist',
    annotation({ annotation_ref: object('quality'), queue_id: 'x' }),
    'object_not_found',
    'annotation_ref: there is no object "quality" with version "abc" in project "acme/qa".',
  ],
  [
    '8: the runnable of an agent monitor',
    monitor({ runnable_ref: call, call_ref: 'x' }),
    'invalid_value',
    `runnable_ref: "${call}"; accepted: a reference to an object or an op, ${objectForm} or ${opForm}, because feedback_type is "wandb.agent_monitor".`,
  ],
  [
    '8: the call',
    runnable({ call_ref: object('x'), trigger_ref: 'x' }),
    'invalid_value',
    `call_ref: "${object('x')}"; accepted: a call reference, ${callForm}.`,
  ],
  ...['/x', '/attr/rows', ':abc', ' and more', '/'].map((tail): (typeof refused)[number] => [
    '8: the call without a path after it',
    runnable({ call_ref: `${call}${tail}`, trigger_ref: 'x' }),
    'invalid_value',
    `call_ref: "${call}${tail}"; accepted: a call reference, ${callForm}.`,
  ]),
  ...[call, op('x')].map((trigger_ref): (typeof refused)[number] => [
    '8: the trigger is an object, not an op',
    runnable({ trigger_ref, queue_id: 'x' }),
    'invalid_value',
    `trigger_ref: "${trigger_ref}"; accepted: an object reference, ${objectForm}.`,
  ]),
  [
    '9: a queue that does not exist',
    { ...reaction('two 👋👋'), queue_id: 'x' },
    'invalid_value',
    'queue_id: "x"; accepted: the id of an annotation queue of "acme/qa" that is not deleted.',
  ],
  ...['', 'a', '1', '👋👋', '👋 ', 'a👋', ':waving_hand:', '\u{1f1eb}', '\u200d'].map(
    (emoji): (typeof refused)[number] => [
      '10: one emoji',
      { ...reaction(emoji), payload: { emoji, filling: tooLong } },
      'invalid_payload',
      `payload.emoji: ${JSON.stringify(emoji)}; feedback of type "wandb.reaction.1" accepts exactly one emoji.`,
    ],
  ),
  [
    '10: the size',
    { payload: { text: tooLong } },
    'payload_too_large',
    'payload: as JSON in ASCII it has more than 1048576 characters.',
  ],
]

test('feedback/create: the first rule that is broken is the one reported', async (t) => {
  for (const [rule, fields, code, reason] of refused) {
    await t.test(`${rule}: ${reason.slice(0, 80)}`, async () => {
      const status = code === 'object_not_found' ? 404 : 400
      assert.deepEqual(whole(await post('/feedback/create', feedbackOf({ ...fields }))), {
        status,
        body: { reason, code },
      })
    })
  }
  assert.deepEqual(await allFeedback(post), [])
})

test('feedback/create: accepts every kind of feedback in its valid form', async () => {
  const spec = await createSpec(post, 'quality', { type: 'integer' })
  const queue_id = await createQueue(post)
  const refs = { runnable_ref: op('x'), call_ref: call, trigger_ref: object('x') }
  const given: Record<string, unknown>[] = [
    note('x'),
    note('👋'.repeat(1024), { queue_id }),
    note('with more', { payload: { note: 'n', more: [1.5] } }),
    annotation({ annotation_ref: spec }),
    annotation({ annotation_ref: spec, ...refs, queue_id, payload: { value: 1, why: 'x' } }),
    runnable(),
    runnable({ trigger_ref: object('x'), payload: { output: null } }),
    runnable({ runnable_ref: op('judge'), call_ref: call, queue_id }),
    runnable({ feedback_type: 'wandb.runnable.a.b c', runnable_ref: object('a.b%20c') }),
    runnable({ runnable_ref: 'weave:///globex/qa/object/judge:abc' }),
    monitor(),
    ...Object.entries({ annotation_ref: object('y'), ...refs }).flatMap(([field, ref]) => [
      note('x', { [field]: ref }),
      { feedback_type: 'thumbs', payload: { up: true }, [field]: ref },
    ]),
    { ...runnable(), annotation_ref: 'weave:///acme/other/object/quality:abc' },
    { feedback_type: 'wandb.reaction.2', payload: {}, annotation_ref: object('y'), ...refs, queue_id },
    { feedback_type: 'wandb.agent_user_feedback', payload: { a: 1 } },
    { payload: {} },
  ]
  for (const fields of given) {
    const { status, json, text } = await post('/feedback/create', feedbackOf(fields))
    assert.equal(status, 200, text)
    assert.deepEqual(json.payload, feedbackOf(fields).payload)
  }
  const stored = await allFeedback(post)
  for (const [i, fields] of given.entries()) {
    for (const [name, value] of Object.entries(feedbackOf(fields))) assert.deepEqual(stored[i]?.[name], value)
  }
})

test('feedback/create: a reaction gets the names of its emoji', async (t) => {
  const { post } = await openApp(t)
  const react = async (payload: string) => {
    const body = JSON.stringify(feedbackOf({ feedback_type: 'wandb.reaction.1', payload: '@' }))
    const { text } = await post('/feedback/create', body.replace('"@"', payload))
    return text.slice(text.indexOf('"payload":') + '"payload":'.length, -1)
  }
  assert.equal(
    await react('{"emoji":"👋🏽"}'),
    '{"emoji":"👋🏽","alias":":waving_hand_medium_skin_tone:","detoned":"👋","detoned_alias":":waving_hand:"}',
  )
  assert.equal(
    await react('{"emoji":"\\ud83d\\udc4b","n":1.0,"alias":"mine"}'),
    '{"emoji":"\\ud83d\\udc4b","n":1.0,"alias":":waving_hand:","detoned":"👋","detoned_alias":":waving_hand:"}',
  )
  const stored = await allFeedback(post)
  assert.deepEqual(
    stored.map(({ payload }) => (payload as { alias: string }).alias),
    [':waving_hand_medium_skin_tone:', ':waving_hand:'],
  )
})

test('feedback/create: the limit of a payload is counted in characters of ASCII JSON', async () => {
  const around = '{"text": ""}'.length
  for (const [text, room] of [
    ['x', 1],
    ['é', 6],
    ['👋', 12],
    ['\n', 2],
  ] as const) {
    const most = Math.floor((1_048_576 - around) / room)
    for (const [count, status] of [
      [most, 200],
      [most + 1, 400],
    ] as const) {
      const answer = await post('/feedback/create', feedbackOf({ payload: { text: text.repeat(count) } }))
      assert.equal(answer.status, status, answer.text.slice(0, 200))
    }
  }
})

test('feedback/create: the queue must exist in the same project and not be deleted', async () => {
  const live = await createQueue(post)
  const deleted = await createQueue(post)
  assert.equal((await send('DELETE', `/annotation_queues/${deleted}?project_id=acme/qa`)).status, 200)
  const other = await createQueue(post, { project_id: 'acme/other' })
  const foreign = await createQueue(post, { project_id: 'globex/qa' }, keys.bob)
  assert.equal((await post('/feedback/create', feedbackOf({ queue_id: live }))).status, 200)
  for (const queue_id of [deleted, other, foreign, '']) {
    assert.deepEqual(whole(await post('/feedback/create', feedbackOf({ queue_id }))), {
      status: 400,
      body: {
        reason: `queue_id: ${JSON.stringify(queue_id)}; accepted: the id of an annotation queue of "acme/qa" that is not deleted.`,
        code: 'invalid_value',
      },
    })
  }
})

test('feedback/create: an annotation must name an annotation spec', async () => {
  for (const [val, why] of [
    [5, 'expected object, received number'],
    [{ name: 5 }, 'name: expected string, received number'],
    [{ field_schema: 'x' }, 'field_schema is not a JSON Schema'],
    [
      { field_schema: { type: 'colour' } },
      'field_schema is not a JSON Schema that can be checked: schema/type must be equal to one of the allowed values',
    ],
    [
      { field_schema: { $ref: 'https://example.com/schema.json' } },
      "field_schema is not a JSON Schema that can be checked: can't resolve reference https://example.com/schema.json from id #",
    ],
    [{ field_schema: { description: 'x'.repeat(70_000) } }, 'field_schema is longer than 65536 characters'],
    [{ filling: 'x'.repeat(600_000) }, 'it is larger than 524288 bytes'],
  ] as const) {
    const annotation_ref = await createObject(post, 'quality', val)
    const { status, json } = await post('/feedback/create', feedbackOf(annotation({ annotation_ref })))
    assert.deepEqual([status, json.code], [400, 'invalid_annotation_spec'])
    const start = `annotation_ref: ${JSON.stringify(annotation_ref)} is not an annotation spec: ${why}`
    assert.ok(json.reason.startsWith(start), json.reason)
  }
  for (const val of [
    {},
    { field_schema: {} },
    { field_schema: true },
    { name: null, unique_among_creators: true },
  ]) {
    const annotation_ref = await createObject(post, 'quality', val)
    const answer = await post('/feedback/create', feedbackOf(annotation({ annotation_ref })))
    assert.equal(answer.status, 200, answer.text)
  }
})

test('feedback/create: annotations of a deleted annotation spec are refused', async () => {
  const annotation_ref = await createSpec(post, 'quality', {})
  const latest = 'weave:///acme/qa/object/quality:latest'
  assert.equal(
    (await post('/feedback/create', feedbackOf(annotation({ annotation_ref: latest })))).status,
    200,
  )
  assert.equal((await post('/obj/delete', { project_id: 'acme/qa', object_id: 'quality' })).status, 200)
  assert.deepEqual(whole(await post('/feedback/create', feedbackOf(annotation({ annotation_ref })))), {
    status: 400,
    body: {
      reason: `annotation_ref: "${annotation_ref}" is not an annotation spec: it was deleted.`,
      code: 'invalid_annotation_spec',
    },
  })
})

test('feedback/create: the value of an annotation must fit its annotation spec', async () => {
  const spec = await createSpec(post, 'quality', {
    type: 'object',
    properties: { score: { type: 'number', minimum: 0, maximum: 1 }, label: { enum: ['good', 'bad'] } },
    required: ['score'],
    additionalProperties: false,
  })
  const give = (value: unknown) =>
    post('/feedback/create', feedbackOf(annotation({ annotation_ref: spec, payload: { value } })))
  for (const value of [{ score: 0.5 }, { score: 1, label: 'bad' }])
    assert.equal((await give(value)).status, 200)
  for (const [value, field, given, why] of [
    [null, 'payload.value', 'null', 'must be object'],
    [{}, 'payload.value', 'an object', "must have required property 'score'"],
    [{ score: 2 }, 'payload.value.score', '2', 'must be <= 1'],
    [
      { score: 1, label: 'fair' },
      'payload.value.label',
      '"fair"',
      'must be equal to one of the allowed values: ["good","bad"]',
    ],
    [{ score: 1, x: 1 }, 'payload.value', 'an object', 'must NOT have additional properties: "x"'],
  ] as const) {
    assert.deepEqual(whole(await give(value)), {
      status: 400,
      body: {
        reason: `${field}: ${given}; the annotation spec "${spec}" says: ${why}.`,
        code: 'annotation_mismatch',
      },
    })
  }
})

test('feedback/create: a check against an annotation spec that takes too long is stopped', async () => {
  const spec = await createSpec(post, 'quality', { type: 'string', pattern: '^(a+)+$' })
  const give = (value: string) =>
    post('/feedback/create', feedbackOf(annotation({ annotation_ref: spec, payload: { value } })))
  const [stopped, behind] = await Promise.all([give(`${'a'.repeat(100)}!`), give('aaa')])
  // 1000 ms of processor time, or 10000 ms on a machine so busy that the check did not get them.
  const [limit = ''] = /\b10{3,4} ms/.exec(stopped.json.reason) ?? []
  assert.deepEqual(whole(stopped), {
    status: 400,
    body: {
      reason: `payload.value: checking it against the annotation spec "${spec}" takes more than ${limit}.`,
      code: 'annotation_too_costly',
    },
  })
  assert.equal(behind.status, 200)
})
