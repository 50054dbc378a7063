import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readCall } from '../../../src/storage/calls/calls.ts'
import {
  hasLeftovers,
  monitorsAtWork,
  type SettledJudgement,
  statesOfCalls,
  tokensOfDay,
} from '../../../src/storage/monitors/judgements.ts'
import { findMonitor, type Monitor } from '../../../src/storage/monitors/monitors.ts'
import { countJudgements } from '../../../src/storage/monitors/stats.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { endPart, newProject, startPart, wholePart } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'
import { refusedWith } from '../../support/refusals.ts'

const noon = 1_767_268_800_000_000
const day = '2026-01-01'
/** Later than the clock of the test, which dates judgements. */
const later = 4_000_000_000_000_000

function monitorRow(project_id: string, fields: Partial<Monitor> = {}): Monitor {
  return {
    project_id,
    id: 'monitor',
    name: 'Größe',
    description: '',
    scorers: JSON.stringify([
      { name: 'short', ref: 'short', kind: 'check', fields: {} },
      { name: 'good', ref: 'good', kind: 'judge', fields: {} },
    ]),
    conditions: '{}',
    sampling_rate: 1,
    token_budget: null,
    active: 1,
    waits: null,
    runs_as: 'alice',
    stopped: null,
    created_at: noon,
    created_by: 'alice',
    updated_at: noon,
    deleted_at: null,
    ...fields,
  }
}

function feedbackRow(project_id: string, call_id: string) {
  return {
    project_id,
    id: `score of ${call_id}`,
    feedback_type: 'wandb.runnable.good',
    svc_ref: `weave:///${project_id}/call/${call_id}`,
    call_id,
    thread_id: null,
    user_id: 'alice',
    creator: null,
    created_at: noon,
    payload: '{"output":1}',
    annotation_ref: null,
    runnable_ref: null,
    call_ref: null,
    trigger_ref: null,
    queue_id: null,
  }
}

