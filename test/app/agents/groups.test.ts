import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { now } from '../../../src/domain/time.ts'
import { conversationsWith } from '../../../src/operations/agents/signals.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { agentAttributes, at, storedCalls } from '../../support/agents.ts'
import { openApp } from '../../support/app.ts'

const { post, database } = await openApp({ after })

async function answerOf(url: string, body: object) {
  const { status, json, text } = await post(url, body)
  assert.equal(status, 200, text)
  return json
}

const groupsOf = async (body: object) => (await answerOf('/agents/spans/query', body)).groups
const byAgent = [{ key: 'agent_name' }]
const took = { source: 'derived', key: 'duration_ms' }
const team = { source: 'custom_attrs_string', key: 'team' }

const call = (second: number, seconds: number, name: string, more: object) => ({
  ...{ started_at: at(second), ended_at: at(second + seconds) },
  attributes: { ...agentAttributes(name), ...more },
})

const measured = await storedCalls(post, 'measured', [
  call(0, 1, 'weaver', { team: 'blue', score: 0.5, cached: true }),
  call(1, 3, 'weaver', { team: 'red', score: 1.5, cached: false }),
  call(2, 2, 'weaver', { team: 'red' }),
  call(9, 4, 'dyer', { team: 'red', cached: true }),
])

const onlyRed = { $expr: { $eq: [{ $getField: 'team' }, { $literal: 'red' }] } }
const measures = [
  { alias: 'spans', aggregation: 'count' },
  { alias: 'longest', aggregation: 'max', value: took, value_type: 'number' },
  { alias: 'mean', aggregation: 'avg', value: { source: 'custom_attrs_float', key: 'score' } },
  { alias: 'scored', aggregation: 'count', value: { source: 'custom_attrs_float', key: 'score' } },
  { alias: 'teams', aggregation: 'count_distinct', value: team },
  {
    ...{ alias: 'hits', aggregation: 'count_true', value_type: 'boolean' },
    value: { source: 'custom_attrs_bool', key: 'cached' },
  },
  { alias: 'red_ms', aggregation: 'sum', value: took, filter: onlyRed },
  { alias: 'start', aggregation: 'min', value: { key: 'started_at' }, value_type: 'datetime' },
]

test('measures are figures of each group, which is sorted by them', async () => {
  const sort_by = [{ field: 'red_ms', direction: 'desc' }]
  const groups = await groupsOf({ project_id: measured, group_by: byAgent, measures, sort_by })
  assert.deepEqual(
    groups.map(({ group_keys, metrics }: Record<string, object>) => ({ ...group_keys, ...metrics })),
    [
      {
        ...{ agent_name: 'weaver', spans: 3, longest: 3000, mean: 1, scored: 2, teams: 2, hits: 1 },
        ...{ red_ms: 5000, start: at(0) },
      },
      {
        ...{ agent_name: 'dyer', spans: 1, longest: 4000, mean: null, scored: 0, teams: 1, hits: 1 },
        ...{ red_ms: 4000, start: at(9) },
      },
    ],
  )
})

test('groups of which a measure is outside of the bounds are left out, and not counted', async () => {
  const longest = { alias: 'x', aggregation: 'max', value: took }
  const start = { alias: 'x', aggregation: 'min', value: { key: 'started_at' } }
  for (const [filters, names] of [
    [[{ measure: longest, min: 3500 }], ['dyer']],
    [[{ measure: longest, min: 1, max: 3000, group_by: byAgent }], ['weaver']],
    [[{ measure: { alias: 'n', aggregation: 'count', filter: onlyRed }, max: 1 }], ['dyer']],
    [[{ measure: start, min: at(5) }], ['dyer']],
    [
      [
        { measure: longest, min: 1 },
        { measure: start, max: at(5) },
      ],
      ['weaver'],
    ],
    [[{ measure: longest, min: 9000 }], []],
  ] as const) {
    const { groups, total_count } = await answerOf('/agents/spans/query', {
      ...{ project_id: measured, group_by: byAgent, group_filters: filters },
    })
    assert.deepEqual(
      groups.map((group: { group_keys: { agent_name: string } }) => group.group_keys.agent_name),
      names,
    )
    assert.equal(total_count, names.length)
  }
})

test('spans show the attributes that are asked for, by their types', async () => {
  const { spans } = await answerOf('/agents/spans/query', {
    ...{ project_id: measured, sort_by: [{ field: 'started_at', direction: 'asc' }], limit: 2 },
    custom_attr_columns: [
      team,
      { source: 'custom_attrs_float', key: 'score' },
      { source: 'custom_attrs_int', key: 'score' },
      { source: 'custom_attrs_bool', key: 'cached' },
      { source: 'custom_attrs_string', key: 'gen_ai.agent.name' },
    ],
  })
  assert.deepEqual(
    spans.map((span: Record<string, unknown>) =>
      ['string', 'int', 'float', 'bool'].map((type) => span[`custom_attrs_${type}`]),
    ),
    [
      [{ team: 'blue', 'gen_ai.agent.name': 'weaver' }, {}, { score: 0.5 }, { cached: true }],
      [{ team: 'red', 'gen_ai.agent.name': 'weaver' }, {}, { score: 1.5 }, { cached: false }],
    ],
  )
})

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString()

