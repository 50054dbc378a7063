import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { agentAttributes, at, storedCalls } from '../../support/agents.ts'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'

const { post, database } = await openApp({ after })
const range = { start: at(0), end: at(60), granularity: 30 }

async function answerOf(url: string, body: object, key: string = keys.alice) {
  const { status, json, text } = await post(url, body, key)
  assert.equal(status, 200, text)
  return json
}

test('stats, attributes and search of spans: refuse invalid requests', async (t) => {
  await assertCommonRefusals(t, '/agents/spans/stats', { project_id: project, ...range })
  await assertCommonRefusals(t, '/agents/spans/custom-attrs/schema', { project_id: project })
  await assertCommonRefusals(t, '/agents/search', { project_id: project })
  const key = { source: 'field', key: 'agent_name' }
  for (const [url, body, status, code, field] of [
    ['/agents/spans/stats', { project_id: 'globex/qa' }, 403, 'entity_forbidden', 'project_id'],
    ['/agents/spans/stats', { bucket_by: { type: 'number' } }, 422, 'invalid_request', 'bucket_by.value'],
    ['/agents/spans/stats', { group_filters: [{}] }, 422, 'invalid_request', 'group_filters'],
    ['/agents/spans/stats', { end: '2026-03-01T00:00:00Z' }, 422, 'invalid_request', 'end'],
    ['/agents/spans/stats', { metrics: [{ alias: 'a b' }] }, 422, 'invalid_request', 'metrics.0.alias'],
    [
      '/agents/spans/stats',
      { metrics: [{ alias: 'a', aggregations: ['median'] }] },
      422,
      'invalid_request',
      'aggregations',
    ],
    [
      '/agents/spans/stats',
      { metrics: [{ alias: 'a' }, { alias: 'a' }] },
      400,
      'invalid_value',
      'metrics.1.alias',
    ],
    [
      '/agents/spans/stats',
      {
        metrics: [
          { alias: 'true_x', aggregations: ['count'] },
          { alias: 'x', aggregations: ['count_true'] },
        ],
      },
      400,
      'invalid_value',
      'metrics.1.alias',
    ],
    ['/agents/spans/stats', { group_by: [key, key] }, 400, 'invalid_value', 'group_by.0.alias'],
    [
      '/agents/spans/stats',
      { group_by: [{ ...key, alias: 'timestamp' }] },
      400,
      'invalid_value',
      'group_by.0.alias',
    ],
    ['/agents/spans/custom-attrs/schema', { project_id: 'globex/qa' }, 403, 'entity_forbidden', 'project_id'],
    ['/agents/spans/custom-attrs/schema', { limit: 2_001 }, 422, 'invalid_request', 'limit'],
    ['/agents/search', { project_id: 'globex/qa' }, 403, 'entity_forbidden', 'project_id'],
    ['/agents/search', { roles: ['user'] }, 422, 'invalid_request', 'roles'],
    ['/agents/search', { truncate_content: false }, 422, 'invalid_request', 'truncate_content'],
    ['/agents/search', { query: '-only' }, 400, 'invalid_value', 'query'],
  ] as const) {
    const needed = url === '/agents/spans/stats' ? range : {}
    const answer = await post(url, { project_id: project, ...needed, ...body })
    assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text)
    assert.ok(answer.text.includes(field), answer.text)
  }
})

test('a value of the attributes is not the field of the same name, and is bounded', async () => {
  const long = 'x'.repeat(5_000)
  const project_id = await storedCalls(post, 'shadowed', [
    { started_at: at(0), ended_at: at(2), attributes: { duration_ms: 5, big: 1e308, long } },
    { started_at: at(1), ended_at: at(3), attributes: { duration_ms: 7, big: 1e308, long } },
  ])
  const value = { source: 'custom_attrs_int', key: 'duration_ms' }
  const { rows } = await answerOf('/agents/spans/stats', {
    ...{ project_id, ...range, group_by: [{ ...value, alias: 'own' }] },
    metrics: [
      { alias: 'set', value },
      { alias: 'duration_ms' },
      { alias: 'big', aggregations: ['sum', 'avg'] },
    ],
  })
  const sums = { sum_duration_ms: 2000, sum_big: null, avg_big: null }
  assert.deepEqual(rows, [
    { timestamp: at(0), own: '5', sum_set: 5, ...sums },
    { timestamp: at(0), own: '7', sum_set: 7, ...sums },
  ])
  const { groups } = await answerOf('/agents/spans/query', {
    project_id,
    group_by: [{ source: 'custom_attrs_string', key: 'long' }],
  })
  assert.deepEqual(groups[0].group_keys, { long: long.slice(0, 1_024) })
})

