import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Database } from '../../src/storage/database.ts'
import { openAppWithoutShedding } from '../support/app-without-shedding.ts'
import { completeOf, project, startOf } from '../support/calls.ts'
import { feedbackOf } from '../support/feedback.ts'

const literal = (value: unknown) => ({ $literal: value })
const field = (name: string) => ({ $getField: name })
const equal = (name: string, value: unknown) => ({ $eq: [field(name), literal(value)] })

function within(levels: number, wrap: (inner: unknown) => unknown, innermost: unknown): unknown {
  let expression = innermost
  for (let level = 0; level < levels; level++) expression = wrap(expression)
  return expression
}

const list = Array.from({ length: 1_000 }, (_, n) => literal(`value ${n}`))
/** Each kind of value asks for the operand by itself. */
const mixed = ['x', 1, true, null].map(literal)
const deepPath = (steps: number) => `inputs${'.a'.repeat(steps)}`

/** Expressions at the bounds of what is accepted, and beyond them. */
const expressions: Record<string, { expression: unknown; status: number }> = {
  '10,000 comparisons': { expression: { $or: Array(10_000).fill(equal('id', 'x')) }, status: 422 },
  'as many as are taken': { expression: { $or: Array(300).fill(equal('inputs.a.0.b', 'x')) }, status: 200 },
  'a long $in': { expression: { $in: [field('inputs.a'), list] }, status: 200 },
  'a $in that is too long': { expression: { $in: [field('id'), [...list, literal('x')]] }, status: 422 },
  '$in in $in in $in': {
    expression: within(3, (inner) => ({ $in: [inner, list] }), { $in: [field('inputs.a'), list] }),
    status: 200,
  },
  'a $in that doubles at each level': {
    expression: within(12, (inner) => ({ $in: [inner, mixed] }), { $in: [field('inputs.a'), mixed] }),
    status: 422,
  },
  'a $in in a list': {
    expression: { $in: [field('inputs.a'), Array(200).fill({ $in: [field('inputs.b'), [literal(1)]] })] },
    status: 200,
  },
  '90 times not': { expression: within(90, (inner) => ({ $not: [inner] }), equal('id', 'x')), status: 200 },
  '90 conversions': {
    expression: {
      $eq: [within(90, (input) => ({ $convert: { input, to: 'string' } }), field('inputs.a')), literal('x')],
    },
    status: 200,
  },
  'a path of 20 steps': { expression: equal(deepPath(20), 'x'), status: 200 },
  'a path of 500 steps': { expression: equal(deepPath(500), 'x'), status: 422 },
  'a path of numbers': { expression: equal(`inputs${'.0'.repeat(500)}`, 'x'), status: 422 },
  'a path of three numbers': { expression: equal('inputs.0.1.2', 'x'), status: 200 },
  'numbers beside numbers': {
    expression: { $or: Array(300).fill(equal('inputs.0.0.0', 0)) },
    status: 200,
  },
  'a long text': { expression: equal('op_name', 'x'.repeat(1_000_000)), status: 200 },
  'a long part': {
    expression: {
      $contains: {
        input: field('inputs.a'),
        substr: literal('%_'.repeat(500_000)),
        case_insensitive: true,
      },
    },
    status: 200,
  },
  'JavaScript as an operator': { expression: { $where: 'process.exit(1)' }, status: 422 },
  'a name that JavaScript knows': { expression: JSON.parse('{"__proto__":[]}'), status: 422 },
  'constructor as an operator': { expression: { constructor: [] }, status: 422 },
}

const filterLists = [
  'op_names',
  'input_refs',
  'output_refs',
  'parent_ids',
  'trace_ids',
  'call_ids',
  'thread_ids',
  'turn_ids',
  'svc_user_ids',
  'svc_run_ids',
]

