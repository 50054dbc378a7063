import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newId } from '../../../src/domain/ids.ts'
import type { ProjectSettings } from '../../../src/domain/project-settings.ts'
import { sumAll } from '../../../src/operations/calls/sums.ts'
import type { Database } from '../../../src/storage/database.ts'
import { storeColumns } from '../../../src/storage/evaluations/columns/store-columns.ts'
import { readRowSets } from '../../../src/storage/evaluations/row-sets.ts'
import { countProject, listProjects } from '../../../src/storage/projects/list.ts'
import { readProjectSettings } from '../../../src/storage/projects/projects.ts'
import { projectTables } from '../../../src/storage/projects/tables.ts'
import type { Change } from '../../../src/storage/settings.ts'
import { rawSql, sql } from '../../../src/storage/sql/sql.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { basic, keys, openApp } from '../../support/app.ts'
import { startPart } from '../../support/call-parts.ts'
import { asking, chatUrl } from '../../support/chat.ts'
import type { Driver } from '../../support/drivers.ts'
import { storeOneOfEach } from '../../support/one-of-each.ts'
import { dumpOf } from '../../support/record-dump.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'

const untilTheEnd = new AbortController().signal
const now = 1_700_000_000_000_000

const tablesWithProjects = {
  sqlite: `SELECT tables.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
    WHERE tables.type = 'table' AND columns.name = 'project_id'`,
  postgres: `SELECT table_name AS name FROM information_schema.columns
    WHERE table_schema = current_schema() AND column_name = 'project_id'`,
}

/** Tables that outlive a project, to show that it existed and was deleted. */
const outliving = ['audit', 'projects']

/** A file of OpenAI's wire, and a batch with a line that reads it. */
async function addBatchTo(db: Database, project_id: string): Promise<void> {
  const add = (name: string, key: string[], { ...row }: Record<string, string | number>) => {
    const table = { name, columns: ['project_id', ...Object.keys(row)], key: ['project_id', ...key] }
    return db.write('copyRows', { table, rows: [[project_id, ...Object.values(row)]] })
  }
  const owner = { user_name: 'alice', created_at: now }
  const file = { id: 'file-1', filename: 'in.jsonl', purpose: 'batch', upload_id: 'u', size: 1 }
  await add('wire_files', ['id'], { ...owner, ...file })
  const counts = { total: 1, completed: 0, failed: 0, input_tokens: 0, cached_tokens: 0, output_tokens: 0 }
  const batch = { id: 'batch_1', key_hash: 'x', endpoint: '/v1/completions', input_file_id: 'file-1' }
  const state = {
    status: 'in_progress',
    is_open: 0,
    held_until: 0,
    turn_at: 0,
    expires_at: now,
    output_seconds: 1,
  }
  await add('batches', ['id'], { ...owner, ...batch, ...state, ...counts, reasoning_tokens: 0 })
  await add('batch_lines', ['batch_id', 'line'], {
    batch_id: 'batch_1',
    line: 1,
    custom_id: 'a',
    at: 0,
    length: 1,
  })
}

