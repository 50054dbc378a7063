import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { type CallRow, readCall } from '../../../src/storage/calls/calls.ts'
import type { Database } from '../../../src/storage/database.ts'
import {
  endPart,
  newProject,
  secondMicros,
  startedAt,
  startPart,
  storedRows,
  visibleCalls,
  wholePart,
} from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'

const call = '0194c1a0-0000-7000-8000-000000000001'

/** A start and an end with every field set. */
const fullStart = {
  trace_id: 'trace',
  parent_id: 'parent',
  thread_id: 'thread',
  turn_id: 'turn',
  op_name: 'weave:///acme/qa/op/answer:v1',
  user_id: 'alice',
  run_id: 'run',
  run_step: 7,
  expire_at: 4_102_444_800 * secondMicros,
  start_bytes: 70,
  attributes: '{"seed":9007199254740993}',
  inputs: '{"question":"größter See? 🐟","p":1.0}',
}
const fullEnd = {
  exception: 'Traceback…',
  run_step_end: 8,
  end_bytes: 30,
  output: '"N\'Djamena"',
  summary: '{"usage":{}}',
}

const fullRow: CallRow = {
  ...{
    id: call,
    project_id: '',
    trace_id: 'trace',
    parent_id: 'parent',
    thread_id: 'thread',
    turn_id: 'turn',
  },
  ...{ op_name: fullStart.op_name, display_name: null, started_at: startedAt },
  ...{ ended_at: startedAt + secondMicros, exception: 'Traceback…', user_id: 'alice', run_id: 'run' },
  ...{ run_step: 7, run_step_end: 8, expire_at: fullStart.expire_at, storage_size: 100 },
  ...{
    total_storage_size: null,
    failed_below: null,
    attributes: fullStart.attributes,
    inputs: fullStart.inputs,
  },
  ...{ output: fullEnd.output, summary: fullEnd.summary },
}

