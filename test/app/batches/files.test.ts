import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { compareClocks } from '../../../src/domain/clock.ts'
import { now } from '../../../src/domain/time.ts'
import { pieceBytes } from '../../../src/storage/objects/files.ts'
import { rawSql, sql } from '../../../src/storage/sql/sql.ts'
import { basic, keys, openApp, type TestApp } from '../../support/app.ts'
import { type FormPart, formOf, sendForm } from '../../support/forms.ts'

const limit = 1 << 20
/** Shared by all tests; each uses files of its own. */
const opened = await openApp({ after }, { settings: { HEDDLE_FILE_LIMIT: String(limit) } })
const { get, send } = opened

const file = (value: string | Uint8Array, filename = 'in.jsonl'): FormPart => ({
  name: 'file',
  value,
  filename,
})
const purpose = (value = 'batch'): FormPart => ({ name: 'purpose', value })
const field = (name: string, value: string): FormPart => ({ name, value })

const create = (fields: readonly FormPart[], key = keys.alice, to: TestApp = opened) =>
  sendForm(to, formOf(fields), { url: '/v1/files', authorization: basic(key) })

async function refused(fields: readonly FormPart[]): Promise<string> {
  const { status, json } = await create(fields)
  assert.equal(status, 400, JSON.stringify(json))
  return `${json.error.code} ${json.error.param}: ${json.error.message}`
}

test('/v1/files: a file of several pieces comes back byte for byte, whichever field is first', async () => {
  const bytes = Buffer.from(Uint8Array.from({ length: 2 * pieceBytes + 7 }, (_, i) => (i * 31) % 251))
  for (const fields of [
    [file(bytes), purpose('user_data')],
    [purpose('user_data'), file(bytes)],
  ]) {
    const { status, json } = await create(fields)
    assert.equal(status, 200)
    const { id, created_at, ...rest } = json
    assert.match(id, /^file-[\da-f]{32}$/)
    assert.ok(Math.abs(created_at - Date.now() / 1000) < 60)
    assert.deepEqual(rest, {
      ...{
        object: 'file',
        bytes: bytes.length,
        filename: 'in.jsonl',
        purpose: 'user_data',
        status: 'processed',
      },
    })
    assert.deepEqual((await get(`/v1/files/${id}`)).json, json)
    const headers = { authorization: basic(keys.alice) }
    const content = await opened.app.inject({ url: `/v1/files/${id}/content`, headers })
    assert.deepEqual(content.rawPayload, bytes)
    assert.equal(content.headers['content-length'], String(bytes.length))
  }
})

test('/v1/files: what cannot be honoured is refused by name, and nothing of it is stored', async (t) => {
  const own = await openApp(t, { settings: { HEDDLE_FILE_LIMIT: String(limit) } })
  assert.match(await refused([purpose()]), /^invalid_value file: file: nothing/)
  assert.match(
    await refused([file('x')]),
    /^invalid_value purpose: purpose: nothing; accepted: batch, user_data/,
  )
  assert.match(await refused([purpose('fine-tune'), file('x')]), /^invalid_value purpose: .*"fine-tune"/)
  assert.match(await refused([purpose(), file('x'), file('y')]), /^invalid_value file: .*one file/)
  assert.match(await refused([purpose(), purpose(), file('x')]), /^invalid_value purpose: .*twice/)
  assert.match(await refused([field('colour', 'red'), file('x')]), /^invalid_value colour: .*no such field/)
  assert.match(
    await refused([purpose(), field('file', 'requests.jsonl')]),
    /^invalid_value file: file: text; accepted: a file with a name/,
  )
  const anchor = field('expires_after[anchor]', 'created_at')
  const seconds = (value: string) => field('expires_after[seconds]', value)
  assert.match(await refused([purpose(), anchor, file('x')]), /expires_after\[seconds\]: nothing/)
  assert.match(await refused([purpose(), seconds('3600'), file('x')]), /expires_after\[anchor\]: nothing/)
  for (const wrong of ['3599', '2592001', 'soon'])
    assert.match(await refused([purpose(), anchor, seconds(wrong), file('x')]), /expires_after\[seconds\]/)
  const large = await create([purpose(), file(new Uint8Array(limit - 400))], keys.alice, own)
  assert.equal(large.status, 200)
  const larger = await create([purpose(), file(new Uint8Array(limit + 1))], keys.alice, own)
  assert.deepEqual([larger.status, larger.json.error.type], [413, 'invalid_request_error'])
  assert.equal((await send('DELETE', `/v1/files/${large.json.id}`)).status, 404)
  const dropped = await own.send('DELETE', `/v1/files/${large.json.id}`)
  assert.deepEqual(dropped.json, { id: large.json.id, object: 'file', deleted: true })
  while (await own.database.write('sweepUploads', { before: now() }));
  for (const table of ['wire_files', 'file_pieces', 'file_uploads']) {
    const [count] = await own.database.all<{ n: number }>(sql`SELECT count(*) AS n FROM ${rawSql(table)}`)
    assert.equal(count?.n, 0, table)
  }
})

