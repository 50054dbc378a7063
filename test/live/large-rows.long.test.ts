import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { queryCalls } from '../../src/operations/calls/query.ts'
import { createCallNames } from '../../src/operations/recording/named-calls.ts'
import type { Database } from '../../src/storage/database.ts'
import { sql } from '../../src/storage/sql/sql.ts'
import { boundTo } from '../../src/storage/transaction.ts'
import { newProject, startedAt, wholePart } from '../support/call-parts.ts'
import { allDrivers } from '../support/drivers.ts'
import { canMeasureMemory, memoryOf, resetPeak } from '../support/process-memory.ts'
import { refusedWith } from '../support/refusals.ts'

const caller = { name: 'alice', role: 'member', entities: new Set(['acme']) } as const

async function found(db: Database, project: string, body: Record<string, unknown>): Promise<string[]> {
  const { query, ...rest } = body
  const expression = query === undefined ? {} : { query: { text: JSON.stringify({ $expr: query }) } }
  const asked = { project_id: project, columns: ['id'], ...rest, ...expression }
  const names = createCallNames({ db, settled: async () => undefined }, () => undefined)
  const bound = boundTo(db, new AbortController().signal)
  const calls = await queryCalls({ db: bound, names }, caller, asked as never)
  const ids: string[] = []
  for await (const call of calls) ids.push((JSON.parse(call) as { id: string }).id)
  return ids
}

const field = (name: string) => ({ $getField: name })
const literal = (value: unknown) => ({ $literal: value })
const many = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, i) => make(i))

const characters = 4 << 20
/** The number of large rows, whose texts differ near their ends; a small row is stored as well. */
const rows = 4

async function storeLarge(db: Database): Promise<string> {
  const project = newProject()
  const body = 'aBc '.repeat(characters / 4)
  for (let i = 0; i < rows; i++) {
    const inputs = JSON.stringify({ text: `Start ${body} E${i}nd`, n: i, deep: { n: [i, { m: -i }] } })
    const op_name = `op${rows - i}`
    await db.write('upsertCalls', [
      wholePart(project, `large-${i}`, { started_at: startedAt + i, inputs, op_name }),
    ])
  }
  const small = { started_at: startedAt + rows, inputs: '{"text":"Start E0nd","n":100}', op_name: 'op0' }
  await db.write('upsertCalls', [wholePart(project, 'small', small)])
  return project
}

const everyLarge = many(rows, (i) => `large-${i}`)

const uses = 100
const contains = (text: string) => ({
  $contains: { input: field('inputs.text'), substr: literal(text), case_insensitive: true },
})

/** Each of these needs the text of every row many times, or sorts by it. */
const questions: [what: string, body: Record<string, unknown>, expected: string[]][] = [
  [
    'a text compared many times',
    { query: { $or: many(uses, (i) => ({ $eq: [field('inputs.text'), literal(`no ${i}`)] })) } },
    [],
  ],
  [
    'a text searched many times',
    { query: { $or: [...many(uses, (i) => contains(`no ${i}`)), contains('e0ND')] } },
    ['large-0', 'small'],
  ],
  [
    'searches in one another',
    {
      query: many(30, (i) => i).reduce<unknown>(
        (inner) => ({
          $contains: { input: field('inputs.text'), substr: { $convert: { input: inner, to: 'string' } } },
        }),
        { $eq: [field('inputs.n'), literal(3)] },
      ),
    },
    [],
  ],
  [
    'many fields that are there and many that are not',
    {
      query: {
        $or: [
          ...many(uses, (i) => ({ $eq: [field(`inputs.none${i}`), literal('x')] })),
          { $gt: [field('inputs.deep.n.0'), literal(2)] },
          { $eq: [field('inputs.deep.n.1.m'), literal(-1)] },
        ],
      },
    },
    ['large-1', 'large-3'],
  ],
  [
    'the order of many fields',
    {
      sort_by: [
        ...many(14, (i) => ({ field: `inputs.none${i}`, direction: 'asc' })),
        { field: 'inputs.text', direction: 'desc' },
        { field: 'inputs.n', direction: 'asc' },
      ],
    },
    // They begin alike for longer than the prefix that is sorted by.
    [...everyLarge, 'small'],
  ],
  [
    'whole rows in an order without an index',
    { sort_by: [{ field: 'op_name', direction: 'asc' }], columns: ['id', 'inputs'] },
    ['small', ...everyLarge.toReversed()],
  ],
  ['many references', { filter: { input_refs: many(1_000, (i) => `weave:///acme/qa/object/n${i}:*`) } }, []],
]

/** 100 reads of a 4 MB text took 1.6 GB and more when each kept a copy. */
const mostMegabytes = 400

