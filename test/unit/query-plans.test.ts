import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseExpressionText } from '../../src/domain/expressions/parse.ts'
import { readSearch } from '../../src/domain/search/search-text.ts'
import { partialKey, valueKey } from '../../src/domain/search/values.ts'
import type { CallsFilter } from '../../src/operations/calls/contract.ts'
import { readAgents } from '../../src/storage/agents/agents.ts'
import { readSpanGroups } from '../../src/storage/agents/span-groups.ts'
import { selectStoredCompletions } from '../../src/storage/answers/stored-completions.ts'
import { upsertAnswers } from '../../src/storage/answers/turns.ts'
import { selectCalls } from '../../src/storage/calls/calls.ts'
import { filterConditions } from '../../src/storage/calls/filter.ts'
import type { CallPart } from '../../src/storage/calls/parts.ts'
import { connect } from '../../src/storage/engines/sqlite/connection.ts'
import { countFeedback, selectFeedback } from '../../src/storage/feedback/feedback.ts'
import { feedbackFields, streamSignals } from '../../src/storage/feedback/queries.ts'
import { deleteObjects } from '../../src/storage/objects/object-deletion.ts'
import { readLabels } from '../../src/storage/objects/object-labels.ts'
import { keepObject, readValues, readVersions } from '../../src/storage/objects/objects.ts'
import { takeNextItem } from '../../src/storage/queues/progress.ts'
import { addQueue } from '../../src/storage/queues/queues.ts'
import { entriesOf } from '../../src/storage/search/entries.ts'
import { compileCondition } from '../../src/storage/sql/conditions.ts'
import { rawSql, sql } from '../../src/storage/sql/sql.ts'
import { callsIn } from '../../src/storage/sums/largest-hours.ts'
import { boundTo, type LongReader } from '../../src/storage/transaction.ts'
import { readLightCalls } from '../../src/storage/views/light-calls.ts'
import { selectEndsOfTurns } from '../../src/storage/views/previews.ts'
import { streamThreads } from '../../src/storage/views/threads.ts'
import { queueRow } from '../support/stored-queues.ts'
import { openWithPlans } from './query-plans.ts'

const project = 'acme/qa'

test('statements are not planned anew for the values of parameters, and give the same results', (t) => {
  const connection = connect(':memory:', 'write')
  t.after(() => connection.close())
  const { prepare } = connection.handle
  const prepared: string[] = []
  t.mock.method(connection.handle, 'prepare', (text: string) => {
    prepared.push(text)
    return prepare.call(connection.handle, text)
  })
  connection.run(rawSql('CREATE TABLE things (number INTEGER, text TEXT)'))
  connection.run(sql`INSERT INTO things (number, text) VALUES (${1}, ${'one'}), (${2}, ${null})`)
  connection.run(sql`UPDATE things SET number = ${7} WHERE text IS ${null}`)
  const found = (number: number | string, text: string | null) =>
    connection.all(sql`SELECT number, text FROM things WHERE number = ${number} AND text IS ${text}`)
  assert.deepEqual(found('1', 'one'), [{ number: 1, text: 'one' }])
  assert.deepEqual(found(7, null), [{ number: 7, text: null }])
  assert.deepEqual(found(7, 'one'), [])
  assert.deepEqual(prepared.slice(2), [
    'UPDATE things SET number = +? WHERE text IS +?',
    'SELECT number, text FROM things WHERE number = +? AND text IS +?',
  ])
})

test('the feedback of an object is found by its ref and sorted', (t) => {
  const { tx, planOf } = openWithPlans(t)
  const asked = '{"$expr":{"$eq":[{"$getField":"svc_ref"},{"$literal":"weave:///acme/qa/call/1"}]}}'
  const conditions = [compileCondition(parseExpressionText(asked), feedbackFields('query'), tx.dialect)]
  const order = [rawSql('created_at'), rawSql('id')]
  const query = { projectId: project, conditions, order, limit: null, offset: 0 }
  const byRef = 'INDEX feedback_of_ref (project_id=? AND svc_ref=?)'
  assert.deepEqual(planOf(selectFeedback(tx, query, [rawSql('payload')])), [
    'CO-ROUTINE found',
    `SEARCH feedback USING COVERING ${byRef}`,
    'SCAN found',
    'SEARCH feedback USING INTEGER PRIMARY KEY (rowid=?)',
  ])
  assert.deepEqual(planOf(countFeedback(tx, query)), [`SEARCH feedback USING COVERING ${byRef}`])
})