test('/v1/files: lists are read page by page, in either order, by purpose', async (t) => {
  const own = await openApp(t)
  const ids: string[] = []
  for (let at = 0; at < 5; at++) {
    const { json } = await create(
      [purpose(at % 2 === 0 ? 'batch' : 'user_data'), file(`${at}`)],
      keys.alice,
      own,
    )
    ids.push(json.id)
  }
  const page = async (query: string) => (await own.get(`/v1/files${query}`)).json
  const listed = async (query: string) => (await page(query)).data.map(({ id }: { id: string }) => id)
  assert.deepEqual(await listed(''), ids.toReversed())
  assert.deepEqual(await listed('?order=asc&purpose=user_data'), [ids[1], ids[3]])
  const { data, ...about } = await page(`?order=asc&limit=2&after=${ids[0]}`)
  assert.equal(data.length, 2)
  assert.deepEqual(about, { object: 'list', first_id: ids[1], last_id: ids[2], has_more: true })
  assert.deepEqual((await page(`?after=${ids[0]}`)).data, [])
  assert.equal((await own.get('/v1/files?limit=0')).status, 400)
  assert.equal((await own.get('/v1/files?colour=red')).status, 400)
  assert.equal(
    (await own.get('/v1/files?limit=ten')).json.error.message,
    'The query does not fit the schema: query.limit: expected number, received "ten".',
  )
  // A page that began elsewhere would be one that the client already has.
  for (const id of ['zz', 'file-x', String(ids[0]).replace('file-', 'batch_')]) {
    const refused = await own.get(`/v1/files?after=${id}`)
    assert.deepEqual([refused.status, refused.json.error.param], [400, 'query.after'], id)
  }
})

test('/v1/files: to others a file does not exist, and nobody stores one in a project of others', async () => {
  const { json } = await create([purpose(), file('secret')])
  const unknown = await get('/v1/files/file-x', keys.bob)
  for (const path of [json.id, `${json.id}/content`]) {
    const answer = await get(`/v1/files/${path}`, keys.bob)
    assert.equal(answer.status, 404)
    assert.equal(answer.text.replace(json.id, 'file-x'), unknown.text)
  }
  assert.equal((await send('DELETE', `/v1/files/${json.id}`, undefined, keys.bob)).status, 404)
  assert.deepEqual((await get('/v1/files', keys.bob)).json.data, [])
  assert.equal((await get(`/v1/files/${json.id}`)).status, 200)
  const headers = {
    authorization: basic(keys.bob),
    'x-heddle-project': 'acme/qa',
    'content-type': 'multipart/form-data; boundary=b',
  }
  const elsewhere = await opened.app.inject({ method: 'POST', url: '/v1/files', headers, payload: '--b--' })
  assert.deepEqual([elsewhere.statusCode, elsewhere.json().error.code], [403, 'entity_forbidden'])
})

test('/v1/files: a file is gone when it has expired, and its space is freed', async (t) => {
  const own = await openApp(t)
  const day = 86_400
  const brief = [
    purpose(),
    field('expires_after[anchor]', 'created_at'),
    field('expires_after[seconds]', '3600'),
  ]
  const soon = await create([...brief, file('x')], keys.alice, own)
  assert.equal(soon.json.expires_at, soon.json.created_at + 3600)
  const later = await create([purpose(), file('y')], keys.alice, own)
  assert.equal(later.json.expires_at, later.json.created_at + 30 * day)
  const never = await create([purpose('user_data'), file('z')], keys.alice, own)
  assert.equal(never.json.expires_at, undefined)
  const at = performance.now()
  t.after(() => compareClocks(Date.now(), performance.now(), performance.now()))
  compareClocks(Date.now() + 2 * 3_600_000, at, at)
  assert.equal((await own.get(`/v1/files/${soon.json.id}`)).status, 404)
  const left = (await own.get('/v1/files')).json.data.map(({ id }: { id: string }) => id)
  assert.deepEqual(left, [never.json.id, later.json.id])
  while (await own.database.write('sweepWireFiles', { now: now() }));
  while (await own.database.write('sweepUploads', { before: now() }));
  const [count] = await own.database.all<{ n: number }>(sql`SELECT count(*) AS n FROM file_pieces`)
  assert.equal(count?.n, 2)
})
