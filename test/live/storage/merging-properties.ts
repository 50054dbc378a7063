import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { endFacts, startFacts } from '../../../src/domain/call-facts/facts.ts'
import { asText } from '../../../src/domain/json/text.ts'
import { factColumns } from '../../../src/storage/calls/columns.ts'
import type { CallPart } from '../../../src/storage/calls/parts.ts'
import type { CallName } from '../../../src/storage/calls/writes.ts'
import type { Database } from '../../../src/storage/database.ts'
import { endPart, newProject, startedAt, startPart, storedRows, wholePart } from '../../support/call-parts.ts'
import { tried } from '../../support/campaign-share.ts'
import type { Driver } from '../../support/drivers.ts'

/** The expected row, without a database: parts are applied one after the other. */
type Row = Record<string, unknown>

function rowOf(rows: Map<string, Row>, { project_id, id }: { project_id: string; id: string }): Row {
  const row: Row = rows.get(id) ?? { project_id, id, ...emptyColumns }
  rows.set(id, row)
  return row
}

function applied(rows: Map<string, Row>, part: CallPart): void {
  const row = rowOf(rows, part)
  const { start, end, display_name } = part
  row.display_name = end ? (display_name ?? row.display_name) : (row.display_name ?? display_name)
  if (start) {
    const isAnother = row.parent_id !== start.parent_id || row.op_name !== start.op_name
    if (row.started_at !== null && isAnother) row.moved_from = row.parent_id ?? ''
    Object.assign(
      row,
      start,
      startFacts({ ...start, inputs: asText(start.inputs), attributes: asText(start.attributes) }),
      {
        user_id: row.user_id ?? start.user_id,
      },
    )
  }
  if (end) {
    const trace_id = start ? start.trace_id : (row.trace_id ?? end.trace_id)
    const { exception = null } = end
    const output = end.output && asText(end.output)
    Object.assign(row, end, endFacts({ exception, output, summary: asText(end.summary) }), { trace_id })
  }
}

const emptyColumns = {
  ...{ trace_id: null, parent_id: null, thread_id: null, turn_id: null, op_name: null, display_name: null },
  ...{ started_at: null, ended_at: null, exception: null, user_id: null, run_id: null, run_step: null },
  ...{ run_step_end: null, expire_at: null, deleted_at: null, swept_at: null, start_bytes: 0, end_bytes: 0 },
  ...{ attributes: null, inputs: null, output: null, summary: null, renamed: null, moved_from: null },
  ...Object.fromEntries([...factColumns('start'), ...factColumns('end')].map((column) => [column, null])),
}

const ids = ['a', 'b', 'c']
const id = fc.constantFrom(...ids)
const name = fc.constantFrom(null, '', 'n1', 'n2')
const label = fc.constantFrom(null, 'x', 'y')
const number = fc.nat({ max: 9 })
const json = fc.json({ maxDepth: 2 }).map((text) => text.replaceAll('\\u0000', ''))

const start = fc.record({
  trace_id: fc.constantFrom('t1', 't2'),
  parent_id: label,
  op_name: fc.constantFrom('ask', 'answer'),
  started_at: number.map((n) => startedAt + n),
  user_id: fc.constantFrom('alice', 'bob'),
  run_id: label,
  run_step: fc.option(number),
  start_bytes: number,
  inputs: json,
})
const end = fc.record({
  trace_id: fc.constantFrom(null, 't1', 't3'),
  ended_at: number.map((n) => startedAt + 10 + n),
  exception: label,
  run_step_end: fc.option(number),
  end_bytes: number,
  output: fc.option(json),
})

/** A part of some call; the project is filled in when it is sent. */
const part: fc.Arbitrary<(project: string) => CallPart> = fc.oneof(
  fc.tuple(id, name, start).map(
    ([call, display_name, fields]) =>
      (project: string) =>
        startPart(project, call, { ...fields, display_name }),
  ),
  fc.tuple(id, name, end).map(
    ([call, display_name, fields]) =>
      (project: string) =>
        endPart(project, call, { ...fields, display_name }),
  ),
  fc.tuple(id, name, start, end).map(
    ([call, display_name, first, last]) =>
      (project: string) =>
        wholePart(project, call, { ...first, display_name }, last),
  ),
)

/** A rename of some call. */
const rename: fc.Arbitrary<(project: string) => CallName> = fc
  .tuple(id, fc.constantFrom('', 'n3', 'n4'))
  .map(([call, name]) => (project: string) => ({ project_id: project, id: call, name }))

const message = fc.record({
  parts: fc.array(part, { minLength: 1, maxLength: 4 }),
  renames: fc.array(rename, { maxLength: 1 }),
})

/** Each call once, as the store requires. */
function onePartOfEach(parts: readonly CallPart[]): CallPart[] {
  return [...new Map(parts.map((one) => [one.id, one])).values()]
}

async function sameAs(db: Database, project: string, rows: ReadonlyMap<string, Row>): Promise<void> {
  const expected = [...rows.values()].sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1))
  assert.deepEqual(
    // What tells the writes of two versions apart says nothing of the call.
    (await storedRows(db, project)).map(({ derivation: _, ...row }) => row),
    expected,
  )
}

export function mergingProperties(open: Driver['open']): void {
  describe('random parts of calls', () => {
    test('sequential parts give the same rows as a merge in memory', async (t) => {
      const db = await open(t)
      await fc.assert(
        fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 8 }), async (messages) => {
          const project = newProject()
          const rows = new Map<string, Row>()
          for (const make of messages) {
            const parts = onePartOfEach(make.parts.map((one) => one(project)))
            for (const one of parts) applied(rows, one)
            await db.write('upsertCalls', parts)
            for (const given of make.renames.map((one) => one(project))) {
              rowOf(rows, given).renamed = given.name
              await db.write('renameCall', given)
            }
          }
          await sameAs(db, project, rows)
        }),
        tried({ share: 15, whole: 60 }),
      )
    })

    test('concurrent starts and ends of calls give the same rows in any order', async (t) => {
      const db = await open(t)
      const both = fc.record({ start, startName: name, end, endName: name })
      await fc.assert(
        fc.asyncProperty(
          fc.tuple(both, both, both),
          fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: 6 }),
          fc.nat({ max: 2 }),
          async (calls, order, again) => {
            const project = newProject()
            const rows = new Map<string, Row>()
            const parts = calls.flatMap((given, i) => {
              const call = ids[i] as string
              const made = [
                startPart(project, call, { ...given.start, display_name: given.startName }),
                endPart(project, call, { ...given.end, display_name: given.endName }),
              ]
              for (const one of made) applied(rows, one)
              return made
            })
            const sent = order.map((at) => parts[at] as CallPart)
            await Promise.all(sent.map((one) => db.write('upsertCalls', [one])))
            await Promise.all(sent.slice(0, again).map((one) => db.write('upsertCalls', [one])))
            await sameAs(db, project, rows)
          },
        ),
        tried({ share: 10, whole: 40 }),
      )
    })
  })
}