export function merging(open: Driver['open']): void {
  const read = (db: Database, project: string, id = call) => readCall(db, project, id, false, startedAt)

  describe('parts of a call', () => {
    test('a start and an end merge in any order, separately, together and repeated', async (t) => {
      const db = await open(t)
      const orders = {
        'start, end': ['start', 'end'],
        'end, start': ['end', 'start'],
        whole: ['whole'],
        'start, end, start again': ['start', 'end', 'start'],
        'all of it again': ['end', 'start', 'end', 'start', 'whole'],
      } as const
      for (const [order, kinds] of Object.entries(orders)) {
        const project = newProject()
        for (const kind of kinds) {
          const part = {
            start: startPart(project, call, fullStart),
            end: endPart(project, call, fullEnd),
            whole: wholePart(project, call, fullStart, fullEnd),
          }[kind]
          await db.write('upsertCalls', [part])
        }
        assert.deepEqual({ ...(await read(db, project)) }, { ...fullRow, project_id: project }, order)
      }
    })

    test('a start that is sent again replaces its own part and keeps the end', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [wholePart(project, call, fullStart, fullEnd)])
      await db.write('upsertCalls', [
        startPart(project, call, { inputs: '{"n":2}', user_id: 'bob', start_bytes: 9 }),
      ])
      const row = await read(db, project)
      assert.equal(row?.inputs, '{"n":2}')
      assert.equal(row?.parent_id, null)
      assert.equal(row?.user_id, 'alice', 'a call belongs to the user who started it')
      assert.equal(row?.output, fullEnd.output)
      assert.equal(row?.run_step_end, 8)
      assert.equal(row?.storage_size, 39)
    })

    test('a call that was only ended or only named is not visible', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [endPart(project, call)])
      await db.write('renameCall', { project_id: project, id: randomUUID(), name: 'early' })
      assert.equal(await read(db, project), undefined)
      assert.deepEqual(await visibleCalls(db, project), [])
      assert.equal((await storedRows(db, project)).length, 2)
    })

    test('the same id in two projects is two calls', async (t) => {
      const db = await open(t)
      const [one, other] = [newProject(), newProject()]
      await db.write('upsertCalls', [startPart(one, call), startPart(other, call, { op_name: 'ask' })])
      await db.write('upsertCalls', [endPart(other, call)])
      assert.equal((await read(db, one))?.ended_at, null)
      assert.equal((await read(db, other))?.op_name, 'ask')
    })

    for (const count of [1, 15, 16, 17, 33, 1000]) {
      test(`a batch of ${count} is stored completely`, async (t) => {
        const db = await open(t)
        const project = newProject()
        const ids = Array.from({ length: count }, (_, i) => `call-${String(i).padStart(5, '0')}`)
        const starts = ids.map((id, i) =>
          startPart(project, id, { inputs: `{"i":${i}}`, started_at: startedAt + i }),
        )
        await db.write('upsertCalls', starts)
        await db.write(
          'upsertCalls',
          ids.map((id, i) => endPart(project, id, { output: String(i) })),
        )
        const found = await visibleCalls(db, project)
        assert.deepEqual(
          found.map(({ id, inputs, output }) => ({ id, inputs, output })),
          ids.map((id, i) => ({ id, inputs: `{"i":${i}}`, output: String(i) })),
        )
      })
    }

    test('starts, ends, complete calls and names can be mixed', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [startPart(project, 'b'), endPart(project, 'd')])
      await db.write('upsertCalls', [
        wholePart(project, 'a', { started_at: startedAt }),
        endPart(project, 'b', { output: '1' }),
        startPart(project, 'd', { started_at: startedAt + 3 }),
      ])
      await db.write('renameCall', { project_id: project, id: 'c', name: 'third' })
      await db.write('upsertCalls', [startPart(project, 'c', { started_at: startedAt + 2 })])
      assert.deepEqual(
        (await visibleCalls(db, project)).map(({ id, ended_at, display_name }) => [
          id,
          ended_at !== null,
          display_name,
        ]),
        [
          ['a', true, null],
          ['b', true, null],
          ['c', false, 'third'],
          ['d', true, null],
        ],
      )
    })
  })

  describe('names', () => {
    type Step = (db: Database, project: string) => Promise<void>
    const named = (name: string | null) => ({ display_name: name })
    const start =
      (name: string | null): Step =>
      (db, project) =>
        db.write('upsertCalls', [startPart(project, call, named(name))])
    const end =
      (name: string | null): Step =>
      (db, project) =>
        db.write('upsertCalls', [endPart(project, call, named(name))])
    const whole =
      (name: string | null): Step =>
      (db, project) =>
        db.write('upsertCalls', [wholePart(project, call, named(name))])
    const rename =
      (name: string): Step =>
      (db, project) =>
        db.write('renameCall', { project_id: project, id: call, name })

    const cases = {
      'a start sets one': [[start('a')], 'a'],
      'an end replaces the one of its start': [[start('a'), end('b')], 'b'],
      'also when the end arrives first': [[end('b'), start('a')], 'b'],
      'an end without a name leaves it': [[start('a'), end(null)], 'a'],
      'a start without a name leaves it': [[end('b'), start(null)], 'b'],
      'a rename takes precedence over both': [[start('a'), end('b'), rename('c')], 'c'],
      'and over parts that are sent again later': [
        [start('a'), end('b'), rename('c'), start('a'), end('b')],
        'c',
      ],
      'and over a complete call that is sent again': [[whole('a'), rename('c'), whole('a')], 'c'],
      'a rename may arrive before its call': [[rename('c'), start('a')], 'c'],
      'also before a complete call': [[rename('c'), whole('a')], 'c'],
      'also before its end': [[rename('c'), end('b'), start('a')], 'c'],
      'the last rename wins': [[start('a'), rename('c'), rename('d')], 'd'],
      'the empty name removes it': [[start('a'), rename('')], null],
      'a rename between its start and its end stays': [[start('a'), rename('c'), end('a')], 'c'],
      'also when both parts are sent again as one': [[start('a'), rename('c'), end('a'), whole('a')], 'c'],
    } as const
    for (const [what, [parts, expected]] of Object.entries(cases)) {
      test(what, async (t) => {
        const db = await open(t)
        const project = newProject()
        for (const step of parts) await step(db, project)
        assert.equal((await read(db, project))?.display_name, expected)
      })
    }
  })
}