/** Every query is answered or refused, by either storage engine. */
export function hostileQueries(open: (t: TestContext) => Promise<Database | undefined>): void {
  test('an expression at its bounds is answered, and beyond them it is refused', async (t) => {
    const database = await open(t)
    const { post } = await openAppWithoutShedding(t, { ...(database && { database }) })
    await post('/v2/acme/qa/calls/complete', { batch: [completeOf({ inputs: { a: [0, { b: 'x' }] } })] })
    for (const [what, { expression, status }] of Object.entries(expressions)) {
      const query = { $expr: expression }
      const counted = await post('/calls/query_stats', { project_id: project, query })
      assert.equal(counted.status, status, `${what}: ${counted.text.slice(0, 300)}`)
      assert.ok(counted.text.length < 2_000, what)
      for (const url of ['/calls/stream_query', '/feedback/query', '/feedback/purge', '/cost/query']) {
        const answer = await post(url, { project_id: project, query })
        assert.ok(answer.status < 500, `${url} ${what}: ${answer.text.slice(0, 300)}`)
      }
    }
  })

  test('lists of a thousand in every filter are answered', async (t) => {
    const database = await open(t)
    const { post } = await openAppWithoutShedding(t, { ...(database && { database }) })
    const thousand = (make: (n: number) => string) => Array.from({ length: 1_000 }, (_, n) => make(n))
    const makers = [(n: number) => `x${n}`, (n: number) => `weave:///acme/qa/op/x${n}:*`]
    for (const make of makers) {
      for (const names of [...filterLists.map((name) => [name]), filterLists]) {
        const filter = Object.fromEntries(names.map((name) => [name, thousand(make)]))
        for (const url of ['/calls/stream_query', '/calls/query_stats']) {
          const { status, text } = await post(url, { project_id: project, filter })
          assert.equal(status, 200, `${url} ${names}: ${text}`)
        }
      }
    }
    const names = thousand((n) => `x${n}`)
    const filter = {
      object_ids: names,
      base_object_classes: names,
      exclude_base_object_classes: names,
      leaf_object_classes: names,
      tags: names,
      aliases: [...names.slice(1), 'latest'],
    }
    const found = await post('/objs/query', { project_id: project, filter })
    assert.deepEqual([found.status, found.json], [200, { objs: [] }])
  })

  test('a path of numbers is refused wherever a path is taken', async (t) => {
    const database = await open(t)
    const { post } = await openAppWithoutShedding(t, { ...(database && { database }) })
    for (const numbers of [4, 11, 400]) {
      const path = '.0'.repeat(numbers)
      const direction = 'asc'
      for (const [url, body] of [
        ['/calls/stream_query', { sort_by: [{ field: `inputs${path}`, direction }] }],
        ['/calls/stream_query', { sort_by: [{ field: `feedback.[thumbs].payload${path}`, direction }] }],
        ['/feedback/query', { sort_by: [{ field: `payload${path}`, direction }] }],
        ['/feedback/query', { fields: [`payload${path}`] }],
        ['/table/query', { digest: 'x', sort_by: [{ field: `a.0${path}`, direction }] }],
      ] as const) {
        const { status, json } = await post(url, { project_id: project, ...body })
        assert.deepEqual([status, json?.code], [400, 'invalid_value'], `${url} ${numbers}`)
      }
    }
  })

  test('sixteen terms of an order, as wide as they may be, are answered', async (t) => {
    const database = await open(t)
    const { post } = await openAppWithoutShedding(t, { ...(database && { database }) })
    await post('/v2/acme/qa/calls/complete', { batch: [completeOf(), completeOf()] })
    const sort_by = Array.from({ length: 16 }, (_, n) => ({ field: `inputs.${n}.0.0`, direction: 'desc' }))
    const { status, text } = await post('/calls/stream_query', { project_id: project, sort_by })
    assert.equal(status, 200, text)
    const wide = Array.from({ length: 16 }, (_, n) => ({
      field: `a.${'b.'.repeat(28)}${n}`,
      direction: 'asc',
    }))
    const rows = await post('/table/query', { project_id: project, digest: 'x', sort_by: wide })
    assert.equal(rows.status, 200, rows.text)
    const fields = Array.from({ length: 100 }, (_, n) => `payload.${n}.0.0`)
    assert.equal((await post('/feedback/create', feedbackOf())).status, 200)
    const shown = await post('/feedback/query', { project_id: project, fields })
    assert.equal(shown.status, 200, shown.text)
  })

  test('names as long as they may be are stored, or refused', async (t) => {
    const database = await open(t)
    const { post } = await openAppWithoutShedding(t, { ...(database && { database }) })
    // All letters differ, so that compression does not shorten them.
    const letters = (length: number, from: number) =>
      Array.from({ length }, (_, n) => String.fromCodePoint(0x4e00 + ((from + n * 7919) % 20_000))).join('')
    const project_id = `acme/${letters(251, 1)}`
    const start = startOf({
      project_id,
      op_name: `x:///${letters(2_043, 2)}`,
      display_name: letters(1_024, 3),
      thread_id: letters(512, 4),
      turn_id: letters(512, 5),
      svc_run_id: letters(512, 6),
    })
    const ids = { id: letters(256, 7), creator: letters(1_024, 8), feedback_type: letters(512, 9) }
    const price = { prompt_token_cost: 1, completion_token_cost: 1, provider_id: letters(256, 10) }
    for (const [url, body] of [
      ['/call/start', { start }],
      ['/feedback/create', feedbackOf({ project_id, svc_ref: letters(300, 11), ...ids })],
      ['/cost/create', { project_id, costs: { [letters(256, 12)]: price } }],
      ['/annotation_queues', { project_id, name: letters(1_024, 13), scorer_refs: [letters(2_048, 14)] }],
      ['/obj/create', { obj: { project_id, object_id: 'x'.repeat(128), val: letters(5_000, 15) } }],
      [`/objs/${'x'.repeat(128)}/versions/v0/tags/remove`, { project_id, tags: [letters(256, 16)] }],
    ] as const) {
      const { status, text } = await post(url, body)
      assert.equal(status, 200, `${url}: ${text}`)
    }
    // PostgreSQL can only index what fits on a third of a page.
    for (const svc_ref of [letters(4_096, 17), `weave:///acme/qa/call/${letters(4_000, 18)}`]) {
      const { status, text } = await post('/feedback/create', feedbackOf({ project_id, svc_ref }))
      assert.ok(status === 200 || status === 400, text)
    }
  })
}