/** Writes something to every table with a project column. */
async function fill(t: Parameters<typeof openApp>[0], db: Database, project: string): Promise<void> {
  const opened = await openApp(t, { database: db, backend: scriptedBackend() })
  const things = await storeOneOfEach(opened, project, keys.root)
  const post = async (url: string, body: unknown) => {
    const { status, text, json } = await opened.post(url, body, keys.root)
    assert.equal(status, 200, `${url}: ${text}`)
    return json
  }
  const item = `/annotation_queues/${things.queue}/items/${things.item}/progress`
  await post(item, { project_id: project, annotation_state: 'completed' })
  const ref = (name: string) => `weave:///${project}/object/${name}:v0`
  await post(`/annotation_queues/${things.queue}/rules`, {
    project_id: project,
    pick: { kind: 'scores', below: 1 },
  })
  // Its call does not exist yet.
  await post('/feedback/create', {
    project_id: project,
    svc_ref: `weave:///${project}/call/${newId()}`,
    feedback_type: 'wandb.runnable.s',
    payload: { output: 0 },
    runnable_ref: ref('s'),
  })
  const root = `/v2/${project}`
  const { evaluation_run_id } = await post(`${root}/evaluation_runs`, {
    evaluation: ref('e'),
    model: ref('m'),
  })
  const predict = async (question: string) => {
    const body = { model: ref('m'), inputs: { question }, output: 1, evaluation_run_id }
    return (await post(`${root}/predictions`, body)).prediction_id
  }
  const prediction_id = await predict('capital of Chad')
  await post(`${root}/scores`, { prediction_id, scorer: ref('s'), value: 1, evaluation_run_id })
  await post(`${root}/predictions/${prediction_id}/finish`, {})
  await post(`${root}/eval_results/query`, { evaluation_call_ids: [evaluation_run_id] })
  await post(`/alert_endpoints/${things.alertEndpoint}/test`, { project_id: project })
  await post('/views/saved', { project_id: project, screen: 'calls', name: 'All', search: '' })
  const label = { project_id: project, object_id: 'support', alias: 'production' }
  await db.write('setGate', { ...label, gate: '{}', user_id: 'alice', now: 1 })
  for (const set of await readRowSets(db, project, [evaluation_run_id])) {
    await storeColumns(boundTo(db, new AbortController().signal), { project_id: project, ...set })
  }
  const served = {
    run_id: evaluation_run_id,
    runs_as: 'root',
    plan: '{}',
    trials: 1,
    position: 0,
    stopped: 0,
  }
  const free = { held_by: null, held_until: Number.MAX_SAFE_INTEGER, turn_at: now }
  await db.write('addServedRuns', { calls: [], runs: [{ project_id: project, ...served, ...free }] })
  await addBatchTo(db, project)
  // Not derived yet.
  await predict('capital of Mali')
  // As a server of an older version leaves it.
  const marks = {
    name: 'underived_calls',
    columns: ['project_id', 'call_id', 'mark'],
    key: ['project_id', 'call_id'],
  }
  await db.write('copyRows', { table: marks, rows: [[project, prediction_id, 'a mark']] })
  const shadow = {
    ...{ id: 'a shadow', object_id: 'support', alias: 'production', digest: 'd', present: 'p', share: 1 },
    ...{ min_pairs: 1, scorer: 's', user_id: 'root', created_at: 1, is_replaced: 0 },
  }
  const pair = {
    ...{ shadow_id: shadow.id, call_id: 'c', state: 'waiting', request: '{}', noted_at: 1, due_at: 1 },
    ...{ attempts: 0, held_until: 0 },
  }
  for (const [name, row] of Object.entries({ label_shadows: shadow, shadow_pairs: pair })) {
    const columns = ['project_id', ...Object.keys(row)]
    const table = { name, columns, key: columns.slice(0, 2) }
    await db.write('copyRows', { table, rows: [[project, ...Object.values(row)]] })
  }
  const named = { thread_id: 'a thread', attributes: '{"gen_ai":{"agent":{"name":"weaver"}}}' }
  await db.write('upsertCalls', [startPart(project, `an agent of ${project}`, named)])
  await sumAll(boundTo(db, untilTheEnd))
  // Nothing asks it here, so it waits.
  const waiting = await opened.app.inject({
    method: 'POST',
    url: '/v1/responses',
    headers: { authorization: basic(keys.root), 'x-heddle-project': project },
    payload: { input: 'Hi', background: true },
  })
  assert.equal(waiting.statusCode, 200, waiting.body)
  for (const [url, payload] of [
    [chatUrl, asking()],
    ['/v1/responses', { input: 'Hi' }],
  ] as const) {
    const headers = { authorization: basic(keys.root), 'x-heddle-project': project }
    const asked = await opened.app.inject({ method: 'POST', url, headers, payload })
    assert.equal(asked.statusCode, 200, asked.body)
    await post('/call/read', { project_id: project, id: asked.headers['x-heddle-call-id'] })
  }
  const headers = { authorization: basic(keys.root), 'x-heddle-project': project }
  const items = [{ role: 'user', content: 'Hi' }]
  const url = '/v1/conversations'
  const begun = await opened.app.inject({ method: 'POST', url, headers, payload: { items } })
  assert.equal(begun.statusCode, 200, begun.body)
  await post(`/monitors/${things.monitor}/run`, { project_id: project })
  const key = { project_id: project, monitor_id: things.monitor, holder: 'process' }
  const take = { kind: 'check' as const, except: [], limit: 1, now: Number.MAX_SAFE_INTEGER - 1 }
  const taken = await db.write('takeJudgements', { ...key, ...take, until: Number.MAX_SAFE_INTEGER })
  const judgements = taken.map(({ call_id, scorer }) => ({
    call_id,
    scorer,
    state: 'judged' as const,
    tokens: 1,
  }))
  await db.write('settleJudgements', { ...key, judgements, now, day: '2026-01-01' })
  const memory = new SharedArrayBuffer(9)
  const piece = { project_id: project, upload_id: 'unfinished', position: 0, memory, length: 9, now }
  await db.write('keepPiece', piece)
  await db.write('changeProjectSettings', { project_id: project, change: { retention_days: 0 } })
}