test('calls with rare feedback are looked up by their ids', async (t) => {
  const { tx, planOf } = openWithPlans(t)
  const read: string[] = []
  const stream = async function* (query: Parameters<LongReader['stream']>[0]) {
    read.push(...planOf(query).filter((step) => /^(SCAN|SEARCH) (calls|feedback)\b/.test(step)))
    yield [] as never[]
  }
  const emoji = 'feedback.[wandb.reaction.1].payload.emoji'
  const query = parseExpressionText(`{"$expr":{"$eq":[{"$getField":"${emoji}"},{"$literal":"+"}]}}`)
  const view = { project, query, filters: [], sort: [], limit: 10, offset: 0 }
  await readLightCalls(boundTo({ ...tx, stream }, new AbortController().signal), view, 1)
  assert.deepEqual(read, [
    'SEARCH feedback USING INDEX feedback_of_call (project_id=? AND call_id>?)',
    'SEARCH calls USING INDEX sqlite_autoindex_calls_1 (project_id=? AND id=?)',
    'SEARCH feedback USING INDEX feedback_of_call (project_id=? AND call_id=?)',
    'SEARCH calls USING INTEGER PRIMARY KEY (rowid=?)',
  ])
})

test('the values of a list are looked up by key, whatever its length and the order', (t) => {
  const { tx, planOf } = openWithPlans(t)
  const order = [rawSql('started_at ASC'), rawSql('id ASC')]
  const page = { projectId: project, limit: null, offset: 0 }
  for (const length of [1, 2, 5, 100]) {
    const values = Array.from({ length }, (_, i) => `x${i}`)
    const found = (filter: CallsFilter) => {
      const query = { ...page, conditions: filterConditions(filter, tx.dialect), order }
      const [first] = planOf(selectCalls(tx, query, { large: new Set(), totalStorageSize: false }, 1)).filter(
        (step) => /^(SEARCH|SCAN) calls/.test(step),
      )
      return first?.replace(/^.*\(/, '(')
    }
    assert.equal(found({ call_ids: values }), '(project_id=? AND id=?)')
    assert.equal(found({ trace_ids: values }), '(project_id=? AND trace_id=?)')
    assert.equal(found({ parent_ids: values }), '(project_id=? AND parent_id=?)')
    assert.equal(found({ thread_ids: values }), '(project_id=? AND thread_id=?)')
    // No index contains these, so the index of the order is used.
    assert.equal(found({ svc_run_ids: values }), '(project_id=? AND started_at>?)')
    const asked = { $in: [{ $getField: 'svc_ref' }, values.map((value) => ({ $literal: value }))] }
    const conditions = [
      compileCondition(
        parseExpressionText(JSON.stringify({ $expr: asked })),
        feedbackFields('query'),
        tx.dialect,
      ),
    ]
    const said = { ...page, conditions, order: [rawSql('created_at'), rawSql('id')] }
    const plan = planOf(selectFeedback(tx, said, [rawSql('payload')]))
    assert.ok(
      plan.some((step) => step.endsWith('feedback_of_ref (project_id=? AND svc_ref=?)')),
      plan.join('\n'),
    )
  }
})

test('only keys are sorted, and then the rows are read one by one', (t) => {
  const { tx, planOf } = openWithPlans(t)
  const query = { projectId: project, conditions: [], order: [rawSql('op_name')], limit: null, offset: 0 }
  const columns = { large: new Set(['inputs'] as const), totalStorageSize: false }
  assert.deepEqual(planOf(selectCalls(tx, query, columns, 1)), [
    'CO-ROUTINE found',
    'SEARCH calls USING INDEX calls_in_time (project_id=? AND started_at>?)',
    'USE TEMP B-TREE FOR ORDER BY',
    'SCAN found',
    'SEARCH calls USING INTEGER PRIMARY KEY (rowid=?)',
    'SEARCH failed USING INDEX calls_failed (project_id=? AND trace_id=?)',
  ])
})

test('a sorted list of some hours reads these in the index of calls by time, and only them', (t) => {
  const { tx, planOf } = openWithPlans(t)
  const order = [rawSql('input_tokens DESC NULLS LAST'), rawSql('id DESC')]
  for (const count of [1, 2, 500]) {
    const ranges = Array.from({ length: count }, (_, n) => ({ from: 2 * n, end: 2 * n + 1 }))
    const { from, condition } = callsIn(tx.dialect, project, {
      ranges,
      condition: sql`calls.input_tokens >= ${1}`,
    })
    const query = { projectId: project, from, conditions: [condition], order, limit: 100, offset: 0 }
    const plan = planOf(selectCalls(tx, query, { large: new Set(), totalStorageSize: false }, 1))
    assert.deepEqual(plan.slice(-5), [
      'SEARCH calls USING INDEX calls_in_time (project_id=? AND started_at>? AND started_at<?)',
      'USE TEMP B-TREE FOR ORDER BY',
      'SCAN found',
      'SEARCH calls USING INTEGER PRIMARY KEY (rowid=?)',
      'SEARCH failed USING INDEX calls_failed (project_id=? AND trace_id=?)',
    ])
  }
})

test('threads are grouped, and their first and last turns found, in the index of turns', async (t) => {
  const { tx, planOf } = openWithPlans(t)
  const queries: string[][] = []
  const db: LongReader = {
    ...tx,
    async *stream(query) {
      queries.push(planOf(query))
      yield []
    },
  }
  const view = {
    project,
    threads: undefined,
    after: undefined,
    before: undefined,
    sort: [],
    limit: 5,
    offset: 0,
  }
  for await (const _ of streamThreads(boundTo(db, new AbortController().signal), view, 1));
  const [beyond = [], ...pages] = queries
  assert.deepEqual(beyond, ['SEARCH calls USING INDEX calls_of_turns (project_id=?)'])
  const searches = pages.flat().filter((step) => /calls/.test(step))
  assert.deepEqual(searches, [
    'SEARCH calls USING INDEX calls_of_turns (project_id=?)',
    'SEARCH calls USING INDEX calls_of_turns (project_id=? AND thread_id=? AND started_at>?)',
    'SEARCH calls USING INDEX calls_of_turns (project_id=? AND thread_id=? AND started_at>?)',
  ])
})

test('agents are found in the index of their calls, and what runs below them by its parent', async (t) => {
  const { tx, planOf } = openWithPlans(t)
  const queries: string[][] = []
  const db: LongReader = {
    ...tx,
    async *stream(query) {
      queries.push(planOf(query))
      // All calls are read.
      yield (query.text.includes('FROM trace_sums_state') ? [{ one: 1 }] : []) as never[]
    },
  }
  const view = { project, byVersion: true, costs: false, sort: [], limit: 5, offset: 0, before: undefined }
  for (const [agent, from, before] of [
    [undefined],
    ['weaver'],
    [undefined, 1],
    ['weaver', 1],
    [undefined, 1, 2],
  ] as const) {
    await readAgents(boundTo(db, new AbortController().signal), { ...view, agent, from, before }, 1)
    const [first, direct, further, below, member] = (queries.pop() ?? []).filter((step) =>
      /calls|direct|further|child/.test(step),
    )
    const own = agent === undefined ? 'project_id=? AND agent>?' : 'project_id=? AND agent=?'
    const index =
      before === undefined
        ? `calls_of_agents (${own})`
        : 'calls_in_time (project_id=? AND started_at>? AND started_at<?)'
    assert.equal(first, `SEARCH calls USING INDEX ${index}`)
    assert.match(String(direct), /^SEARCH direct USING INDEX \w+ \(project_id=\? AND id=\?\)$/)
    assert.match(String(further), /^SEARCH further USING INDEX \w+ \(project_id=\? AND id=\?\)$/)
    assert.match(String(below), /^SEARCH child USING INDEX \w+ \(project_id=\? AND parent_id=\?\)$/)
    assert.match(String(member), /^SEARCH calls USING INDEX \w+ \(project_id=\? AND id=\?\)$/)
  }
})

test('feedback with signals is read once, and groups read the spans of the conversations that are left', async (t) => {
  const { tx, planOf } = openWithPlans(t)
  const queries: string[][] = []
  const stream = async function* (query: Parameters<LongReader['stream']>[0]) {
    queries.push(planOf(query))
    yield [] as never[]
  }
  const db = boundTo({ ...tx, stream }, new AbortController().signal)
  for (const [from, range] of [
    [undefined, ''],
    [5, ' AND created_at>?'],
  ] as const) {
    for await (const rows of streamSignals(db, { project, from, limit: 9 }, 1)) assert.deepEqual(rows, [])
    assert.deepEqual(queries.pop(), [
      `SEARCH feedback USING INDEX feedback_in_time (project_id=?${range})`,
      'SEARCH calls USING INDEX sqlite_autoindex_calls_1 (project_id=? AND id=?) LEFT-JOIN',
    ])
  }
  const view = {
    project,
    query: undefined,
    from: undefined,
    before: undefined,
    sort: [],
    limit: 5,
    offset: 0,
  }
  const keys = [{ field: 'conversation_id', isAttribute: false, name: 'conversation_id' }]
  const measures = [
    {
      alias: 'n',
      aggregation: 'count',
      value: undefined,
      filter: undefined,
      requestPath: 'measures.0',
    } as const,
  ]
  const asked = {
    ...view,
    keys,
    costs: false,
    details: true,
    measures,
    bounds: [],
    conversations: ['a', 'b'],
  }
  await readSpanGroups(db, asked, 1)
  const read = (queries.pop() ?? []).filter((step) => / calls\b/.test(step))
  assert.ok(read.includes('SEARCH calls USING INDEX sqlite_autoindex_calls_1 (project_id=? AND id=?)'))
  for (const step of read) assert.match(step, /^SEARCH calls USING INDEX \w+ \(project_id=\? AND \w+=\?/)
})

test('a new version reads only what it needs of the other versions', async (t) => {
  const { tx, plans } = openWithPlans(t)
  const object = {
    project_id: project,
    object_id: 'o',
    kind: 'object',
    base_object_class: 'Model',
    leaf_object_class: 'Model',
    val: '{}',
    size: 2,
    user_id: 'alice',
    now: 1,
  } as const
  await keepObject(tx, { ...object, digest: 'a' })
  const ofName = '(project_id=? AND object_id=?)'
  assert.deepEqual(plans(), [
    ['SEARCH objects USING INDEX objects_with_class (project_id=? AND object_id=? AND base_object_class>?)'],
    [`SEARCH objects USING INDEX objects_by_recency ${ofName}`],
    ['SEARCH objects USING INDEX sqlite_autoindex_objects_1 (project_id=? AND object_id=? AND digest=?)'],
    [`SEARCH objects USING INDEX objects_latest ${ofName}`],
    [`SEARCH objects USING INDEX objects_by_version ${ofName}`],
    [],
  ])
  await deleteObjects(tx, { project_id: project, object_id: 'o', only: null, versions: ['a'], now: 2 })
  assert.deepEqual(plans().at(-1), [
    'SEARCH objects USING INDEX objects_by_recency (project_id=? AND object_id=? AND recency=?)',
    `SEARCH objects USING INDEX objects_by_recency ${ofName}`,
  ])
})

test('versions are looked up one by one, not as all names with all digests', async (t) => {
  const { tx, plans } = openWithPlans(t)
  const versions = ['a', 'b', 'c'].map((name) => ({ object_id: name, digest: name.toUpperCase() }))
  await readVersions(
    tx,
    project,
    versions.map(({ object_id, digest }) => ({ name: object_id, digest })),
  )
  await readValues(tx, project, versions)
  await readLabels(tx, project, versions)
  const found = plans().map(([first]) => first?.replace(/^.*\(/, '('))
  assert.deepEqual(found, Array(4).fill('(project_id=? AND object_id=? AND digest=?)'))
})

test('an annotator who has finished a queue is answered without reading its items', async (t) => {
  const { tx, plans } = openWithPlans(t)
  await addQueue(tx, queueRow(project))
  await tx.run(
    sql`INSERT INTO annotation_queue_items (project_id, id, queue_id, position, call_id, call_op_name, call_trace_id,
          call_started_at, display_fields, added_at, added_by, finished_by)
        VALUES (${project}, 'i', 'queue', 1, 'c', 'op', 't', 1, '[]', 1, 'alice', 1)`,
  )
  await tx.run(
    sql`INSERT INTO annotation_finished (project_id, queue_id, annotator, items) VALUES (${project}, 'queue', 'alice', 1)`,
  )
  plans()
  const asked = { project_id: project, queue_id: 'queue', annotators: 2, now: 2, lease: 1 }
  assert.deepEqual(await takeNextItem(tx, { ...asked, annotator: 'alice' }), { item: null, leased: 0 })
  assert.deepEqual(plans(), [
    ['SEARCH annotation_queues USING INDEX sqlite_autoindex_annotation_queues_1 (project_id=? AND id=?)'],
    [
      'SEARCH annotation_finished USING INDEX sqlite_autoindex_annotation_finished_1 (project_id=? AND queue_id=? AND annotator=?)',
    ],
    ['SEARCH item USING COVERING INDEX annotation_queue_items_in_order (project_id=? AND queue_id=?)'],
  ])
  assert.equal((await takeNextItem(tx, { ...asked, annotator: 'bob' })).item?.id, 'i')
})

test('stored completions are read in index order, from the end of the last page, without sorting', (t) => {
  const { tx, planOf } = openWithPlans(t)
  const page = { project, model: 'small', metadata: new Map([['run', '1']]), limit: 20, now: 1 }
  for (const order of ['asc', 'desc'] as const) {
    const sign = order === 'asc' ? '>' : '<'
    const plan = (after: { createdAt: number; callId: string } | undefined) =>
      planOf(selectStoredCompletions(tx, { ...page, order, after })).filter((step) =>
        /^(SEARCH|SCAN) (calls|completions)|ORDER BY/.test(step),
      )
    const call = 'SEARCH calls USING INDEX sqlite_autoindex_calls_1 (project_id=? AND id=?)'
    const inTime = 'SEARCH completions USING INDEX completions_in_time (project_id=? AND kind=?'
    assert.deepEqual(plan(undefined), [`${inTime})`, call])
    assert.deepEqual(plan({ createdAt: 1, callId: 'a' }), [
      `${inTime} AND (created_at,call_id)${sign}(?,?))`,
      call,
    ])
  }
})

test('calls with a value inside of them are found by its key and read by their ids, in any order', async (t) => {
  const { tx, planOf } = openWithPlans(t)
  const keys = [valueKey(project, 'inputs', ['customer'], '4242') as string, partialKey(project, 'inputs')]
  const entries = entriesOf(tx)
  assert.deepEqual(planOf(sql`SELECT id FROM ${entries.withKeys(project, [keys])} LIMIT 2001`), [
    'SCAN search_words VIRTUAL TABLE INDEX 0:M2',
    'SEARCH search_entries USING INTEGER PRIMARY KEY (rowid=?)',
  ])
  for (const count of [0, 1, 2_000]) {
    const ids = Array.from({ length: count }, (_, n) => `call-${n}`)
    for (const order of ['started_at ASC, id ASC', 'started_at DESC, id DESC']) {
      const conditions = [entries.isAmong(ids)]
      const page = { projectId: project, limit: 100, offset: 0 }
      const query = { ...page, conditions, order: [rawSql(order)] }
      assert.deepEqual(
        planOf(selectCalls(tx, query, { large: new Set(), totalStorageSize: false }, 1)).filter((step) =>
          /^(SEARCH|SCAN) calls/.test(step),
        ),
        [
          'SEARCH calls USING INDEX sqlite_autoindex_calls_1 (project_id=? AND id=?)',
          'SEARCH calls USING INTEGER PRIMARY KEY (rowid=?)',
        ],
      )
    }
  }
})

test('entries of a word that is open at its end are read from the last, only as far as a page needs', (t) => {
  const { tx, planOf } = openWithPlans(t)
  for (const text of ['capital', 'red river -capital']) {
    const { from, condition, doc } = entriesOf(tx).matching(project, readSearch(text), 7)
    const found = sql`SELECT ${doc} AS doc FROM ${from} WHERE ${condition} ORDER BY ${doc} DESC LIMIT 30`
    const [first, ...steps] = planOf(found)
    assert.equal(first, 'SCAN search_words VIRTUAL TABLE INDEX 192:M2<')
    const vocabulary = steps.filter((step) => step.startsWith('SCAN search_vocabulary'))
    // Each step to the next word begins at it and ends with the prefix.
    assert.deepEqual(new Set(vocabulary), new Set(['SCAN search_vocabulary VIRTUAL TABLE INDEX 1537:']))
    assert.equal(vocabulary.length, 2 * text.split(' ').length)
    assert.ok(!steps.some((step) => step.includes('ORDER BY')), steps.join('\n'))
  }
})

test('the turn that an answer goes on with is found by its conversation, and its answers by the turn', async (t) => {
  const { tx, plans, planOf } = openWithPlans(t)
  const start = {
    ...{ trace_id: 'c', parent_id: null, thread_id: 'a', turn_id: 'c', op_name: 'heddle.messages' },
    ...{ started_at: 5, user_id: 'alice', expire_at: null, start_bytes: 4, attributes: '{}', inputs: '{}' },
  }
  const end = { ended_at: 6, exception: null, end_bytes: 2, output: null, summary: '{}' }
  const call = { project_id: project, id: 'c', display_name: null, start, end } as CallPart
  for (const name of [null, 'turn-1']) {
    await upsertAnswers(tx, [{ call, turn: { name, agent: null, attributes: '{}' } }])
    const [first] = plans()
    assert.deepEqual(first?.slice(0, 3), [
      'CO-ROUTINE latest',
      'SEARCH calls USING INDEX calls_of_turns (project_id=? AND thread_id=? AND started_at>? AND started_at<?)',
      'SCAN latest',
    ])
  }
  const ends = planOf(selectEndsOfTurns(tx.dialect, project, ['a', 'b'], 1))
  assert.deepEqual(
    ends.filter((step) => /^(SEARCH|SCAN) calls/.test(step)),
    ['SEARCH calls USING INDEX calls_of_parent (project_id=? AND parent_id=?)'],
  )
})
