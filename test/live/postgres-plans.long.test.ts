import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { digestOf } from '../../src/domain/digests.ts'
import { parseExpressionText } from '../../src/domain/expressions/parse.ts'
import { readSearch } from '../../src/domain/search/search-text.ts'
import { valueKey } from '../../src/domain/search/values.ts'
import { now } from '../../src/domain/time.ts'
import { sumAll } from '../../src/operations/calls/sums.ts'
import { selectCalls } from '../../src/storage/calls/calls.ts'
import type { Database } from '../../src/storage/database.ts'
import { storeColumns } from '../../src/storage/evaluations/columns/store-columns.ts'
import { readRowSets } from '../../src/storage/evaluations/row-sets.ts'
import { readTrials } from '../../src/storage/evaluations/trials.ts'
import { callPages } from '../../src/storage/exporting/pages.ts'
import { openRecord } from '../../src/storage/open.ts'
import { entriesOf } from '../../src/storage/search/entries.ts'
import { findCalls } from '../../src/storage/search/found-calls.ts'
import { rawSql, type Sql, sql } from '../../src/storage/sql/sql.ts'
import { sumUp } from '../../src/storage/sums/keeping.ts'
import { hour, startOf } from '../../src/storage/sums/spans.ts'
import { sumUpTraces } from '../../src/storage/trace-sums/keeping.ts'
import { boundTo } from '../../src/storage/transaction.ts'
import { readBuckets, topGroups } from '../../src/storage/views/groups.ts'
import { readLightCalls } from '../../src/storage/views/light-calls.ts'
import { streamThreads } from '../../src/storage/views/threads.ts'
import { type Answer, openApp } from '../support/app.ts'
import { startedAt, wholePart } from '../support/call-parts.ts'
import { completeOf, project } from '../support/calls.ts'
import { comparedRuns, runId } from '../support/compared-runs.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { until } from '../support/wait.ts'

/** Tables that grow with use. */
const large =
  /^(calls|search_entries|search_marks|eval_trials|eval_owed|eval_columns|feedback|table_rows|table_entries|completions|responses|judgements|annotation_queue_items|files|file_pieces)$/

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  Alias?: string
  'Index Name'?: string
  'Index Cond'?: string
  Plans?: Plan[]
}

function* nodesOf(plan: Plan): Generator<Plan> {
  yield plan
  for (const inner of plan.Plans ?? []) yield* nodesOf(inner)
}

/** Wraps the record, and notes every query. */
function watched(db: Database): { record: Database; asked: () => Sql[] } {
  let queries: Sql[] = []
  const noted = (query: Sql) => {
    queries.push(query)
    return query
  }
  return {
    record: {
      ...db,
      all: (query, tenant) => db.all(noted(query), tenant),
      get: (query, tenant) => db.get(noted(query), tenant),
      stream: (query, options) => db.stream(noted(query), options),
    },
    asked() {
      const all = queries
      queries = []
      return all
    },
  }
}