for (const driver of allDrivers()) {
  describe(`large rows: ${driver.name}`, () => {
    before(driver.start)
    after(driver.stop)

    test('the memory for large rows does not grow with the query', async (t) => {
      const db = await driver.open(t)
      const project = await storeLarge(db)
      await found(db, project, { limit: 1 })
      for (const [what, body, expected] of questions) {
        const pids = await servingProcesses(db)
        if (canMeasureMemory) for (const pid of pids) resetPeak(pid)
        const before = canMeasureMemory ? pids.map((pid) => memoryOf(pid).now) : []
        assert.deepEqual(await found(db, project, body), expected, what)
        for (const [index, now] of before.entries()) {
          const grown = memoryOf(pids[index] as number).peak - now
          assert.ok(grown < mostMegabytes, `${what}: ${Math.round(grown)} MB`)
        }
      }
    })

    test('nested fields and lookups are bounded', async (t) => {
      const db = await driver.open(t)
      const steps = (depth: number) => ['inputs', ...many(depth, (i) => `s${i}`)].join('.')
      const nested = (depth: number) => many(depth, (i) => ({ $eq: [field(steps(i)), literal('x')] }))
      assert.deepEqual(await found(db, newProject(), { query: { $or: nested(5) } }), [])
      await assert.rejects(
        found(db, newProject(), { query: { $or: nested(6) } }),
        refusedWith('invalid_value'),
      )
      const sorted = many(6, (i) => ({ field: steps(i), direction: 'asc' }))
      await assert.rejects(found(db, newProject(), { sort_by: sorted }), refusedWith('invalid_value'))
      const said = (count: number) =>
        many(count, (i) => ({ $eq: [field(`feedback.[kind${i}].payload.x`), literal(1)] }))
      assert.deepEqual(await found(db, newProject(), { query: { $or: said(32) } }), [])
      await assert.rejects(
        found(db, newProject(), { query: { $or: said(33) } }),
        refusedWith('invalid_value'),
      )
    })

    test('refs are found in any JSON spelling, in small rows and in large ones', async (t) => {
      const db = await driver.open(t)
      const padding = JSON.stringify('x'.repeat(2.2 * 2 ** 20))
      for (const [size, pad] of [
        ['small', '""'],
        ['large', padding],
      ] as const) {
        const project = newProject()
        const ref = 'weave:///acme/qa/object/été "1"\\:abc'
        const plain = JSON.stringify(ref)
        const ascii = plain.replaceAll('é', '\\u00e9')
        const stored: Record<string, string> = {
          plain,
          ascii,
          upper: plain.replaceAll('é', '\\u00E9'),
          slashes: ascii.replaceAll('/', '\\/'),
          listed: `[1,${plain}]`,
          key: `{${plain}:1}`,
          // Not a separate string.
          longer: JSON.stringify(`${ref}d`),
          quoted: JSON.stringify(`see "${ref}"`),
          before: JSON.stringify(`see ${ref}`),
          other: '"weave:///acme/qa/object/other:abc"',
        }
        const written = Object.entries(stored).map(([id, value], i) =>
          wholePart(project, id, { started_at: startedAt + i, inputs: `{"pad":${pad},"a":${value}}` }),
        )
        for (const call of written) await db.write('upsertCalls', [call])
        const ids = Object.keys(stored)
        // With so many other refs, a row of that size is searched once for all of them.
        const beside = many(size === 'large' ? 4 : 0, (i) => `weave:///acme/qa/object/m${i}:abc`)
        const having = (...refs: string[]) =>
          found(db, project, { filter: { input_refs: [...refs, ...beside] } })
        assert.deepEqual(await having(ref), ids.slice(0, 6), size)
        assert.deepEqual(await having(ref.replace('abc', '*')), ids.slice(0, 7), size)
        assert.deepEqual(
          await having('weave:///acme/qa/object/other:*', ref),
          [...ids.slice(0, 6), 'other'],
          size,
        )
        const others = many(40, (i) => `weave:///acme/qa/object/n${i}:abc`)
        assert.deepEqual(await having(...others, ref), ids.slice(0, 6), size)
        assert.deepEqual(await having(...others), [], size)
        assert.deepEqual(await having(':', ',', '{'), [], size)
      }
    })
  })
}

/** This process, or the processes of the database server that serve it. */
async function servingProcesses(db: Database): Promise<number[]> {
  if (db.dialect.engine === 'sqlite') return [process.pid]
  const serving = await db.all<{ pid: number }>(
    sql`SELECT pid FROM pg_stat_activity WHERE application_name = 'heddle' AND datname = current_database()`,
  )
  return serving.map(({ pid }) => pid)
}