test('conversations are chosen by what was said of them, of their turns, or from elsewhere', async () => {
  const [turn, below, elsewhere] = [randomUUID(), randomUUID(), randomUUID()]
  const span = (id: string, more: object) => ({ ...{ id, started_at: at(0), ended_at: at(1) }, ...more })
  const project_id = await storedCalls(post, 'signals', [
    span(turn, { thread_id: 'a' }),
    span(below, { trace_id: turn, parent_id: turn }),
    span(elsewhere, { thread_id: 'b' }),
    span(randomUUID(), { thread_id: 'c' }),
    span(randomUUID(), { thread_id: 'c', started_at: inSeconds(120), ended_at: inSeconds(121) }),
  ])
  const feedback = [
    { svc_ref: `weave:///${project_id}/call/${below}`, scorer_tags: ['late'] },
    { svc_ref: `weave:///${project_id}/thread/a`, scorer_ratings: { tone: 0.25 } },
    { svc_ref: `weave:///${project_id}/call/${elsewhere}`, scorer_ratings: { tone: 0.75 } },
    { svc_ref: 'judge/1', span_conversation_id: 'c', scorer_tags: ['late', 'rude'] },
  ]
  for (const one of feedback) {
    const body = { project_id, feedback_type: 'judge', payload: {}, ...one }
    assert.equal((await post('/feedback/create', body)).status, 200)
  }
  const tone = (op: string, value: number) => ({ ratings: [{ scorer_key: 'tone', op, value }] })
  for (const [signal_filters, names] of [
    [{ tags: ['late'] }, ['a', 'c']],
    [{ tags: ['late', 'rude'] }, ['c']],
    [tone('gte', 0.25), ['a', 'b']],
    [tone('gt', 0.25), ['b']],
    [tone('lt', 0.75), ['a']],
    [tone('lte', 0.25), ['a']],
    [tone('eq', 0.75), ['b']],
    [{ ...tone('lt', 0.5), tags: ['late'] }, ['a']],
    [{ tags: ['soon'] }, []],
  ] as const) {
    const groups = await groupsOf({
      ...{ project_id, signal_filters, group_by: [{ key: 'conversation_id' }] },
      sort_by: [{ field: 'conversation_id', direction: 'asc' }],
    })
    const keys = groups.map((group: { group_keys: object }) => Object.values(group.group_keys)[0])
    assert.deepEqual(keys, names, JSON.stringify(signal_filters))
  }
  const { rows } = await answerOf('/agents/spans/stats', {
    ...{ project_id, start: at(-60), end: at(60), granularity: 60, signal_filters: { tags: ['late'] } },
    metrics: [{ alias: 'spans', value_type: 'string', value: { key: 'span_id' } }],
  })
  assert.deepEqual(rows, [{ timestamp: at(0), count_spans: 3 }])
  const later = { started_after: inSeconds(60) }
  const asked = { ...{ project_id, ...later }, signal_filters: { tags: ['late'] } }
  assert.deepEqual(await groupsOf({ ...asked, group_by: [{ key: 'conversation_id' }] }), [])
  const bound = boundTo(database, new AbortController().signal)
  const upTo = (max: number) =>
    conversationsWith(bound, project_id, undefined, { tags: ['late'], ratings: null }, now(), max)
  assert.deepEqual((await upTo(4))?.sort(), ['a', 'c'])
  await assert.rejects(upTo(3), { code: 'invalid_value' })
})

test('groups have what the attributes say of their spans, unless they have no conversation', async () => {
  const by = (provider: string, tokens: number, more: object) => ({
    ...{ started_at: at(0), ended_at: at(1), ...more },
    attributes: {
      team: provider,
      gen_ai: {
        ...{ provider: { name: provider }, conversation: { name: `${provider}s` } },
        usage: { reasoning: { output_tokens: tokens } },
      },
    },
  })
  const project_id = await storedCalls(post, 'said', [
    by('loom', 3, { thread_id: 'a' }),
    by('spindle', 4, { thread_id: 'a' }),
    by('loom', 5, { thread_id: 'b' }),
    by('loom', 6, {}),
  ])
  const detailsBy = async (key: object) => {
    const sort_by = [{ field: 'span_count' }, { field: 'total_duration_ms' }]
    const groups = await groupsOf({ project_id, group_by: [key], sort_by })
    return groups.map((group: Record<string, unknown>) => [
      ...[Object.values(group.group_keys as object)[0], group.total_reasoning_tokens],
      ...[group.provider_names, group.conversation_names],
    ])
  }
  assert.deepEqual(await detailsBy({ key: 'conversation_id' }), [
    ['a', 7, ['loom', 'spindle'], ['looms', 'spindles']],
    [null, null, [], []],
    ['b', 5, ['loom'], ['looms']],
  ])
  assert.deepEqual(await detailsBy({ source: 'custom_attrs_string', key: 'team' }), [
    ['loom', 14, ['loom'], ['looms']],
    ['spindle', 4, ['spindle'], ['spindles']],
  ])
  assert.deepEqual(await detailsBy({ key: 'agent_name' }), [
    [null, 18, ['loom', 'spindle'], ['looms', 'spindles']],
  ])
})