test('figures of spans by time and group are named by their columns', async () => {
  const call = (second: number, name: string, team: string, cached: boolean) => ({
    ...{ started_at: at(second), ended_at: at(second + 2) },
    attributes: { ...agentAttributes(name), team, cached },
  })
  const project_id = await storedCalls(post, 'stats', [
    call(0, 'weaver', 'blue', true),
    call(5, 'weaver', 'red', false),
    call(40, 'weaver', 'red', false),
    call(41, 'dyer', 'red', true),
  ])
  const body = {
    group_by: [{ source: 'field', key: 'agent_name', alias: 'agent' }],
    metrics: [
      { alias: 'duration_ms', aggregations: ['avg', 'sum'], percentiles: [50] },
      { alias: 'hit', value_type: 'boolean', value: { source: 'custom_attrs_bool', key: 'cached' } },
      { alias: 'team', value_type: 'string', value: { source: 'custom_attrs_string', key: 'team' } },
    ],
  }
  const { rows, columns, bucket_type } = await answerOf('/agents/spans/stats', {
    project_id,
    ...range,
    ...body,
  })
  assert.equal(bucket_type, 'time')
  assert.deepEqual(
    columns.map(({ name, role, aggregation }: Record<string, unknown>) => [name, role, aggregation]),
    [
      ['timestamp', 'time', null],
      ['agent', 'group', null],
      ['avg_duration_ms', 'metric', 'avg'],
      ['sum_duration_ms', 'metric', 'sum'],
      ['p50_duration_ms', 'metric', 'p50'],
      ['count_true_hit', 'metric', 'count_true'],
      ['count_false_hit', 'metric', 'count_false'],
      ['count_team', 'metric', 'count'],
    ],
  )
  const figures = (sum: number, yes: number, no: number) => ({
    ...{ avg_duration_ms: 2000, sum_duration_ms: sum, p50_duration_ms: 2000 },
    ...{ count_true_hit: yes, count_false_hit: no, count_team: yes + no },
  })
  assert.deepEqual(rows, [
    { timestamp: at(0), agent: 'weaver', ...figures(4000, 1, 1) },
    { timestamp: at(30), agent: 'dyer', ...figures(2000, 1, 0) },
    { timestamp: at(30), agent: 'weaver', ...figures(2000, 0, 1) },
  ])
  const one = await answerOf('/agents/spans/stats', { project_id, ...range, ...body, group_limit: 1 })
  assert.deepEqual(
    one.rows.map((row: { agent: string }) => row.agent),
    ['weaver', 'weaver'],
  )
})

test('attributes beside those of conventions are listed with their types', async () => {
  const project_id = await storedCalls(post, 'attributes', [
    { attributes: { ...agentAttributes('weaver'), team: 'blue', run: { step: 3, 'a.b': 1.5 } } },
    { attributes: { team: 'red', cached: true } },
  ])
  const url = '/agents/spans/custom-attrs/schema'
  const { attributes, has_more } = await answerOf(url, { project_id })
  assert.deepEqual(
    attributes.map(({ source, key, span_count }: Record<string, unknown>) => [source, key, span_count]),
    [
      ['custom_attrs_string', 'team', 2],
      ['custom_attrs_bool', 'cached', 1],
      ['custom_attrs_float', 'run.a\\.b', 1],
      ['custom_attrs_int', 'run.step', 1],
    ],
  )
  assert.equal(has_more, false)
  const page = await answerOf(url, { project_id, limit: 1, offset: 1 })
  assert.deepEqual([page.attributes[0].key, page.has_more], ['cached', true])
})

