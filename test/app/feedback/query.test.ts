import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '../../../src/storage/database.ts'
import { whole } from '../../support/answers.ts'
import { keys, openApp, type TestApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { feedbackOf, giveFeedback } from '../../support/feedback.ts'

const shown =
  'project_id, id, feedback_type, svc_ref, svc_user_id, creator, created_at, payload, annotation_ref, runnable_ref, call_ref, trigger_ref, queue_id, scorer_tags, scorer_tag_reasons, scorer_tag_confidences, scorer_ratings, scorer_rating_reasons, scorer_rating_confidences, scorer_trace_id, span_agent_name, span_agent_version, span_status_code, span_conversation_id, span_trace_id, payload.…'

test('feedback/query: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/feedback/query', { project_id: project })
  const { post } = await openApp(t)
  for (const [body, status, answer] of [
    [
      { limit: -1, project_id: 'globex/qa' },
      422,
      {
        reason: 'The body does not fit the schema: limit: expected number to be >=0, received -1.',
        code: 'invalid_request',
        detail: [
          { loc: ['body', 'limit'], msg: 'expected number to be >=0, received -1', type: 'too_small' },
        ],
      },
    ],
    [
      { project_id: 'globex/qa', fields: ['colour'] },
      403,
      {
        reason: 'Your key has no access to the entity of project_id: "globex/qa".',
        code: 'entity_forbidden',
      },
    ],
    [
      { fields: ['id', 'colour'] },
      422,
      {
        reason: `fields.1: there is no field "colour"; accepted: ${shown}, count(*).`,
        code: 'unknown_field',
      },
    ],
    [
      { fields: ['count(*)', 'id'] },
      400,
      { reason: 'fields: count(*) with 1 other fields; accepted: count(*) alone.', code: 'invalid_value' },
    ],
    [
      { query: { $expr: { $eq: [{ $getField: 'colour' }, { $literal: 'red' }] } } },
      422,
      { reason: `query: there is no field "colour"; accepted: ${shown}.`, code: 'unknown_field' },
    ],
    [
      { query: { $expr: { $eq: [{ $getField: 'created_at' }, { $literal: 'today' }] } } },
      422,
      {
        reason:
          'query.$expr.$eq: compares a time with "today"; accepted: Unix seconds, or ISO 8601 such as "2026-01-31T12:00:00Z".',
        code: 'invalid_expression',
      },
    ],
    [
      { sort_by: [{ field: 'colour', direction: 'asc' }] },
      422,
      { reason: `sort_by.0.field: there is no field "colour"; accepted: ${shown}.`, code: 'unknown_field' },
    ],
  ] as [object, number, object][]) {
    assert.deepEqual(whole(await post('/feedback/query', { project_id: project, ...body })), {
      status,
      body: answer,
    })
  }
})

test('feedback/query: a project without feedback returns none', async (t) => {
  const { post } = await openApp(t)
  await giveFeedback(post, { project_id: 'globex/qa' }, keys.bob)
  const empty = { status: 200, body: { result: [], total_count: 0 } }
  assert.deepEqual(whole(await post('/feedback/query', { project_id: project })), empty)
  assert.deepEqual(whole(await post('/feedback/query', { project_id: project, fields: ['count(*)'] })), {
    status: 200,
    body: { result: [{ 'count(*)': 0 }], total_count: 0 },
  })
})

async function storeSome(post: TestApp['post']): Promise<void> {
  for (const [id, fields, key] of [
    ['c', { payload: { score: 10, text: 'b', tags: ['x'] }, creator: 'Carl' }],
    ['a', { payload: { score: 9, text: 'a', deep: { 'a.b': 1 } }, svc_ref: 'other' }],
    ['d', { payload: { score: '7.5', ok: true } }, keys.root],
    ['b', { feedback_type: 'wandb.note.1', payload: { note: 'Very good', score: null } }],
  ] as [string, object, string?][]) {
    await giveFeedback(post, { id, ...fields }, key)
  }
}

const get = (field: string) => ({ $getField: field })
const eq = (field: string, value: unknown) => ({ $expr: { $eq: [get(field), { $literal: value }] } })
const by = (field: string, direction = 'asc') => ({ sort_by: [{ field, direction }] })

