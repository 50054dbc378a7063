import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Database } from '../../../src/storage/database.ts'
import { keys, openApp } from '../../support/app.ts'
import { completeOf, project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'

const url = '/views/search'
const shared = await openApp({ after })

async function indexed(db: Database): Promise<void> {
  while (await db.writeInBackground('indexCalls', { limit: 100, characters: 1 << 20 }));
}

const call = (question: string, answer = 'No idea.') =>
  completeOf({ op_name: 'weave:///acme/qa/op/answer:v1', inputs: { question }, output: { answer } })

test('views/search: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, url, { project_id: project, text: 'x' })
  for (const [body, status, code] of [
    [{ text: undefined }, 422, 'invalid_request'],
    [{ limit: 101 }, 422, 'invalid_request'],
    [{ text: 'x'.repeat(1001) }, 422, 'invalid_request'],
    [{ project_id: 'globex/qa' }, 403, 'entity_forbidden'],
    [{ text: '' }, 400, 'invalid_value'],
    [{ text: '?! "…"' }, 400, 'invalid_value'],
    [{ text: '-refund' }, 400, 'invalid_value'],
    [{ text: 'a '.repeat(33) }, 400, 'invalid_value'],
    [{ after: 'x' }, 400, 'invalid_value'],
    [{ query: { $expr: { $eq: [{ $getField: 'nothing' }, { $literal: 1 }] } } }, 422, 'unknown_field'],
  ] as const) {
    const answer = await shared.post(url, { project_id: project, text: 'x', ...body })
    assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text)
  }
})

test('a search returns calls and the position of the match, and only those of the tenant', async (t) => {
  const { post, database } = await openApp(t)
  const long = `${'Much was said before. '.repeat(20)}Then the Refund, at last, came. ${'And after. '.repeat(30)}`
  const calls = [call('Where is it?', long), call('refund me'), call('something else')]
  await post('/v2/acme/qa/calls/complete', { batch: calls })
  const early = await post(url, { project_id: project, text: 'refund' })
  assert.deepEqual([early.json.found, early.json.searchable], [[], { value: 0, of: 3 }])
  await indexed(database)
  const { status, json } = await post(url, { project_id: project, text: 'REFUND' })
  assert.equal(status, 200)
  assert.deepEqual([json.next, json.searchable], [null, null])
  assert.deepEqual(
    json.found.map(({ call: { id } }: { call: { id: string } }) => id),
    [calls[1]?.id, calls[0]?.id],
  )
  const [short, cut] = json.found
  assert.deepEqual(short.snippets, [{ field: 'inputs', text: 'refund me', marks: [[0, 6]] }])
  const [{ field, text, marks }] = cut.snippets
  assert.equal(field, 'output')
  assert.ok(text.startsWith('…') && text.endsWith('…') && text.length < 200, text)
  assert.deepEqual(
    marks.map(([from, to]: [number, number]) => text.slice(from, to)),
    ['Refund'],
  )
  assert.equal((await post(url, { project_id: project, text: 'refund' }, keys.bob)).status, 403)
  const elsewhere = await post(url, { project_id: 'globex/qa', text: 'refund' }, keys.bob)
  assert.deepEqual(elsewhere.json.found, [])
  const one = await post(url, { project_id: project, text: 'refund', filter: { call_ids: [calls[0]?.id] } })
  assert.equal(one.json.found.length, 1)
})

test('pages of results follow each other, without deleted calls', async (t) => {
  const { post, database } = await openApp(t)
  const calls = Array.from({ length: 7 }, (_, n) => call(`number ${n} of many`))
  await post('/v2/acme/qa/calls/complete', { batch: calls })
  await indexed(database)
  await post('/calls/delete', { project_id: project, call_ids: [calls[3]?.id] })
  const seen: string[] = []
  let after: string | null = null
  do {
    const { json } = await post(url, { project_id: project, text: 'many', limit: 2, after })
    seen.push(...json.found.map(({ call }: { call: { id: string } }) => call.id))
    after = json.next
  } while (after !== null)
  assert.deepEqual(
    seen,
    calls
      .filter((_, n) => n !== 3)
      .map(({ id }) => id)
      .reverse(),
  )
})

test('a search on a server without an index is refused with the reason', async (t) => {
  const { post, database } = await openApp(t)
  await database.write('switchSearch', { isOn: false })
  const answer = await post(url, { project_id: project, text: 'refund' })
  assert.deepEqual([answer.status, answer.json.code], [400, 'search_off'])
})

test('the index is built after the writes, and freed when it is switched off', async (t) => {
  const { post, database } = await openApp(t, { sweep: true })
  await post('/v2/acme/qa/calls/complete', { batch: [call('refund')] })
  for (;;) {
    const { json } = await post(url, { project_id: project, text: 'refund' })
    if (json.found.length === 1) break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const off = await openApp(t, { database, sweep: true, settings: { HEDDLE_SEARCH: 'off' } })
  while ((await off.post(url, { project_id: project, text: 'refund' })).status !== 400) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
})