test('conversations are found by words and by filters', async () => {
  const ask = (thread_id: string | undefined, second: number, question: string, more: object = {}) => ({
    ...{ thread_id, started_at: at(second), ended_at: at(second + 1) },
    ...{ inputs: { messages: [{ role: 'user', content: question }] }, output: 'Twelve.', ...more },
  })
  const project_id = await storedCalls(post, 'found', [
    ask('a', 0, 'Warp count?', { attributes: agentAttributes('weaver') }),
    ask('a', 5, 'Weft count?'),
    ask('b', 3, 'Warp colour?'),
    ask(undefined, 9, 'Warp length?'),
  ])
  while (await database.writeInBackground('indexCalls', { limit: 64, characters: 1 << 20 }));
  const idsOf = async (body: object) => {
    const { results, total_conversations } = await answerOf('/agents/search', { project_id, ...body })
    return [results.map((result: { conversation_id: string }) => result.conversation_id), total_conversations]
  }
  assert.deepEqual(await idsOf({ query: 'warp' }), [['__NO_CONVERSATION__', 'b', 'a'], 3])
  assert.deepEqual(await idsOf({ query: 'warp', conversation_id: 'b' }), [['b'], 1])
  assert.deepEqual(await idsOf({ query: 'warp', agent_name: 'weaver' }), [['a'], 1])
  assert.deepEqual(await idsOf({ query: 'warp', started_after: at(3), started_before: at(9) }), [['b'], 1])
  assert.deepEqual(await idsOf({ query: 'silk' }), [[], 0])
  assert.deepEqual(await idsOf({}), [['__NO_CONVERSATION__', 'a', 'b'], 3])
  assert.deepEqual(await idsOf({ limit: 1, offset: 1 }), [['a'], 3])
  const { results } = await answerOf('/agents/search', { project_id, query: 'colour' })
  const [message] = results[0].matched_messages
  assert.deepEqual([message.role, message.started_at], ['user', at(3)])
  assert.match(message.content_preview, /Warp colour/)
})

test('a call below a turn is found in the conversation that the root names', async () => {
  const root = randomUUID()
  const ask = (content: string, more: object) => ({
    ...{ started_at: at(0), ended_at: at(1), inputs: { messages: [{ role: 'user', content }] }, ...more },
  })
  const project_id = await storedCalls(post, 'found-below', [
    ask('Colour?', { id: root, thread_id: 'c' }),
    ask('Warp?', { trace_id: root, parent_id: root }),
    ask('Warp?', { thread_id: 'other' }),
  ])
  while (await database.writeInBackground('indexCalls', { limit: 64, characters: 1 << 20 }));
  const search = { project_id, query: 'warp', conversation_id: 'c' }
  const { results, total_conversations } = await answerOf('/agents/search', search)
  assert.deepEqual([results[0].conversation_id, total_conversations], ['c', 1])
  assert.equal(
    (await answerOf('/agents/search', { ...search, conversation_id: 'none' })).total_conversations,
    0,
  )
})

test('different values are counted, and spans are put into buckets of a value', async () => {
  const call = (seconds: number, team: string) => ({
    ...{ started_at: at(0), ended_at: at(seconds), attributes: { team } },
  })
  const project_id = await storedCalls(post, 'bins', [call(1, 'a'), call(2, 'a'), call(3, 'b'), call(9, 'c')])
  const metrics = [
    {
      ...{ alias: 'team', value_type: 'string', aggregations: ['count', 'count_distinct'] },
      value: { source: 'custom_attrs_string', key: 'team' },
    },
  ]
  const value = { source: 'derived', key: 'duration_ms' }
  const binsOf = async (bucket_by: object) => {
    const body = { project_id, ...range, metrics, bucket_by: { type: 'number', value, ...bucket_by } }
    const { rows, columns, bucket_type } = await answerOf('/agents/spans/stats', body)
    assert.deepEqual([bucket_type, columns[0].role], ['number', 'bucket'])
    return rows.map((row: object) => Object.values(row))
  }
  assert.deepEqual(await binsOf({ bins: 4 }), [
    [0, 1000, 3000, 2, 1],
    [1, 3000, 5000, 1, 1],
    [3, 7000, 9000, 1, 1],
  ])
  assert.deepEqual(await binsOf({ bins: 2, min: 0, max: 4000 }), [
    [0, 0, 2000, 1, 1],
    [1, 2000, 4000, 2, 2],
  ])
  assert.deepEqual(await binsOf({ value: { key: 'started_at' } }), [
    [0, Date.parse(at(0)) * 1000, Date.parse(at(0)) * 1000, 4, 3],
  ])
  assert.deepEqual(await binsOf({ value: { key: 'nothing' } }), [])
  const { rows } = await answerOf('/agents/spans/stats', { project_id, ...range, metrics })
  assert.deepEqual(rows, [{ timestamp: at(0), count_team: 4, count_distinct_team: 3 }])
})
