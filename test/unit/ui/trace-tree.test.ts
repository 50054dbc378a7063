import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { criticalPath } from '../../../ui/screens/trace/critical-path.ts'
import { withoutInnerSteps } from '../../../ui/screens/trace/inner-steps.ts'
import { evenScale, gapsIn, shortenedScale } from '../../../ui/screens/trace/time-scale.ts'
import { costOfTrace, linesOf, spanOf, treeOf } from '../../../ui/screens/trace/tree.ts'
import type { TraceCall } from '../../../ui/server/calls.ts'

const rowOf = (
  id: string,
  parent: string | null,
  from = 0,
  to: number | null = 1,
  cost: number | null = null,
): TraceCall => ({
  id,
  op_name: 'op',
  display_name: null,
  parent_id: parent,
  start: from,
  end: to,
  status: to === null ? 'running' : 'success',
  kind: null,
  input_tokens: null,
  output_tokens: null,
  cost,
  storage_size_bytes: 0,
  is_inner_step: false,
  feedback: 0,
})

const allOf = (rows: readonly TraceCall[], now = 1_000) => linesOf(treeOf(rows, now), new Set())

const shown = (rows: readonly TraceCall[], closed: string[] = []) =>
  linesOf(treeOf(rows, 0), new Set(closed)).map(({ row, depth }) => `${depth} ${row.id}`)

test('callers come before the calls they made, in the order of the rows', () => {
  const rows = [rowOf('b', 'a'), rowOf('a', null), rowOf('d', 'b'), rowOf('c', 'a')]
  assert.deepEqual(shown(rows), ['0 a', '1 b', '2 d', '1 c'])
  assert.deepEqual(shown(rows, ['b']), ['0 a', '1 b', '1 c'])
  assert.deepEqual(shown(rows, ['a']), ['0 a'])
})

test('a call whose caller is missing is a root', () => {
  assert.deepEqual(shown([rowOf('a', 'gone'), rowOf('b', 'a')]), ['0 a', '1 b'])
})

test('every call is listed exactly once, whatever its parent', () => {
  const rows = fc.integer({ min: 1, max: 30 }).chain((count) =>
    fc
      .array(fc.option(fc.integer({ min: 0, max: 35 }), { freq: 8 }), {
        minLength: count,
        maxLength: count,
      })
      .map((parents) =>
        parents.map((parent, index) => rowOf(`${index}`, parent === null ? null : `${parent}`)),
      ),
  )
  fc.assert(
    fc.property(rows, (given) => {
      const ids = allOf(given).map(({ row }) => row.id)
      assert.deepEqual(ids.toSorted(), given.map(({ id }) => id).toSorted())
    }),
    { numRuns: 500 },
  )
})

test('100,000 nested calls are shown as a tree', () => {
  const rows = Array.from({ length: 100_000 }, (_, index) =>
    rowOf(`${index}`, index === 0 ? null : `${index - 1}`),
  )
  assert.equal(shown(rows).length, 100_000)
})

test('a trace lasts from its first start to its last end, or to now', () => {
  assert.deepEqual(spanOf(allOf([rowOf('a', null, 100, 200), rowOf('b', 'a', 50, 150)])), {
    start: 50,
    end: 200,
  })
  assert.deepEqual(spanOf(allOf([rowOf('a', null, 100, null)])), { start: 100, end: 1_000 })
  assert.deepEqual(spanOf([]), { start: 0, end: 0 })
})

test('the cost of a call is not added to the costs of the calls below it', () => {
  const costs = (rows: TraceCall[]) => costOfTrace(treeOf(rows, 0))
  assert.equal(costs([rowOf('a', null)]), undefined)
  assert.equal(
    costs([
      rowOf('a', null),
      rowOf('b', 'a', 0, 1, 2),
      rowOf('c', 'b', 0, 1, 2),
      rowOf('d', 'c', 0, 1, 1),
      rowOf('e', 'a', 0, 1, 3),
      rowOf('f', null, 0, 1, 0),
    ]),
    5,
  )
})

