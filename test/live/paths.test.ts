import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openApp } from '../support/app.ts'
import { completeOf, project } from '../support/calls.ts'
import { allDrivers } from '../support/drivers.ts'
import { feedbackOf } from '../support/feedback.ts'
import { createTable } from '../support/tables.ts'

/** Where requests contain a path, and the document it leads into. */
const places: [url: string, document: string, place: string, body: (path: string) => object][] = [
  ['/feedback/query', 'payload', 'fields.1', (path) => ({ fields: ['id', path] })],
  ['/feedback/query', 'payload', 'sort_by.0.field', (path) => sortedBy(path)],
  ['/feedback/query', 'payload', 'query.$expr.$eq[0].$getField', (path) => ({ query: equal(path) })],
  ['/calls/stream_query', 'inputs', 'sort_by.1.field', (path) => sortedBy('id', path)],
  ['/calls/stream_query', 'inputs', 'query.$expr.$eq[0].$getField', (path) => ({ query: equal(path) })],
  ['/calls/stream_query', 'inputs', 'columns.1', (path) => ({ columns: ['id', path] })],
  ['/calls/stream_query', 'inputs', 'expand_columns.0', (path) => ({ expand_columns: [path] })],
  ['/calls/stream_query', 'feedback.[*].payload', 'sort_by.0.field', (path) => sortedBy(path)],
  ['/calls/query_stats', 'output', 'query.$expr.$eq[0].$getField', (path) => ({ query: equal(path) })],
  ['/table/query', 'row', 'sort_by.0.field', (path) => sortedBy(path)],
]

const sortedBy = (...fields: string[]) => ({
  sort_by: fields.map((field) => ({ field, direction: 'asc' })),
})
const equal = (path: string) => ({ $expr: { $eq: [{ $getField: path }, { $literal: 1 }] } })

const tails = {
  good: [
    '',
    '.1.2.3',
    '.a.1.b.1.c.1',
    '.01.02.03.04.05',
    '.a'.repeat(25),
    `.${'x'.repeat(900)}`,
    '.\\."\'$#[]',
  ],
  bad: [
    ['.1.2.3.4', 'has more than 3 whole-number segments'],
    ['.1'.repeat(28), 'has more than 3 whole-number segments'],
    ['.a'.repeat(32), ' steps'],
    [`.${'x'.repeat(1030)}`, 'expected string to have <=1024 characters'],
    ['.a\0b', 'holds U+0000 or half of a surrogate pair'],
    ['.a\ud800', 'holds U+0000 or half of a surrogate pair'],
  ],
} as const

for (const driver of allDrivers()) {
  describe(`paths with ${driver.name}`, () => {
    before(driver.start)
    after(driver.stop)

    test('a short path is looked up, and any other is refused with its position in the request', async (t) => {
      const opened = await openApp(t, { database: await driver.open(t) })
      const payload = { 1: [0, 0, [0, 0, 0, 1]] }
      await opened.post('/feedback/create', feedbackOf({ payload }))
      await opened.post('/v2/acme/qa/calls/complete', { batch: [completeOf({ inputs: payload })] })
      const { digest } = await createTable(opened, [payload])
      for (const [url, document, place, body] of places) {
        const of = url === '/table/query' ? { project_id: project, digest } : { project_id: project }
        const send = (tail: string) => opened.post(url, { ...of, ...body(document + tail) })
        for (const tail of tails.good) {
          const { status, text } = await send(tail)
          assert.equal(status, 200, `${url} ${place} ${document}${tail}: ${text}`)
        }
        for (const [tail, why] of tails.bad) {
          const { status, json, text } = await send(tail)
          assert.ok(status === 400 || status === 422, `${url} ${place} ${document}${tail}: ${status} ${text}`)
          assert.ok(json.reason.includes(`${place}: `), json.reason)
          const isExpression = place.startsWith('query')
          const expected =
            isExpression && tail.length > 1000 ? /has \d+ characters/ : new RegExp(escaped(why))
          assert.match(json.reason, expected)
          assert.ok(json.reason.length < 400)
        }
      }
    })

    test('sorting by sixteen long paths, also in feedback, still fits into one query', async (t) => {
      const { post } = await openApp(t, { database: await driver.open(t) })
      for (const [url, document] of [
        ['/feedback/query', 'payload'],
        ['/calls/stream_query', 'feedback.[*].payload'],
      ] as const) {
        const paths = Array.from({ length: 16 }, (_, n) => `${document}${`.k${n}`.repeat(26)}.1.2.3`)
        const fields = {
          fields: Array.from({ length: 100 }, (_, n) => `payload.n${n}.1.2.3${'.x'.repeat(25)}`),
        }
        const body = { project_id: project, ...sortedBy(...paths), ...(document === 'payload' && fields) }
        const { status, text } = await post(url, body)
        assert.equal(status, 200, text)
      }
    })
  })
}

function escaped(text: string): string {
  return text.replace(/[+<=]/g, '\\$&')
}