export function monitors(open: Driver['open']): void {
  describe('monitors', () => {
    async function opened(t: Parameters<Driver['open']>[0], fields: Partial<Monitor> = {}) {
      const db = await open(t)
      const project = newProject()
      const key = { project_id: project, monitor_id: 'monitor' }
      await db.write('addMonitor', monitorRow(project, fields))
      return {
        db,
        project,
        key,
        take: (holder: string, kind: 'check' | 'judge' = 'judge', now = later, limit = 10) =>
          db.write('takeJudgements', {
            ...key,
            kind,
            holder,
            limit,
            except: [],
            now,
            until: now + 1_000,
          }),
        settle: (holder: string, judgements: SettledJudgement[], waits?: string | null) =>
          db.write('settleJudgements', {
            ...key,
            holder,
            judgements,
            now: noon,
            day,
            ...(waits !== undefined && { waits }),
          }),
        atWork: async (kind: 'check' | 'judge' = 'judge') =>
          (await monitorsAtWork(db, kind, later)).filter(({ project_id }) => project_id === project).length,
        write: async (...ids: string[]) => {
          await db.write(
            'upsertCalls',
            ids.map((id) => wholePart(project, id)),
          )
        },
      }
    }

    test('of many at work those after the last one come first', async (t) => {
      const { db, project, write } = await opened(t)
      await write('a')
      const all = await monitorsAtWork(db, 'judge', later)
      const at = all.findIndex(({ project_id }) => project_id === project)
      assert.ok(at >= 0)
      const rotated = [...all.slice(at + 1), ...all.slice(0, at + 1)]
      assert.deepEqual(await monitorsAtWork(db, 'judge', later, all[at]), rotated)
    })

    test('are stored as created, changed in the given fields, and deleted', async (t) => {
      const { db, project, key } = await opened(t)
      const row = monitorRow(project)
      assert.deepEqual({ ...(await findMonitor(db, key)) }, row)
      const changed = { ...row, sampling_rate: 0.25, token_budget: 9, updated_at: noon + 1 }
      const change = { sampling_rate: 0.25, token_budget: 9 }
      assert.deepEqual(
        { ...(await db.write('changeMonitor', { ...key, user: 'alice', change, now: noon + 1 })) },
        changed,
      )
      assert.deepEqual({ ...(await findMonitor(db, key)) }, changed)
      await db.write('deleteMonitor', { ...key, now: noon + 2 })
      assert.equal(await findMonitor(db, key), undefined)
      const gone = refusedWith('monitor_not_found')
      await assert.rejects(db.write('deleteMonitor', { ...key, now: noon + 3 }), gone)
      await assert.rejects(db.write('changeMonitor', { ...key, user: 'alice', change, now: noon }), gone)
    })

    test('create a judgement for each scorer when a call ends', async (t) => {
      const { db, project, take, write } = await opened(t)
      await db.write('upsertCalls', [startPart(project, 'a')])
      assert.deepEqual(await take('one'), [])
      await db.write('upsertCalls', [endPart(project, 'a')])
      await write('b')
      await write('b')
      const taken = async (kind: 'check' | 'judge') =>
        (await take('one', kind)).map(({ call_id, scorer }) => `${call_id} ${scorer}`).sort()
      assert.deepEqual(await taken('judge'), ['a good', 'b good'])
      assert.deepEqual(await taken('check'), ['a short', 'b short'])
    })

    test('create no judgement for other projects, while paused, for calls of judges, or outside the sample', async (t) => {
      const { db, project, key, atWork, write } = await opened(t, { sampling_rate: 0 })
      await write('a')
      await db.write('changeMonitor', {
        ...key,
        user: 'alice',
        change: { sampling_rate: 1, active: 0 },
        now: noon,
      })
      await write('b')
      await db.write('changeMonitor', { ...key, user: 'alice', change: { active: 1 }, now: noon })
      await db.write('upsertCalls', [wholePart(newProject(), 'c')])
      const own = wholePart(project, 'd')
      await db.write('upsertCalls', [{ ...own, start: { ...own.start, op_name: 'heddle.judge' } }])
      assert.equal(await atWork(), 0)
      await write('e')
      assert.equal(await atWork(), 1)
    })

    test('give each judgement to one holder, until the holder stops renewing it', async (t) => {
      const { db, key, take, write } = await opened(t)
      await write('a', 'b', 'c')
      const taken = await Promise.all(
        ['one', 'two', 'three'].map((holder) => take(holder, 'judge', later, 2)),
      )
      assert.deepEqual(
        taken
          .flat()
          .map(({ call_id }) => call_id)
          .sort(),
        ['a', 'b', 'c'],
      )
      assert.deepEqual(await take('four', 'judge', later + 999), [])
      const judgements = [{ call_id: 'a', scorer: 'good' }]
      for (const holder of ['one', 'two', 'three']) {
        await db.write('renewJudgements', {
          ...key,
          holder,
          judgements: [...judgements],
          until: later + 5_000,
        })
      }
      const next = await take('four', 'judge', later + 1_000)
      assert.deepEqual(next.map(({ call_id }) => call_id).sort(), ['b', 'c'])
    })

    test('write the score, the call and the tokens together and only once', async (t) => {
      const { db, project, key, take, settle, atWork, write } = await opened(t)
      await write('a')
      await take('one')
      const settled = (): SettledJudgement => ({
        call_id: 'a',
        scorer: 'good',
        state: 'judged',
        tokens: 7,
        call: wholePart(project, 'judge call', { op_name: 'heddle.judge' }),
        feedback: feedbackRow(project, 'a'),
      })
      // A holder without the judgement writes nothing.
      await settle('two', [settled()])
      assert.equal(await tokensOfDay(db, key, day), 0)
      assert.equal(await readCall(db, project, 'judge call', false, noon), undefined)
      await settle('one', [settled()])
      await settle('one', [settled()])
      assert.equal(await tokensOfDay(db, key, day), 7)
      assert.ok(await readCall(db, project, 'judge call', false, noon))
      assert.equal(await atWork(), 0)
      // Writing the call again does not create it again.
      await write('a')
      assert.equal(await atWork(), 0)
    })

    test('store no score for a deleted call, but count its tokens', async (t) => {
      const { db, project, key, take, settle, write } = await opened(t)
      await write('a')
      await take('one')
      await db.write('deleteCalls', { project_id: project, ids: ['a'], now: noon })
      const feedback = feedbackRow(project, 'a')
      await settle('one', [{ call_id: 'a', scorer: 'good', state: 'judged', tokens: 5, feedback }])
      assert.equal(await tokensOfDay(db, key, day), 5)
      assert.deepEqual(await db.write('addFeedback', [{ record: feedback, field: 'id' }]), [
        { id: feedback.id, created_at: noon, payload: feedback.payload },
      ])
    })

    test('can wait, and report why they wait', async (t) => {
      const { db, key, take, settle, atWork, write } = await opened(t)
      await write('a', 'b')
      await take('one')
      await settle(
        'one',
        [
          { call_id: 'a', scorer: 'good', state: 'pending', reason: 'x', due_at: later + 1, wasTried: true },
          { call_id: 'b', scorer: 'good', state: 'other' },
        ],
        'no model',
      )
      assert.equal((await findMonitor(db, key))?.waits, 'no model')
      assert.equal(await atWork(), 0)
      assert.deepEqual(
        (await take('two', 'judge', later + 1)).map((one) => ({ ...one })),
        [{ call_id: 'a', scorer: 'good', attempts: 1 }],
      )
      await settle('two', [], null)
      assert.equal((await findMonitor(db, key))?.waits, null)
    })

    test('forget the judgements of a call when the call is forgotten', async (t) => {
      const { db, project, key, take, settle, write } = await opened(t)
      await write('a', 'b')
      await take('one')
      await settle('one', [
        { call_id: 'a', scorer: 'good', state: 'judged', tokens: 1 },
        { call_id: 'b', scorer: 'good', state: 'failed', reason: 'x' },
      ])
      const known = async () =>
        (
          await countJudgements(boundTo(db, new AbortController().signal), {
            ...key,
            after: 0,
            before: later * 2,
          })
        )
          .map(({ scorer, state, count }) => `${scorer} ${state} ${count}`)
          .sort()
      const both = ['good failed 1', 'good judged 1', 'short pending 2']
      assert.deepEqual(await known(), both)
      await db.write('deleteCalls', { project_id: project, ids: ['a'], now: noon })
      const sweep = (forgetBefore: number) =>
        db.write('sweepCalls', { now: noon, forgetBefore, limit: 200, bytes: 1e9 })
      await sweep(noon)
      assert.deepEqual(await known(), both)
      while ((await sweep(noon + 1)) > 0);
      assert.deepEqual(await known(), ['good failed 1', 'short pending 1'])
    })

    test('stop with their user, and run as the user who resumes them', async (t) => {
      const { db, project, key, atWork, write } = await opened(t, { runs_as: newProject() })
      const before = (await findMonitor(db, key)) as Monitor
      await write('a')
      await db.write('stopMonitorsOf', { user: 'somebody else', now: noon + 1 })
      assert.equal(await atWork(), 1)
      await db.write('stopMonitorsOf', { user: before.runs_as, now: noon + 1 })
      assert.equal(await atWork(), 0)
      await write('b')
      const stopped = (await findMonitor(db, key)) as Monitor
      assert.deepEqual([stopped.active, stopped.updated_at], [0, noon + 1])
      assert.match(stopped.stopped ?? '', new RegExp(`^the user ${before.runs_as} was removed`))
      const change = (user: string, change: object) =>
        db.write('changeMonitor', { ...key, user, change: { ...change }, now: noon + 2 })
      assert.equal((await change('bob', { name: 'still' })).stopped, stopped.stopped)
      const resumed = await change('bob', { active: 1 })
      assert.deepEqual([resumed.active, resumed.stopped, resumed.runs_as], [1, null, 'bob'])
      assert.deepEqual({ ...(await findMonitor(db, key)) }, { ...resumed })
      // A pause does not change the user, even of a monitor that only another resumes.
      assert.equal((await change('carol', { active: 0 })).runs_as, 'bob')
      assert.equal((await change('carol', { active: 1 })).runs_as, 'carol')
      assert.equal(await atWork(), 1)
      assert.deepEqual(
        (
          await db.write('takeJudgements', {
            ...key,
            kind: 'judge',
            holder: 'one',
            limit: 9,
            except: [],
            now: later,
            until: later + 1,
          })
        ).map(({ call_id }) => call_id),
        ['a'],
        `calls that ended while the monitor of ${project} was stopped have no judgement`,
      )
    })

    test('when deleted write nothing more, and their judgements are removed', async (t) => {
      const { db, project, key, take, settle, atWork, write } = await opened(t)
      await write('a', 'b', 'c')
      await take('one')
      await db.write('deleteMonitor', { ...key, now: noon })
      await settle('one', [{ call_id: 'a', scorer: 'good', state: 'judged', tokens: 5 }])
      assert.equal(await tokensOfDay(db, key, day), 0)
      assert.equal(await db.write('dropJudgements', { limit: 5 }), true)
      assert.equal(await db.write('dropJudgements', { limit: 5 }), false)
      await write('d')
      assert.equal(await atWork(), 0)
      assert.equal(await hasLeftovers(db), false)
      const standing = await statesOfCalls(db, project, ['a', 'never'], noon)
      assert.deepEqual(
        [...standing],
        [
          ['a', 'live'],
          ['never', 'gone'],
        ],
      )
    })
  })
}