test('feedback/query: filters and sorts', async (t) => {
  const { post } = await openApp(t)
  await storeSome(post)
  for (const [body, found, total = found.length] of [
    [{}, 'cadb'],
    [{ query: null, sort_by: null, limit: null, offset: null, fields: null }, 'cadb'],
    [{ sort_by: [] }, 'cadb'],
    [{ query: eq('id', 'a') }, 'a'],
    [{ query: eq('feedback_type', 'thumbs') }, 'cad'],
    [{ query: eq('svc_ref', 'other') }, 'a'],
    [{ query: eq('weave_ref', 'other') }, 'a'],
    [{ query: eq('svc_user_id', 'root') }, 'd'],
    [{ query: eq('wb_user_id', 'root') }, 'd'],
    [{ query: eq('creator', 'Carl') }, 'c'],
    [{ query: eq('creator', null) }, 'adb'],
    [{ query: eq('payload.score', 9) }, 'a'],
    [{ query: eq('payload.score', 7.5) }, 'd'],
    [{ query: eq('payload.ok', true) }, 'd'],
    [{ query: eq('payload.tags.0', 'x') }, 'c'],
    [{ query: eq('payload.deep.a\\.b', 1) }, 'a'],
    [{ query: { $expr: { $gte: [get('payload.score'), { $literal: 9 }] } } }, 'ca'],
    [
      {
        query: {
          $expr: {
            $contains: { input: get('payload.note'), substr: { $literal: 'GOOD' }, case_insensitive: true },
          },
        },
      },
      'b',
    ],
    [{ query: { $expr: { $and: [{ $convert: { input: get('payload.score'), to: 'exists' } }] } } }, 'cad'],
    [{ query: { $expr: { $gt: [get('created_at'), { $literal: '2026-01-01' }] } } }, 'cadb'],
    [{ query: { $expr: { $lt: [get('created_at'), { $literal: 1_767_225_600 }] } } }, ''],
    [by('id'), 'abcd'],
    [by('id', 'desc'), 'dcba'],
    [by('created_at', 'desc'), 'bdac'],
    [by('payload.score'), 'dacb'],
    [by('payload.score', 'desc'), 'cadb'],
    [by('payload.text', 'desc'), 'cabd'],
    [{ sort_by: [...by('feedback_type', 'desc').sort_by, ...by('payload.score').sort_by] }, 'bdac'],
    [{ limit: 2 }, 'ca', 4],
    [{ limit: 2, offset: 1 }, 'ad', 4],
    [{ offset: 3 }, 'b', 4],
    [{ offset: 9 }, '', 4],
    [{ limit: 0 }, '', 4],
    [{ ...by('id', 'desc'), limit: 1, query: eq('feedback_type', 'thumbs') }, 'd', 3],
  ] as [object, string, number?][]) {
    const answer = await post('/feedback/query', { project_id: project, fields: ['id'], ...body })
    assert.equal(answer.status, 200, answer.text)
    const ids = answer.json.result.map(({ id }: { id: string }) => id).join('')
    assert.deepEqual([ids, answer.json.total_count], [found, total], JSON.stringify(body))
  }
})

test('feedback/query: returns the requested fields, in the requested order', async (t) => {
  const { post } = await openApp(t)
  await giveFeedback(post, {
    id: 'a',
    payload: { n: 1, deep: { list: [1, 2.5], text: 'x' }, nothing: null },
  })
  const ask = async (fields: string[]) =>
    (await post('/feedback/query', { project_id: project, fields })).text
  assert.equal(
    await ask(['svc_user_id', 'wb_user_id', 'weave_ref', 'id', 'id']),
    '{"result":[{"svc_user_id":"alice","wb_user_id":"alice","weave_ref":"weave:///acme/qa/call/0123456789abcdef","id":"a"}],"total_count":1}',
  )
  assert.equal(
    await ask([
      'payload.n',
      'payload.deep',
      'payload.deep.list.1',
      'payload.deep.text',
      'payload.nothing',
      'payload.x',
    ]),
    '{"result":[{"payload.n":"1","payload.deep":"{\\"list\\":[1,2.5],\\"text\\":\\"x\\"}","payload.deep.list.1":"2.5","payload.deep.text":"x","payload.nothing":"","payload.x":""}],"total_count":1}',
  )
  assert.equal(
    await ask(['payload']),
    '{"result":[{"payload":{"n":1,"deep":{"list":[1,2.5],"text":"x"},"nothing":null}}],"total_count":1}',
  )
  assert.equal(await ask(['count(*)']), '{"result":[{"count(*)":1}],"total_count":1}')
})

test('feedback/query: a long answer is complete', async (t) => {
  const { post } = await openApp(t)
  const ids = Array.from({ length: 1500 }, (_, n) => `f${String(n).padStart(4, '0')}`)
  const batch = ids.map((id) => feedbackOf({ id, payload: { text: 'x'.repeat(200) } }))
  await post('/feedback/batch/create', { batch })
  const { json } = await post('/feedback/query', { project_id: project, ...by('id') })
  assert.equal(json.total_count, 1500)
  assert.deepEqual(
    json.result.map(({ id }: { id: string }) => id),
    ids,
  )
})

test('feedback/query: total_count is that of the list, whatever comes or goes between the two', async (t) => {
  const { database, post } = await openApp(t)
  let change = async (): Promise<unknown> => undefined
  const changing: Database = {
    ...database,
    async *stream<T>(...[query, options]: Parameters<Database['stream']>) {
      try {
        yield* database.stream<T>(query, options)
      } finally {
        await change()
        change = async () => undefined
      }
    },
    close: async () => undefined,
  }
  const changed = await openApp(t, { database: changing })
  const batch = ['a', 'b', 'c'].map((id) => feedbackOf({ id }))
  await post('/feedback/batch/create', { batch })
  const ask = async (body: Record<string, unknown> = {}) => {
    const { json } = await changed.post('/feedback/query', { project_id: project, ...by('id'), ...body })
    return [json.result.length, json.total_count]
  }
  const create = (id: string) => () => post('/feedback/create', feedbackOf({ id }))
  const purged = (id: string) => () =>
    post('/feedback/purge', { project_id: project, query: { $expr: isId(id) } })
  change = create('d')
  assert.deepEqual(await ask(), [4, 4])
  change = create('e')
  assert.deepEqual(await ask({ limit: 2, offset: 3 }), [2, 5])
  change = purged('e')
  assert.deepEqual(await ask({ offset: 1 }), [3, 4])
  assert.deepEqual(await ask({ limit: 0 }), [0, 4])
  assert.deepEqual(await ask({ offset: 9 }), [0, 4])
  change = purged('d')
  assert.deepEqual(await ask({ offset: 3 }), [0, 3])
  change = async () => Promise.all(['a', 'b', 'c'].map((id) => purged(id)()))
  assert.deepEqual(await ask(), [0, 0])
})

const isId = (id: string) => ({ $eq: [{ $getField: 'id' }, { $literal: id }] })