async function addColdFiles(db: Database, project_id: string): Promise<void> {
  const id = 'a file'
  const size = { calls: 1, bytes: 1, from_at: 0, until_at: 0, created_at: 0, call_ids: '["c"]' }
  const rows: Record<string, Record<string, string | number>> = {
    cold_files: { id, state: 'ready', ...size },
    cold_marks: { file_id: id, call_id: 'c' },
    cold_users: { end_user: 'u', call_id: 'c' },
    cold_removals: { id: 'an older file', remove_at: now },
  }
  for (const [name, row] of Object.entries(rows)) {
    const columns = ['project_id', ...Object.keys(row)]
    const table = { name, columns, key: columns.slice(0, 2) }
    await db.write('copyRows', { table, rows: [[project_id, ...Object.values(row)]] })
  }
}

async function rowsOf(db: Database, project: string): Promise<Record<string, number>> {
  const dump = await dumpOf(db, (other) => other !== project, [])
  return Object.fromEntries(projectTables.map(({ table }) => [table, dump[table]?.length ?? -1]))
}

export function projects(open: Driver['open']): void {
  describe('projects', () => {
    test('keep their settings until these are removed', async (t) => {
      const db = await open(t)
      const set = (project_id: string, change: Change<ProjectSettings>) =>
        db.write('changeProjectSettings', { project_id, change })
      assert.deepEqual(await readProjectSettings(db, 'acme/qa'), {})
      assert.deepEqual(await set('acme/qa', { retention_days: 3 }), { retention_days: 3 })
      assert.deepEqual(await set('acme/größe', { retention_days: 0 }), { retention_days: 0 })
      assert.deepEqual(await readProjectSettings(db, 'acme/qa'), { retention_days: 3 })
      assert.deepEqual(await readProjectSettings(db, 'acme/größe'), { retention_days: 0 })
      assert.deepEqual(await set('acme/qa', {}), { retention_days: 3 })
      assert.deepEqual(await set('acme/qa', { retention_days: null }), {})
      assert.deepEqual(await readProjectSettings(db, 'acme/qa'), {})
    })

    test('are listed by name, for some entities and projects or for all, in pages', async (t) => {
      const db = await open(t)
      const names = [
        'a/x',
        'acme!/x',
        'acme-2/x',
        'acme/1',
        'acme/2',
        'acme/Z',
        'acme/z',
        'acme/ä',
        'acme/😀',
        'acme0/x',
        'ä/x',
      ]
      for (const project_id of names.toReversed()) {
        await db.write('changeProjectSettings', { project_id, change: { retention_days: 1 } })
      }
      await db.write('renameCall', { project_id: 'acme/2', id: 'a', name: 'also a call' })
      await db.write('renameCall', { project_id: 'acme/calls', id: 'a', name: 'only a call' })
      const all = [
        'a/x',
        'acme!/x',
        'acme-2/x',
        'acme/1',
        'acme/2',
        'acme/Z',
        'acme/calls',
        'acme/z',
        'acme/ä',
        'acme/😀',
        'acme0/x',
        'ä/x',
      ]
      const list = async (scopes: string[], after = '', limit = 100) =>
        (await listProjects(boundTo(db, untilTheEnd), { scopes, after, limit })).map(({ project }) => project)
      assert.deepEqual(await list(['*']), all)
      const ofAcme = all.filter((name) => name.startsWith('acme/'))
      assert.deepEqual(await list(['acme']), ofAcme)
      assert.deepEqual(await list(['ä', 'acme', 'nobody']), [...ofAcme, 'ä/x'])
      assert.deepEqual(await list(['ä/x', 'acme/z', 'acme/nothing']), ['acme/z', 'ä/x'])
      assert.deepEqual(await list([]), [])
      for (const scopes of [['*'], ['ä', 'acme', 'a'], ['acme/z', 'acme/2', 'acme0', 'ä/x', 'ä']]) {
        const whole = await list(scopes)
        for (const limit of [1, 2, 5]) {
          const paged: string[] = []
          for (let page = await list(scopes, '', limit); page.length > 0; ) {
            paged.push(...page)
            page = await list(scopes, page.at(-1), limit)
          }
          assert.deepEqual(paged, whole)
        }
      }
      const [first] = await listProjects(boundTo(db, untilTheEnd), { scopes: ['acme'], after: '', limit: 1 })
      assert.deepEqual(first, { project: 'acme/1', settings: { retention_days: 1 }, isBeingDeleted: false })
    })

    test('the list of their tables has every table with a project column', async (t) => {
      const db = await open(t)
      const found = await db.all<{ name: string }>(rawSql(tablesWithProjects[db.dialect.engine]))
      const known = [...projectTables.map(({ table }) => table), ...outliving]
      assert.deepEqual(found.map(({ name }) => name).sort(), known.sort())
    })

    test('are deleted with everything in them, and with nothing of others', async (t) => {
      const db = await open(t)
      const projects = ['acme/qa', 'acme/q', 'acme/qa2', 'globex/qa']
      for (const project of projects) await fill(t, db, project)
      // Projects take turns: a few calls of each are indexed, and others wait.
      for (const _ of projects) await db.write('indexCalls', { limit: 3, characters: 1 << 20 })
      await db.write('markWrongSums', { project_id: 'acme/qa', day: 0, hours: [0] })
      for (const project_id of projects) {
        await db.write('addRedactionCounts', [{ project_id, kind: 'email', count: 1 }])
      }
      const unsummed = { name: 'unsummed_projects', columns: ['project_id', 'at'], key: ['project_id'] }
      await db.write('copyRows', { table: unsummed, rows: [['acme/qa', 0]] })
      await addColdFiles(db, 'acme/qa')
      for (const [table, rows] of Object.entries(await rowsOf(db, 'acme/qa'))) {
        assert.ok(rows > 0, `${table} has rows`)
      }
      const counts = await countProject(boundTo(db, untilTheEnd), 'acme/qa')
      const others = await dumpOf(db, (project) => project === 'acme/qa')

      assert.equal(await db.write('beginProjectDeletion', { project_id: 'acme/nothing', now }), false)
      assert.equal(await db.write('deleteSomeOfProject', { project_id: 'acme/qa', now }), undefined)
      const by = { via: 'http' as const, name: 'alice' }
      assert.equal(await db.write('beginProjectDeletion', { project_id: 'acme/qa', now, by }), true)
      for (let isDone = false; !isDone; ) {
        const step = await db.write('deleteSomeOfProject', { project_id: 'acme/qa', now })
        isDone = step?.isDone ?? true
        // Here is no store.
        if (step?.isInStore) await db.write('forgetRemoved', { ids: ['a file', 'an older file'], now })
        if (isDone) assert.deepEqual(step?.deleted, counts)
      }
      const left = await rowsOf(db, 'acme/qa')
      assert.deepEqual(left, Object.fromEntries(Object.keys(left).map((table) => [table, 0])))
      assert.deepEqual(await dumpOf(db, () => false), others)
      const deeds = await db.all<{ action: string; actor: string; details: string }>(
        sql`SELECT action, actor, details FROM audit WHERE project_id = ${'acme/qa'} AND action LIKE ${'project.delete%'} ORDER BY id`,
      )
      assert.deepEqual(
        deeds.map(({ action, actor, details }) => [action, actor, JSON.parse(details)]),
        [
          ['project.delete', 'alice', {}],
          ['project.deleted', 'alice', counts],
        ],
      )
    })

    test('are deleted completely even if the client that asked for it disconnects', async (t) => {
      const db = await open(t)
      await fill(t, db, 'acme/qa')
      const counts = await countProject(boundTo(db, untilTheEnd), 'acme/qa')
      await db.write('beginProjectDeletion', { project_id: 'acme/qa', now })
      for (let i = 0; i < 4; i++)
        await db.write('deleteSomeOfProject', { project_id: 'acme/qa', now: now + i })
      const [listed] = await listProjects(boundTo(db, untilTheEnd), { scopes: ['*'], after: '', limit: 9 })
      assert.deepEqual([listed?.project, listed?.isBeingDeleted], ['acme/qa', true])
      const later = (leftBefore: number) =>
        db.write('continueProjectDeletion', { now: now + 100, leftBefore })
      assert.equal(await later(now + 3), false, 'the deletion is still in progress')
      while (await later(now + 4));
      assert.deepEqual(
        await listProjects(boundTo(db, untilTheEnd), { scopes: ['*'], after: '', limit: 9 }),
        [],
      )
      const deed = await db.get<{ details: string }>(
        sql`SELECT details FROM audit WHERE action = ${'project.deleted'}`,
      )
      assert.deepEqual(JSON.parse(deed?.details ?? ''), counts)
    })

    test('concurrent deletions of the same project cooperate', async (t) => {
      const db = await open(t)
      await fill(t, db, 'acme/qa')
      const remove = async () => {
        await db.write('beginProjectDeletion', { project_id: 'acme/qa', now })
        for (;;) {
          const step = await db.write('deleteSomeOfProject', { project_id: 'acme/qa', now })
          if (step === undefined || step.isDone) return
        }
      }
      await Promise.all([remove(), remove(), remove()])
      assert.ok(Object.values(await rowsOf(db, 'acme/qa')).every((rows) => rows === 0))
    })
  })
}