test('a call sums up the calls below it: their number, failures, tokens and cost, each once', () => {
  const used = (input_tokens: number) => ({ input_tokens, output_tokens: 1 })
  const tree = treeOf(
    [
      rowOf('root', null),
      rowOf('agent', 'root'),
      { ...rowOf('model', 'agent', 0, 1, 2), ...used(10) },
      // Its client has included this one in the call above.
      { ...rowOf('inner', 'model', 0, 1, 2), ...used(10), status: 'error' },
      { ...rowOf('other', 'root', 0, 1, 1), ...used(5) },
    ],
    0,
  )
  const sums = linesOf(tree, new Set()).map(({ row, within, isFailedBelow, tokens, cost }) => [
    ...[row.id, within, isFailedBelow, tokens?.input, cost],
  ])
  assert.deepEqual(sums, [
    ['root', 4, true, 15, 3],
    ['agent', 2, true, 10, 2],
    ['model', 1, true, 10, 2],
    ['inner', 0, false, 10, 2],
    ['other', 0, false, 5, 1],
  ])
})

test('calls of the same length are drawn with the same length, whatever ran below them', () => {
  const rows = [
    rowOf('root', null, 0, 6_000),
    ...[0, 1, 2, 3].flatMap((index) => [
      rowOf(`call ${index}`, 'root', index * 1_500, (index + 1) * 1_500),
      ...(index === 0 ? [] : [rowOf(`below ${index}`, `call ${index}`, index * 1_500, index * 1_500 + 5)]),
    ]),
  ]
  const tree = treeOf(rows, 0)
  const span = spanOf(linesOf(tree, new Set()))
  const scale = shortenedScale(span, gapsIn(tree, span))
  const lengths = tree[0]?.children.map(({ start, end }) => (scale.at(end) - scale.at(start)).toFixed(3))
  assert.deepEqual(lengths, ['0.250', '0.250', '0.250', '0.250'])
})

test('waiting is found also where calls wrap the whole trace', () => {
  const tree = treeOf(
    [
      rowOf('server', null, 0, 100),
      rowOf('agent', 'server', 0, 100),
      rowOf('a', 'agent', 0, 10),
      rowOf('b', 'agent', 90, 100),
    ],
    0,
  )
  assert.deepEqual(gapsIn(tree, { start: 0, end: 100 }), [{ start: 10, end: 90 }])
})

const inner = (id: string, parent: string | null, more: Partial<TraceCall> = {}): TraceCall => ({
  ...rowOf(id, parent),
  is_inner_step: true,
  ...more,
})

test('inner steps are hidden, and what runs below them moves up', () => {
  const brief = (rows: readonly TraceCall[]) => shown(withoutInnerSteps(rows))
  const rows = [
    inner('server', null),
    inner('handler', 'server'),
    inner('failed', 'handler', { status: 'error' }),
    inner('judged', 'failed', { feedback: 1 }),
    inner('client', 'handler'),
    rowOf('model', 'client'),
    inner('socket', 'model'),
    inner('orphan', 'gone'),
    inner('running', 'socket', { status: 'running' }),
  ]
  const left = ['0 server', '1 failed', '2 judged', '1 model', '2 running', '0 orphan']
  assert.deepEqual(brief(rows), left)
  assert.deepEqual(withoutInnerSteps(rows.toReversed()).length, left.length)
  // Where there is nothing else, they are what the trace is about.
  assert.equal(brief([inner('server', null), inner('handler', 'server')]).length, 2)
})

