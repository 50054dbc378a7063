import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { SortBy } from '../../../src/domain/view.ts'
import { sumAll } from '../../../src/operations/calls/sums.ts'
import { type CallsView, streamCalls } from '../../../src/storage/calls/queries.ts'
import type { Database } from '../../../src/storage/database.ts'
import { isSortedByLargest, largestHours } from '../../../src/storage/sums/largest-hours.ts'
import { day, hour, startOf } from '../../../src/storage/sums/spans.ts'
import { readLightCalls } from '../../../src/storage/views/light-calls.ts'
import { newProject, startedAt, startPart, wholePart } from '../../support/call-parts.ts'
import { tried } from '../../support/campaign-share.ts'
import type { Driver } from '../../support/drivers.ts'
import { equals } from '../../support/views.ts'

const signal = new AbortController().signal
const from = startOf(startedAt, day)
const expiry = from + 20 * day
const ops = ['ask', 'answer', 'Evaluation.predict_and_score', 'heddle.judge']

interface Written {
  hour: number
  latency: number | null
  input: number | null
  first: number | null
  op_name: string
  isChild: boolean
  expires: boolean
}

/** Few values, so that many are equal; some calls lack them, or end before they begin. */
const written: fc.Arbitrary<Written> = fc.record({
  hour: fc.nat({ max: 130 }),
  latency: fc.constantFrom(null, -5, 0, 1, 20, 20, 300, 301, 4_000),
  input: fc.constantFrom(null, 0, 7, 7, 90, 100),
  first: fc.constantFrom(null, null, null, null, 3, 50),
  op_name: fc.constantFrom(...ops),
  isChild: fc.boolean(),
  expires: fc.nat({ max: 20 }).map((n) => n === 0),
})

/** Ids are in no order of time; some are in another order for JavaScript than for databases. */
const idOf = (n: number) => `${['a', 'z', '\u{1f600}', '\uffdc'][(n * 7) % 19] ?? 'm'}${(n * 37) % 101} ${n}`

function partOf(project: string, n: number, { hour: at, latency, input, first, ...call }: Written) {
  const started_at = from + at * hour + ((n * 7_919) % 3_600) * 1_000_000
  const fields = {
    ...{ started_at, op_name: call.op_name, trace_id: 't', parent_id: call.isChild ? 'root' : null },
    expire_at: call.expires ? expiry : null,
  }
  if (latency === null) return startPart(project, idOf(n), fields)
  const usage = input === null ? undefined : { m: { prompt_tokens: input, completion_tokens: 5 } }
  const summary = JSON.stringify({ usage, ...(first !== null && { heddle: { first_token_ms: first } }) })
  // Below a millisecond the order is that of the ids.
  const ended_at = started_at + latency * 1000 + (latency > 0 ? n % 1000 : 0)
  return wholePart(project, idOf(n), fields, { ended_at, summary })
}

const viewOf = (project: string, view: Partial<CallsView>): CallsView => ({
  ...{ project, filters: [], query: undefined, sort: [], limit: null, offset: 0, ...view },
})

const by = (field: string, direction: SortBy['direction'] = 'desc'): SortBy => ({ field, direction })
const latency = by('summary.weave.latency_ms')

const sorts: SortBy[][] = [
  [latency],
  [by('input_tokens')],
  [by('output_tokens')],
  [by('first_token_ms')],
  [latency, by('started_at', 'asc')],
  [by('first_token_ms'), by('input_tokens', 'asc')],
]
const selections: Partial<CallsView>[] = [
  {},
  { filters: [{ trace_roots_only: true }] },
  { query: equals('op', 'ask') },
  { query: equals('origin', 'evaluation') },
]

const columns = { large: new Set<never>(), totalStorageSize: false }

async function streamed(db: Database, view: CallsView, now: number): Promise<string[]> {
  const ids: string[] = []
  for await (const rows of streamCalls(db, view, columns, now, signal)) ids.push(...rows.map(({ id }) => id))
  return ids
}

const listed = async (db: Database, view: CallsView, now: number) =>
  (await readLightCalls(db, view, now, signal)).map(({ id }) => id)

/** Compares pages with the same of all calls, by a condition that sums do not know. Returns how many were narrowed. */
async function pagesAreExact(db: Database, project: string, now: number): Promise<number> {
  let narrowed = 0
  for (const selection of selections) {
    for (const sort of sorts) {
      const whole = viewOf(project, { ...selection, sort })
      const all = await listed(
        db,
        { ...whole, filters: [...whole.filters, { op_names: [...ops, 'other'] }] },
        now,
      )
      for (const [limit, offset] of [
        [3, 0],
        [2, 5],
      ] as const) {
        const view = { ...whole, limit, offset }
        assert.ok(isSortedByLargest(view))
        if ((await largestHours(db, view, now, signal)) !== undefined) narrowed++
        const expected = all.slice(offset, offset + limit)
        const name = JSON.stringify({ ...selection, sort, limit, offset })
        assert.deepEqual(await listed(db, view, now), expected, name)
        assert.deepEqual(await streamed(db, view, now), expected, name)
      }
    }
  }
  return narrowed
}

export function largestCalls(open: Driver['open']): void {
  describe('the largest calls', () => {
    test('are found in few hours, and are those of all calls after random writes, deletions and sweeps', async (t) => {
      const db = await open(t)
      let narrowed = 0
      await fc.assert(
        fc.asyncProperty(
          fc.array(written, { minLength: 60, maxLength: 160 }),
          fc.array(written, { maxLength: 6 }),
          async (first, later) => {
            const project = newProject()
            await db.write(
              'upsertCalls',
              first.map((call, n) => partOf(project, n, call)),
            )
            await pagesAreExact(db, project, expiry - 1)
            await sumAll(db, signal)
            narrowed += await pagesAreExact(db, project, expiry - 1)
            narrowed += await pagesAreExact(db, project, expiry)
            // Calls end late, are written again in other hours, and are deleted.
            await db.write(
              'upsertCalls',
              later.map((call, n) => partOf(project, n * 5, { ...call, latency: call.latency ?? 9_000 })),
            )
            const ids = [1, 2, 3, 50].map(idOf)
            await db.write('deleteCalls', { project_id: project, ids, now: from })
            narrowed += await pagesAreExact(db, project, expiry - 1)
            await db.write('sweepCalls', { now: expiry + 1, forgetBefore: expiry, limit: 3, bytes: 1e9 })
            await pagesAreExact(db, project, expiry - 1)
            await sumAll(db, signal)
            narrowed += await pagesAreExact(db, project, expiry)
          },
        ),
        { ...tried({ share: 2, whole: 40 }), endOnFailure: true },
      )
      assert.ok(narrowed > 50, `${narrowed} pages were narrowed`)
    })
  })
}
