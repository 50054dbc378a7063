import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { JsonText } from '../../src/domain/json/text.ts'
import { endPart, mergeParts, startPart } from '../../src/operations/calls/parts.ts'
import type { CallEnd, CallPart, CallStart } from '../../src/storage/calls/parts.ts'

const part = (id: string, fields: Partial<CallPart> = {}): CallPart => ({
  project_id: 'acme/qa',
  id,
  display_name: null,
  ...fields,
})
const start = (op_name: string) => ({ start: { op_name } as CallStart })
const end = (ended_at: number) => ({ end: { ended_at } as CallEnd })

for (const [name, parts, expected] of [
  ['nothing', [], []],
  [
    'calls keep the order in which they appear',
    [part('b', start('x')), part('a', start('y')), part('b', end(1))],
    [part('b', { ...start('x'), ...end(1) }), part('a', start('y'))],
  ],
  [
    'the same id in two projects is two calls',
    [part('a', start('x')), part('a', { project_id: 'acme/other', ...end(1) })],
    [part('a', start('x')), part('a', { project_id: 'acme/other', ...end(1) })],
  ],
  [
    'a later part replaces an earlier one of the same kind',
    [part('a', start('x')), part('a', end(1)), part('a', start('y')), part('a', end(2))],
    [part('a', { ...start('y'), ...end(2) })],
  ],
  [
    'the name of an end wins when it comes after the start',
    [part('a', { ...start('x'), display_name: 'start' }), part('a', { ...end(1), display_name: 'end' })],
    [part('a', { ...start('x'), ...end(1), display_name: 'end' })],
  ],
  [
    'the name of an end wins when it comes before the start',
    [part('a', { ...end(1), display_name: 'end' }), part('a', { ...start('x'), display_name: 'start' })],
    [part('a', { ...start('x'), ...end(1), display_name: 'end' })],
  ],
  [
    'an end without a name keeps the name of the start',
    [part('a', { ...start('x'), display_name: 'start' }), part('a', end(1))],
    [part('a', { ...start('x'), ...end(1), display_name: 'start' })],
  ],
  [
    'a start gives its name to an end without one',
    [part('a', end(1)), part('a', { ...start('x'), display_name: 'start' })],
    [part('a', { ...start('x'), ...end(1), display_name: 'start' })],
  ],
] as [string, CallPart[], CallPart[]][]) {
  test(`mergeParts: ${name}`, async () => {
    assert.deepEqual(await mergeParts(structuredClone(parts)), expected)
  })
}

test('mergeParts: each call appears once, with the last of each of its parts', async () => {
  const parts = fc.array(fc.record({ id: fc.constantFrom('a', 'b', 'c'), isStart: fc.boolean() }))
  await fc.assert(
    fc.asyncProperty(parts, async (list) => {
      const merged = await mergeParts(
        list.map(({ id, isStart }, n) => part(id, isStart ? start(String(n)) : end(n))),
      )
      assert.deepEqual(
        merged.map(({ id }) => id),
        [...new Set(list.map(({ id }) => id))],
      )
      for (const { id, start, end } of merged) {
        const last = (isStart: boolean) =>
          list.findLastIndex((given) => given.id === id && given.isStart === isStart)
        assert.equal(start?.op_name ?? '-1', String(last(true)))
        assert.equal(end?.ended_at ?? -1, last(false))
      }
    }),
  )
})

const given = {
  project_id: 'acme/qa',
  id: '0123456789abcdef',
  op_name: 'answer',
  started_at: 1_000_000,
  attributes: new JsonText('{"ü":1.0}'),
  inputs: new JsonText('{}'),
}
const day = 86_400_000_000

test('startPart: absent fields are null, and the trace id is the id of the call, padded with zeros', () => {
  assert.deepEqual(startPart(given, { user: 'alice', retentionDays: 0 }), {
    project_id: 'acme/qa',
    id: '0123456789abcdef',
    display_name: null,
    start: {
      trace_id: '00000000000000000123456789abcdef',
      parent_id: null,
      thread_id: null,
      turn_id: null,
      op_name: 'answer',
      started_at: 1_000_000,
      user_id: 'alice',
      run_id: null,
      run_step: null,
      expire_at: null,
      start_bytes: Buffer.byteLength('{"ü":1.0}{}'),
      attributes: '{"ü":1.0}',
      inputs: '{}',
    },
  })
})

test('startPart: an absent id is generated, a new one each time', () => {
  const { id, ...without } = given
  const [first, second] = [1, 2].map(() => startPart(without, { user: 'alice', retentionDays: 0 }))
  assert.notEqual(first?.id, second?.id)
  assert.equal(first?.start.trace_id, first?.id)
  assert.notEqual(first?.id, id)
})

for (const [expire_at, retentionDays, expected] of [
  [undefined, 0, null],
  [null, 0, null],
  [undefined, 2, 1_000_000 + 2 * day],
  [null, 2, 1_000_000 + 2 * day],
  [5, 2, 5],
  [5, 0, 5],
] as const) {
  test(`startPart: expire_at is ${expected} when ${expire_at} was given and the retention is ${retentionDays} days`, () => {
    const { start } = startPart({ ...given, expire_at }, { user: 'alice', retentionDays })
    assert.equal(start.expire_at, expected)
  })
}

for (const [attributes, expected] of [
  ['{}', '{"otel_span":{"n":1.0}}'],
  ['{"a":1}', '{"a":1,"otel_span":{"n":1.0}}'],
  ['{"a":1.0,"otel_span":{"n":2},"b":2.50}', '{"a":1.0,"otel_span":{"n":1.0},"b":2.50}'],
  ['{"otel_span":1,"a":1,"otel\\u005fspan":2}', '{"otel_span":{"n":1.0},"a":1}'],
] as const) {
  test(`startPart: a span is added to the attributes ${attributes}`, () => {
    const span = { attributes: new JsonText(attributes), otel_dump: new JsonText('{"n":1.0}') }
    const { start } = startPart({ ...given, ...span }, { user: 'alice', retentionDays: 0 })
    assert.equal(start.attributes, expected)
    assert.equal(start.start_bytes, expected.length + 2)
  })
}

test('endPart: absent fields are null and take no space', () => {
  const ended = { project_id: 'acme/qa', id: 'a', ended_at: 7, summary: new JsonText('{}') }
  const nothing = { trace_id: null, ended_at: 7, exception: null, run_step_end: null, summary: '{}' }
  assert.deepEqual(endPart(ended), part('a', { end: { ...nothing, output: null, end_bytes: 2 } }))
  assert.deepEqual(
    endPart({ ...ended, output: new JsonText('"ü"'), display_name: 'x' }),
    part('a', { display_name: 'x', end: { ...nothing, output: '"ü"', end_bytes: 6 } }),
  )
})