describe('plans of queries on PostgreSQL', () => {
  let server: TestPostgres
  before(async () => {
    server = await startPostgres()
  })
  after(() => server.stop())

  /** A record whose plans scan a table only where no index helps. */
  async function openPlanned(): Promise<Database> {
    const databaseUrl = await server.createDatabase()
    const client = new pg.Client(databaseUrl)
    await client.connect()
    const name = new URL(databaseUrl).pathname.slice(1)
    await client.query(`ALTER DATABASE "${name}" SET enable_seqscan = off`)
    await client.end()
    return openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 })
  }

  async function nodesIn(db: Database, query: Sql): Promise<Plan[]> {
    if (!/^\s*(SELECT|WITH)/i.test(query.text)) return []
    const rows = await db.all<{ 'QUERY PLAN': { Plan: Plan }[] | string }>(
      sql`EXPLAIN (FORMAT JSON, COSTS OFF) ${query}`,
    )
    const said = rows[0]?.['QUERY PLAN'] ?? []
    const [{ Plan: plan } = { Plan: { 'Node Type': '' } }] =
      typeof said === 'string' ? (JSON.parse(said) as { Plan: Plan }[]) : said
    return [...nodesOf(plan)]
  }

  async function wrongIn(db: Database, query: Sql): Promise<string[]> {
    return (await nodesIn(db, query)).flatMap((node) => {
      const table = node['Relation Name'] ?? ''
      if (!large.test(table)) return []
      const isWhole =
        node['Node Type'] === 'Seq Scan' ||
        (/^Index/.test(node['Node Type']) && !/project_id/.test(node['Index Cond'] ?? ''))
      return isWhole ? [`${node['Node Type']} of ${table}: ${query.text}`] : []
    })
  }

  test('a list in order of time costs only the rows that it shows, in both directions', async (t) => {
    const db = await openPlanned()
    const { record, asked } = watched(db)
    const { post } = await openApp(t, { database: record })
    t.after(() => db.close())
    const batch = Array.from({ length: 20 }, () => completeOf({ op_name: 'chat' }))
    assert.equal((await post(`/v2/${project}/calls/complete`, { batch })).status, 200)
    for (const [path, field] of [
      ['/calls/stream_query', 'started_at'],
      ['/views/calls', 'started_at'],
      ['/feedback/query', 'created_at'],
    ] as const) {
      for (const direction of ['asc', 'desc']) {
        asked()
        const body = { project_id: project, limit: 5, sort_by: [{ field, direction }] }
        const { status, text } = await post(path, body)
        assert.equal(status, 200, text)
        const plans = await Promise.all(asked().map((query) => nodesIn(db, query)))
        const nodes = plans
          .flat()
          .filter(({ 'Relation Name': table }) => /^(calls|feedback)$/.test(table ?? ''))
        assert.ok(nodes.length > 0, path)
        // Only rows with the same time may be sorted by their id.
        const sorts = plans.flat().filter((node) => node['Node Type'] === 'Sort')
        assert.deepEqual(sorts, [], `${path} ${direction}`)
      }
    }
  })

  // A prepared statement is eventually planned without its values, so rare values look frequent.
  test('sweeps and pages of results scan no table, however often they run', async (t) => {
    const databaseUrl = await server.createDatabase()
    const place = { databaseUrl, folder: '', queryTimeoutMs: 60_000 }
    const client = new pg.Client(databaseUrl)
    await client.connect()
    t.after(() => client.end())
    const written = await openRecord(place)
    const { post } = await openApp(t, { database: written })
    for (let n = 0; n < 20; n++) {
      const batch = comparedRuns({ runs: 2, rows: 20 }).map((call) => ({ ...call, project_id: `acme/${n}` }))
      assert.equal((await post(`/v2/acme/${n}/calls/complete`, { batch })).status, 200)
    }
    while (await written.write('deriveNext', { limit: 100, now: now() }));
    await written.close()
    await client.query('ANALYZE')
    // A connection reports its reads when it ends.
    const others = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
      AND backend_type IN ('client backend', 'parallel worker') AND pid <> pg_backend_pid()`
    const read = async () => {
      await until('the connections have ended', async () => (await client.query(others)).rowCount === 0)
      return new Map(
        (
          await client.query<{ relname: string; rows: string }>(
            'SELECT relname, seq_tup_read AS rows FROM pg_stat_user_tables',
          )
        ).rows.map(({ relname, rows }) => [relname, Number(rows)]),
      )
    }
    const before = await read()
    const db = await openRecord(place)
    const app = await openApp(t, { database: db })
    for (let time = 0; time < 12; time++) {
      const step = { now: now(), limit: 200, bytes: 4 << 20 }
      assert.equal(await db.write('sweepCalls', { ...step, forgetBefore: 0 }), 0)
      assert.equal(await db.write('sweepResponses', step), 0)
      const page = { evaluation_call_ids: [runId(0), runId(1)], limit: 3 }
      const { status, json } = await app.post('/v2/acme/0/eval_results/query', page)
      assert.deepEqual([status, json.rows.length], [200, 3])
    }
    await db.close()
    const after = await read()
    const large = ['calls', 'eval_trials', 'responses']
    assert.deepEqual(
      large.map((table) => [table, (after.get(table) ?? 0) - (before.get(table) ?? 0)]),
      large.map((table) => [table, 0]),
    )
  })

  // Most trials share one parent, and PostgreSQL assumes that other calls have as many children.
  test('the children of a few trials are found through the index on parents, even if one call has very many children', async (t) => {
    const databaseUrl = await server.createDatabase()
    const db = await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 })
    const { post } = await openApp(t, { database: db })
    t.after(() => db.close())
    const batch = comparedRuns({ runs: 1, rows: 3000 }) as { id: string; op_name: string }[]
    for (let from = 0; from < batch.length; from += 1000) {
      const part = batch.slice(from, from + 1000)
      assert.equal((await post(`/v2/${project}/calls/complete`, { batch: part })).status, 200)
    }
    const client = new pg.Client(databaseUrl)
    await client.connect()
    await client.query('ANALYZE')
    await client.end()
    const { record, asked } = watched(db)
    const ids = batch.filter(({ op_name }) => /predict_and_score/.test(op_name)).map(({ id }) => id)
    for (const count of [2, 20, 200]) {
      const trials = await readTrials(record, project, ids.slice(0, count), now())
      assert.equal(trials.size, count)
      const [children] = asked().filter(({ text }) => /parent_id IN/.test(text))
      assert.ok(children)
      const nodes = await nodesIn(db, children)
      const found = nodes.filter((node) => /parent_id/.test(node['Index Cond'] ?? ''))
      assert.equal(found.length, 1, `${count}: ${JSON.stringify(nodes)}`)
    }
  })

  // PostgreSQL guesses that two compared columns leave a ninth of all rows.
  test('the calls of some hours are added up by their range of the index, and their callers looked up', async (t) => {
    const db = await openRecord({
      databaseUrl: await server.createDatabase(),
      folder: '',
      queryTimeoutMs: 60_000,
    })
    t.after(() => db.close())
    const calls = Array.from({ length: 2000 }, (_, n) =>
      wholePart(project, `call ${n}`, {
        started_at: startedAt + n * 60_000_000,
        parent_id: n % 4 ? `call ${n - (n % 4)}` : null,
      }),
    )
    for (let from = 0; from < calls.length; from += 500)
      await db.write('upsertCalls', calls.slice(from, from + 500))
    const { record, asked } = watched(db)
    const hours = [0, 1, 2, 3].map((n) => ({ at: startOf(startedAt, hour) + n * hour, marks: [] }))
    assert.notDeepEqual(await sumUp(boundTo(record, new AbortController().signal), project, hours), [])
    const nodes = (await Promise.all(asked().map((query) => nodesIn(db, query)))).flat()
    const read = nodes.filter((node) => node['Relation Name'] === 'calls')
    assert.deepEqual(
      read.map((node) => node['Index Cond']?.match(/started_at >=|\bid = calls|trace_id = calls/)?.[0]),
      ['started_at >=', 'id = calls', 'trace_id = calls'],
      JSON.stringify(nodes),
    )
  })

  test('the agents of some hours are added up by looking up their calls', async (t) => {
    const databaseUrl = await server.createDatabase()
    const db = await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 })
    t.after(() => db.close())
    const calls = Array.from({ length: 2000 }, (_, n) =>
      wholePart(project, `call ${n}`, {
        started_at: startedAt + n * 60_000_000,
        trace_id: `trace ${n - (n % 4)}`,
        parent_id: n % 4 ? `call ${n - (n % 4)}` : null,
        attributes: n % 4 ? '{}' : '{"gen_ai":{"agent":{"name":"weaver"}}}',
      }),
    )
    for (let from = 0; from < calls.length; from += 500)
      await db.write('upsertCalls', calls.slice(from, from + 500))
    await db.all(rawSql('ANALYZE calls'))
    const { record, asked } = watched(db)
    const marks = [0, 1].map((n) => ({
      ...{ project_id: project, at: startOf(startedAt, hour) + n * hour, about: 'traces', mark: n },
    }))
    const { agents } = await sumUpTraces(boundTo(record, new AbortController().signal), project, marks)
    assert.deepEqual(
      agents.map(({ agent }) => agent),
      ['weaver', 'weaver'],
    )
    const ofAgents = asked().filter(({ text }) => text.includes('FROM members'))
    assert.equal(ofAgents.length, 1)
    const nodes = (await Promise.all(ofAgents.map((query) => nodesIn(db, query)))).flat()
    const read = nodes.filter(({ Alias }) => Alias === 'child' || Alias === 'calls')
    assert.deepEqual(
      read.map((node) => node['Node Type']),
      ['Index Scan', 'Index Scan'],
      JSON.stringify(nodes),
    )
  })

  test('a sorted list reads the hours of its largest calls in the index of calls by time', async (t) => {
    const databaseUrl = await server.createDatabase()
    const db = await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 })
    t.after(() => db.close())
    const calls = Array.from({ length: 2000 }, (_, n) => {
      const started_at = startedAt + n * 600_000_000
      const start = { started_at, user_id: `user ${n % 3}`, start_bytes: n }
      return wholePart(project, `call ${n}`, start, { ended_at: started_at + n * 1000 })
    })
    for (let from = 0; from < calls.length; from += 500)
      await db.write('upsertCalls', calls.slice(from, from + 500))
    const { signal } = new AbortController()
    await sumAll(boundTo(db, signal))
    const { record, asked } = watched(db)
    const first = Array.from({ length: 10 }, (_, n) => `call ${n}`)
    const last = first.map((_, n) => `call ${1999 - n}`)
    const ofUser = (user: number) =>
      calls
        .flatMap(({ id }, n) => (n % 3 === user ? [id] : []))
        .sort()
        .reverse()
        .slice(0, 10)
    for (const [field, direction, expected] of [
      ['summary.weave.latency_ms', 'desc', last],
      ['summary.weave.latency_ms', 'asc', first],
      ['storage_size_bytes', 'desc', last],
      ['storage_size_bytes', 'asc', first],
      ['svc_user_id', 'desc', ofUser(2)],
      ['svc_user_id', 'asc', ofUser(0)],
    ] as const) {
      asked()
      const sort = [{ field, direction }]
      const view = { project, filters: [], query: undefined, sort, limit: 10, offset: 0 }
      const found = await readLightCalls(boundTo(record, signal), view, now())
      assert.deepEqual(
        found.map(({ id }) => id),
        expected,
      )
      const queries = asked()
      const lists = queries.filter(({ text }) => text.includes('input_preview'))
      assert.equal(lists.length, 1)
      const ofHours = queries.find(({ text }) => /AS ranges CROSS JOIN .*call_sums/s.test(text)) as Sql
      const hours = (await nodesIn(db, ofHours)).filter((node) => node['Relation Name'] === 'call_sums')
      assert.match(hours[0]?.['Index Cond'] ?? '', /project_id = .*at >= .*at </, JSON.stringify(hours))
      const nodes = (await Promise.all(lists.map((query) => nodesIn(db, query)))).flat()
      const [read] = nodes.filter((node) => node['Relation Name'] === 'calls')
      assert.equal(read?.['Index Name'], 'calls_in_time', JSON.stringify(nodes))
      assert.match(read?.['Index Cond'] ?? '', /project_id = .*started_at >= .*started_at </)
    }
  })

  test('what a list sorts or skips is read in the index, and only its page in rows', async (t) => {
    const databaseUrl = await server.createDatabase()
    const db = await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 })
    t.after(() => db.close())
    const client = new pg.Client(databaseUrl)
    await client.connect()
    await client.query(`INSERT INTO calls (project_id, id, trace_id, op_name, started_at, ended_at, start_bytes, attributes, inputs, op, summary, derivation)
      SELECT '${project}', 'call-' || n, 'call-' || n, 'chat', n, 20000 - n, 1, '{}', '"' || repeat('x', 900) || '"', 'chat', '{}', 9 FROM generate_series(1, 5000) AS series (n)`)
    await client.query('VACUUM ANALYZE')
    await client.end()
    const { record, asked } = watched(db)
    const bound = boundTo(record, new AbortController().signal)
    const of = { project, filters: [], query: undefined, limit: 3 }
    for (const { ids, ...view } of [
      {
        sort: [{ field: 'summary.weave.latency_ms', direction: 'asc' }],
        ...{ offset: 1, ids: ['call-4999', 'call-4998', 'call-4997'] },
      },
      {
        sort: [{ field: 'storage_size_bytes', direction: 'desc' }],
        ...{ offset: 0, ids: ['call-999', 'call-998', 'call-997'] },
      },
      {
        sort: [{ field: 'started_at', direction: 'desc' }],
        offset: 4000,
        ids: ['call-1000', 'call-999', 'call-998'],
      },
    ] as const) {
      asked()
      const found = await readLightCalls(bound, { ...of, ...view, sort: [...view.sort] }, now())
      assert.deepEqual(
        found.map(({ id }) => id),
        ids,
      )
      const query = asked().find(({ text }) => text.includes('input_preview')) as Sql
      const nodes = (await nodesIn(db, query)).filter(
        (node) => node['Relation Name'] === 'calls' && node.Alias !== 'failed',
      )
      assert.deepEqual(
        nodes.map((node) => [node['Node Type'], node['Index Name']]).sort(),
        [
          ['Index Only Scan', 'calls_in_time'],
          ['Index Scan', 'calls_pkey'],
        ],
        JSON.stringify(nodes),
      )
    }
  })

  test('calls with a value inside of them are found by its key and read by their ids', async (t) => {
    const databaseUrl = await server.createDatabase()
    const db = await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 })
    t.after(() => db.close())
    const client = new pg.Client(databaseUrl)
    await client.connect()
    await client.query(`INSERT INTO calls (project_id, id, trace_id, thread_id, op_name, started_at, start_bytes, attributes, inputs)
      SELECT '${project}', 'call-' || n, 'call-' || n, 'thread-' || n % 500, 'chat', n, 1, '{}', '{}' FROM generate_series(1, 5000) AS series (n)`)
    const key = valueKey(project, 'inputs', ['n'], '7')
    await client.query(`INSERT INTO search_entries (project_id, call_id, words)
      SELECT '${project}', 'call-' || n, CAST('''=key' || n % 500 || ''' ''=common''' || CASE WHEN n = 7 THEN ' ''=${key}''' ELSE '' END AS tsvector)
      FROM generate_series(1, 5000) AS series (n)`)
    await client.query('DELETE FROM search_marks; DELETE FROM underived_calls')
    await client.query('VACUUM ANALYZE')
    await client.end()
    const entries = entriesOf(db)
    const rare = entries.withKeys(project, [['key7', 'partial'], ['common']])
    const conditionOf = async (query: Sql, index: string) =>
      (await nodesIn(db, query)).find((node) => node['Index Name'] === index)?.['Index Cond'] ?? ''
    assert.match(
      await conditionOf(sql`SELECT id FROM ${rare} LIMIT 2001`, 'search_entries_by_word'),
      /words @@/,
    )
    assert.equal(await entries.areMore(db, project, [['common']], 2_000), true)
    assert.equal(await entries.areMore(db, project, [['key7', 'partial'], ['common']], 100), false)
    // PostgreSQL assumes a share of all entries, which no limit is above in a record that is large enough.
    assert.equal(await entries.areMore(db, project, [['rare', 'partial']], 0), false)
    assert.equal(await entries.areMore(db, project, [['rare', 'partial'], ['common']], 0), false)
    const page = { projectId: project, limit: 100, offset: 0 }
    const order = [rawSql('started_at DESC'), rawSql('id DESC')]
    const query = { ...page, order, conditions: [entries.isAmong(['call-7', 'call-507'])] }
    const found = selectCalls(db, query, { large: new Set(), totalStorageSize: false }, now())
    assert.match(await conditionOf(found, 'calls_pkey'), /project_id = .*id = ANY/)
    const { record, asked } = watched(db)
    const ofValue = parseExpressionText('{"$expr":{"$eq":[{"$getField":"inputs.n"},{"$literal":7}]}}')
    const view = { project, filters: [], query: ofValue, sort: [], limit: 10, offset: 0 }
    const edges = Array.from({ length: 11 }, (_, n) => n * 500)
    const threads = { ...view, threads: undefined, after: undefined, before: undefined }
    const { signal } = new AbortController()
    for (const read of [
      () => topGroups(boundTo(record, signal), view, ['op', 'status'], { most: 10 }, now()),
      () => readBuckets(boundTo(record, signal), { ...view, edges }, now()),
      () => Array.fromAsync(callPages(boundTo(record, signal), view, undefined, now())),
      () => Array.fromAsync(streamThreads(boundTo(record, signal), threads, now())),
    ]) {
      asked()
      await read()
      const last = asked().at(-1) as Sql
      assert.match(await conditionOf(last, 'calls_pkey'), /project_id = .*id = ANY/, last.text)
      assert.doesNotMatch(last.text, /AS root/, 'every failed trace of the project')
    }
  })

  test('of many named conversations, each is looked up for a call that the view asks for', async (t) => {
    const databaseUrl = await server.createDatabase()
    const db = await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 })
    t.after(() => db.close())
    const client = new pg.Client(databaseUrl)
    await client.connect()
    await client.query(`INSERT INTO calls (project_id, id, trace_id, thread_id, op_name, agent, started_at, attributes, inputs)
      SELECT '${project}', 'call-' || n, 'call-' || n, 'thread-' || n % 3000, 'chat', 'agent-' || n % 7, n, '{}', '{}'
      FROM generate_series(1, 24000) AS series (n)`)
    await client.query('VACUUM ANALYZE')
    await client.end()
    const { record, asked } = watched(db)
    const query = parseExpressionText('{"$expr":{"$eq":[{"$getField":"agent"},{"$literal":"agent-3"}]}}')
    const threads = Array.from({ length: 900 }, (_, n) => `thread-${n}`)
    const view = {
      project,
      query,
      threads,
      sort: [],
      limit: 10,
      offset: 0,
      after: undefined,
      before: undefined,
    }
    const found = await Array.fromAsync(
      streamThreads(boundTo(record, new AbortController().signal), view, now()),
    )
    assert.equal(found.flat().length, 10)
    const nodes = await nodesIn(db, asked().at(-1) as Sql)
    const plan = JSON.stringify(nodes[0])
    assert.ok(!nodes.some((node) => node['Node Type'] === 'Seq Scan'), plan)
    assert.ok(
      nodes.some((node) => node['Index Cond']?.includes('thread_id = named.thread_id')),
      plan,
    )
  })

  test('a common word is searched in the newest entries, and any other by the index of words', async (t) => {
    const databaseUrl = await server.createDatabase()
    const db = await openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 })
    t.after(() => db.close())
    const client = new pg.Client(databaseUrl)
    await client.connect()
    await client.query(`INSERT INTO calls (project_id, id, trace_id, op_name, started_at, start_bytes, attributes, inputs)
      SELECT '${project}', 'call-' || n, 'call-' || n, 'chat', n, 1, '{}', '{}' FROM generate_series(1, 12000) AS series (n)`)
    const own = `${digestOf(project).slice(0, 16).toLowerCase()}q`
    await client.query(`INSERT INTO search_entries (project_id, call_id, words)
      SELECT '${project}', 'call-' || n, CAST('''${own}'' common:1 old' || CAST(n < 9000 AS INTEGER) || ' word' || n % 500 AS tsvector)
      FROM generate_series(1, 12000) AS series (n)`)
    await client.query('VACUUM ANALYZE')
    await client.end()
    const { record, asked } = watched(db)
    const { signal } = new AbortController()
    const view = { project, filters: [], query: undefined, sort: [], limit: 10, offset: 0 }
    const plansOf = async (text: string, before?: number) => {
      asked()
      const hits = await findCalls(boundTo(record, signal), view, readSearch(text), before, now())
      const searches = asked().filter(({ text }) => /found_doc/.test(text))
      const plans = await Promise.all(searches.map((query) => nodesIn(db, query)))
      const shapes = plans.map((nodes) =>
        nodes.flatMap((node) =>
          node['Node Type'] === 'Sort' || /search_entries/.test(node['Index Name'] ?? '')
            ? [node['Index Name'] ?? 'Sort']
            : [],
        ),
      )
      const [newest] = hits
      return { hits: hits.length, newest: newest?.id, shapes }
    }
    const inNewest = ['search_entries_newest']
    const inWords = ['Sort', 'search_entries_by_word']
    for (const text of ['common', '"common"', 'com -word7'])
      assert.deepEqual((await plansOf(text)).shapes, [inNewest], text)
    assert.deepEqual((await plansOf('common', 6_000)).shapes, [inNewest])
    for (const text of ['"word7"', 'absent', '"word7 absent"', 'common absent'])
      for (const before of [undefined, 6_000])
        assert.deepEqual((await plansOf(text, before)).shapes, [inWords], `${text} ${before}`)
    // Common, but in none of the newest.
    const { hits, newest, shapes } = await plansOf('"old1"')
    assert.deepEqual([hits, newest], [10, 'call-8999'])
    assert.deepEqual(shapes[0], inNewest)
    assert.ok(shapes.length === 2 && !shapes[1]?.includes('search_entries_newest'), JSON.stringify(shapes))
  })

  test('no view, page of evaluation results or list scans a table', async (t) => {
    const db = await openPlanned()
    const { record, asked } = watched(db)
    const { post, get } = await openApp(t, { database: record })
    t.after(() => db.close())
    const calls = [
      ...comparedRuns({ runs: 2, rows: 20 }),
      ...Array.from({ length: 20 }, () => completeOf({ thread_id: 't', op_name: 'chat' })),
    ] as { id: string; trace_id: string; op_name: string }[]
    assert.equal((await post(`/v2/${project}/calls/complete`, { batch: calls })).status, 200)
    const [call] = calls.slice(-1)
    assert.ok(call)

    const wrong: string[] = []
    async function look(name: string, answer: Promise<Answer>): Promise<Answer['json']> {
      const { status, text, json } = await answer
      assert.equal(status, 200, `${name}: ${text}`)
      const queries = new Map(asked().map((query) => [query.text, query]))
      assert.ok(queries.size > 0, name)
      for (const query of queries.values())
        wrong.push(...(await wrongIn(db, query)).map((why) => `${name}: ${why}`))
      return json
    }
    const ask = (path: string, body: object) => look(path, post(path, { project_id: project, ...body }))

    const literal = (field: string, op: string, value: unknown) => ({
      $expr: { [op]: [{ $getField: field }, { $literal: value }] },
    })
    const runs = { evaluation_call_ids: [runId(0), runId(1)] }
    const shapes = [
      {},
      { offset: 10 },
      { require_intersection: true },
      { sort_by: [{ field: 'scores.judge.score', direction: 'desc' }] },
      { sort_by: [{ field: 'scores.judge.score', mode: 'difference' }] },
      { sort_by: [{ field: 'inputs.row' }] },
      { sort_by: [{ field: 'output.model_latency' }] },
      { filters: [{ query: literal('scores.judge.score', '$gte', 0.5) }] },
      { filters: [{ query: literal('inputs.row', '$gte', 5) }] },
      { filters: [{ query: literal('output.model_latency', '$gte', 0.5) }], require_intersection: true },
    ]
    let digest = ''
    const pages = async (how: string) => {
      for (const shape of shapes) {
        const json = await look(
          `${how} ${JSON.stringify(shape)}`,
          post(`/v2/${project}/eval_results/query`, { ...runs, limit: 3, include_summary: true, ...shape }),
        )
        digest = (json.rows as { row_digest: string }[])[0]?.row_digest ?? digest
      }
    }
    await pages('by trials')
    await ask('/views/evaluations', {})
    await ask('/views/scores', { ...runs, field: 'scores.judge.score', heat_for: runId(1) })
    await ask('/views/scores', {
      ...{ ...runs, field: 'scores.judge.score', require_intersection: true },
      filters: [{ query: literal('inputs.row', '$gte', 5) }],
    })
    await ask('/views/rank', { ...runs, row_digest: digest, sort_by: [{ field: 'scores.judge.score' }] })
    await ask('/views/rank', { ...runs, row_digest: digest })
    for (const set of await readRowSets(db, project, runs.evaluation_call_ids)) {
      assert.equal(
        await storeColumns(boundTo(record, new AbortController().signal), { project_id: project, ...set }),
        true,
      )
    }
    await pages('by columns')
    await ask('/views/calls', {})
    await ask('/views/calls', {
      query: literal('op_name', '$eq', 'chat'),
      sort_by: [{ field: 'op_name', direction: 'asc' }],
    })
    await ask('/views/calls', { query: literal('inputs.a', '$eq', 1) })
    await ask('/views/facets', { fields: ['op', 'model', 'feedback', 'reaction'] })
    await ask('/views/trace', { trace_id: call.trace_id })
    await ask('/views/buckets', {
      after: '2026-01-01T00:00:00Z',
      before: '2026-01-04T00:00:00Z',
      step_seconds: 3600,
      by: 'op',
    })
    while (await db.writeInBackground('indexCalls', { limit: 64, characters: 1 << 20 })) asked()
    asked()
    await ask('/views/calls', { query: literal('inputs.a', '$eq', 1) })
    const emoji = 'feedback.[wandb.reaction.1].payload.emoji'
    await ask('/views/calls', { query: literal(emoji, '$eq', '👎') })
    await ask('/views/calls', { query: literal('origin', '$eq', 'judge') })
    await ask('/agents/spans/query', { query: literal('heddle.prompt.id', '$eq', 'greeting') })
    await ask('/views/search', { text: 'chat' })
    const { next } = (await ask('/views/search', { text: 'chat', limit: 1 })) as { next: string }
    await ask('/views/search', { text: '"a b" -c', query: literal('op_name', '$eq', 'chat'), after: next })
    await ask('/views/columns', {})
    await ask('/views/feedback_buckets', {
      after: '2026-01-01T00:00:00Z',
      before: '2026-01-04T00:00:00Z',
      step_seconds: 3600,
    })
    await look('/tags', get(`/tags?project_id=${project}`))
    await ask('/threads/stream_query', {})
    await ask('/threads/stream_query', {
      include_details: true,
      limit: 5,
      sort_by: [{ field: 'cost', direction: 'desc' }],
    })
    await ask('/threads/stream_query', { query: literal('op_name', '$eq', 'chat'), limit: 5 })
    await ask('/agents/query', { include_costs: true })
    await ask('/agents/agent-versions/query', { agent_name: 'weaver' })
    await ask('/agents/spans/query', { limit: 5 })
    await ask('/agents/spans/query', { group_by: [{ source: 'field', key: 'conversation_id' }] })
    await ask('/agents/spans/stats', {
      ...{ start: '2026-01-01T00:00:00Z', end: '2026-01-04T00:00:00Z' },
      ...{ group_by: [{ source: 'field', key: 'agent_name' }], metrics: [{ alias: 'duration_ms' }] },
    })
    await ask('/agents/spans/custom-attrs/schema', {})
    await ask('/agents/search', { query: 'chat' })
    await ask('/agents/traces/chat', { trace_id: call.trace_id, include_feedback: true })
    await ask('/agents/conversations/chat', { conversation_id: 't', include_feedback: true })
    await ask('/agents/conversations/spans', { conversation_ids: ['t'] })
    await ask('/feedback/aggregate', { after_ms: 1767225600000, group_by: [] })
    await ask('/calls/usage', { call_ids: [call.id] })
    await ask('/trace/usage', { filter: { trace_ids: [call.trace_id] } })
    const january = { start: '2026-01-01T00:00:00Z', end: '2026-01-04T00:00:00Z' }
    await ask('/feedback/stats', { ...january, metrics: [{ json_path: 'output.score' }] })
    await ask('/feedback/payload_schema', { ...january, feedback_type: 'thumbs' })
    await ask('/calls/stats', {
      ...january,
      filter: { op_names: ['chat'] },
      usage_metrics: [{ metric: 'total_cost' }],
      call_metrics: [{ metric: 'latency_ms', percentiles: [50] }],
    })
    await ask('/threads/stream_query', { filter: { thread_ids: ['t'] }, limit: 5 })
    await ask('/views/saved/query', {})
    await ask('/calls/export', {})
    await ask('/calls/export', { after: call.id, filter: { op_names: ['chat'] } })
    await ask('/calls/export', { format: 'parquet', kinds: ['calls'] })
    await ask('/objs/query', {})
    await ask('/files/query_stats', {})
    await ask('/calls/stream_query', { limit: 5 })
    await ask('/calls/stream_query', {
      filter: { op_names: ['chat'] },
      sort_by: [{ field: 'started_at', direction: 'desc' }],
      limit: 5,
    })
    await ask('/calls/stream_query', { filter: { trace_ids: [call.trace_id] } })
    await ask('/calls/stream_query', { filter: { parent_ids: [runId(0)], op_names: [call.op_name] } })
    await ask('/calls/query_stats', { filter: { thread_ids: ['t'] } })
    await ask('/call/read', { id: call.id })
    await ask('/feedback/query', { query: literal('weave_ref', '$eq', 'x') })
    assert.equal((await get('/views/engine')).status, 200)
    assert.deepEqual(wrong, [])
    // Proves that a scan would be detected.
    assert.equal(
      (await wrongIn(db, sql`SELECT count(*) AS count FROM calls WHERE op_name = ${'x'}`)).length,
      1,
    )
  })
})