test('circles and 100,000 nested inner steps end', () => {
  const circle = [rowOf('root', null), inner('a', 'b'), inner('b', 'a'), rowOf('below', 'b')]
  assert.deepEqual(shown(withoutInnerSteps(circle)), ['0 root', '0 below'])
  const nested = Array.from({ length: 100_000 }, (_, index) =>
    inner(`${index}`, index ? `${index - 1}` : null),
  )
  const rows = [...nested, rowOf('model', '99999'), rowOf('other', '99999')]
  assert.deepEqual(shown(withoutInnerSteps(rows)), ['0 0', '1 model', '1 other'])
})

const pathOf = (rows: TraceCall[]) =>
  Object.fromEntries(
    [...criticalPath(treeOf(rows, 1_000), 0)].map(([{ row }, own]) => [
      row.id,
      own.map(({ start, end }) => [start, end]),
    ]),
  )

test('the critical path has the call that ends last, and before it the one that ended before it began', () => {
  assert.deepEqual(
    pathOf([
      rowOf('root', null, 0, 100),
      rowOf('quick', 'root', 5, 30),
      rowOf('slow', 'root', 10, 50),
      rowOf('next', 'root', 60, 90),
      rowOf('within', 'next', 60, 85),
    ]),
    {
      root: [
        [90, 100],
        [50, 60],
        [0, 10],
      ],
      slow: [[10, 50]],
      next: [[85, 90]],
      within: [[60, 85]],
    },
  )
})

test('a call that outlives its caller or began before it counts only while the caller ran', () => {
  assert.deepEqual(
    pathOf([rowOf('root', null, 10, 100), rowOf('late', 'root', 50, 900), rowOf('early', 'root', 0, 40)]),
    {
      root: [[40, 50]],
      late: [[50, 100]],
      early: [[10, 40]],
    },
  )
})

test('whatever the clocks say, no two parts of the critical path overlap', () => {
  const time = fc.integer({ min: 0, max: 50 })
  const calls = fc.array(fc.tuple(time, time, fc.nat()), { minLength: 1, maxLength: 40 })
  fc.assert(
    fc.property(calls, (given) => {
      const rows = given.map(([one, other, above], index) =>
        rowOf(
          `${index}`,
          index === 0 ? null : `${above % index}`,
          index === 0 ? 0 : Math.min(one, other),
          index === 0 ? 50 : Math.max(one, other),
        ),
      )
      const stretches = [...criticalPath(treeOf(rows, 1_000), 0).values()]
        .flat()
        .toSorted((one, other) => one.start - other.start)
      for (const [index, { start, end }] of stretches.entries()) {
        assert.ok(start < end)
        const after = stretches[index + 1]
        if (after) assert.ok(end <= after.start, JSON.stringify(stretches))
      }
    }),
    { numRuns: 500 },
  )
})

test('long gaps in which nothing ran are shortened, and times stay in order', () => {
  const rows = [
    rowOf('root', null, 0, 10_000),
    rowOf('a', 'root', 0, 1_000),
    rowOf('b', 'root', 500, 1_500),
    rowOf('c', 'root', 9_000, 10_000),
  ]
  const span = spanOf(allOf(rows))
  const gaps = gapsIn(treeOf(rows, 0), span)
  assert.deepEqual(gaps, [{ start: 1_500, end: 9_000 }])
  const scale = shortenedScale(span, gaps)
  assert.equal(scale.at(0), 0)
  assert.equal(scale.at(10_000), 1)
  assert.ok(Math.abs(scale.at(9_000) - scale.at(1_500) - 0.02) < 1e-9)
  for (const ms of [0, 700, 1_500, 5_000, 9_000, 9_900, 10_000]) {
    assert.ok(Math.abs(scale.timeAt(scale.at(ms)) - ms) < 1e-6, String(ms))
  }
  assert.equal(evenScale(span).at(2_500), 0.25)
  assert.deepEqual(gapsIn(treeOf([rowOf('a', null, 5, 5)], 0), { start: 5, end: 5 }), [])
  assert.deepEqual(gapsIn(treeOf([rowOf('a', null, 0, 90)], 0), { start: 0, end: 90 }), [])
})
