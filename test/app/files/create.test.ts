import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { digestOf } from '../../../src/domain/digests.ts'
import { pieceBytes } from '../../../src/storage/objects/files.ts'
import { rawSql, sql } from '../../../src/storage/sql/sql.ts'
import { basic, keys, openApp, type TestApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { contentOf, fileForm, formOf, formType, sendForm } from '../../support/forms.ts'
import { documentOf } from '../../support/openapi.ts'

/** Shared by all tests; each uses data of its own. */
const opened = await openApp({ after })

const hello = 'LPJNulXwow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ'
const file = (value: string | Uint8Array) => ({ name: 'file', value, filename: 'blob' })
const forProject = (value = project) => ({ name: 'project_id', value })

function bytesOf(length: number): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, i) => (i * 31 + (i >> 8)) % 256))
}

/** A refused upload leaves nothing behind, not even pieces without a file. */
async function assertNothingStored({ database }: TestApp): Promise<void> {
  for (const table of ['files', 'file_uploads', 'file_pieces']) {
    const [count] = await database.all<{ n: number }>(sql`SELECT count(*) AS n FROM ${rawSql(table)}`)
    assert.equal(count?.n, 0, table)
  }
}

test('file/create: refuses invalid requests, checking in a fixed order', async (t) => {
  const opened = await openApp(t, { settings: { HEDDLE_FILE_LIMIT: '1048576' } })
  const form = fileForm(project, 'hello')
  const issue = (field: string, msg: string) => ({
    status: 422,
    json: {
      reason: `The body does not fit the schema: ${field}: ${msg}.`,
      code: 'invalid_request',
      detail: [{ loc: ['body', field], msg, type: 'custom' }],
    },
  })
  const refused = async (payload: Buffer, options: Parameters<typeof sendForm>[2] = {}) => {
    const { status, json } = await sendForm(opened, payload, options)
    return { status, json }
  }
  const malformed = (why: string) => ({
    status: 400,
    json: { reason: `The body is not multipart/form-data: ${why}.`, code: 'malformed_form' },
  })

  assert.equal((await refused(form, { authorization: '' })).json.code, 'not_authenticated')
  for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded']) {
    assert.deepEqual(await refused(form, { type }), {
      status: 415,
      json: {
        reason: `Content-Type "${type}" is not accepted here; accepted: multipart/form-data.`,
        code: 'unsupported_media_type',
      },
    })
  }
  assert.deepEqual(
    await refused(form, { type: 'multipart/form-data' }),
    malformed('Multipart: Boundary not found'),
  )
  assert.equal((await refused(form.subarray(0, -30))).json.code, 'malformed_form')
  assert.equal((await refused(Buffer.from('no form at all'))).json.code, 'malformed_form')

  assert.deepEqual(await refused(formOf([file('x')])), issue('project_id', 'expected text, received nothing'))
  assert.deepEqual(
    await refused(formOf([forProject(), { name: 'file', value: 'x' }])),
    issue('file', 'expected a file with a name, received text'),
  )
  assert.deepEqual(await refused(formOf([forProject()])), issue('file', 'expected a file, received nothing'))
  assert.deepEqual(
    await refused(formOf([forProject('acme'), file('x')])),
    issue('project_id', 'expected the form <entity>/<project>, received "acme"'),
  )
  assert.deepEqual(
    await refused(formOf([forProject(), forProject(), file('x')])),
    issue('project_id', 'expected once, received twice'),
  )
  assert.deepEqual(
    await refused(formOf([forProject(), file('x'), file('y')])),
    issue('file', 'expected once, received twice'),
  )
  assert.deepEqual(
    await refused(formOf([file(bytesOf(pieceBytes + 1)), forProject()])),
    issue('project_id', `expected before a file of more than ${pieceBytes} bytes`),
  )
  assert.deepEqual(await refused(fileForm('globex/qa', 'x')), {
    status: 403,
    json: {
      reason: 'Your key has no access to the entity of project_id: "globex/qa".',
      code: 'entity_forbidden',
    },
  })
  assert.deepEqual(await refused(fileForm(project, bytesOf(1_048_577))), {
    status: 413,
    json: { reason: 'file: it is larger than 1048576 bytes.', code: 'file_too_large' },
  })
  const many = Array.from({ length: 30 }, (_, n) => ({ name: `n${n}`, value: 'x' }))
  assert.equal((await refused(formOf([...many, forProject(), file('x')]))).json.code, 'malformed_form')
  await assertNothingStored(opened)
  assert.equal((await refused(fileForm(project, bytesOf(1_048_576)))).status, 200)
})

test('file/create: returns the digest of the bytes, also when the file exists already', async () => {
  for (const url of ['/file/create', '/files/create', '/file/create']) {
    const { status, json } = await sendForm(opened, fileForm(project, 'hello'), { url })
    assert.deepEqual([status, json], [200, { digest: hello }])
  }
  assert.deepEqual(await contentOf(opened, project, hello), Buffer.from('hello'))
})

test('file/create: files of every size come back byte by byte', async (t) => {
  const opened = await openApp(t)
  for (const size of [0, 1, pieceBytes - 1, pieceBytes, pieceBytes + 1, 3 * pieceBytes, 1_500_000]) {
    const bytes = bytesOf(size)
    for (const form of [fileForm(project, bytes), fileForm(project, bytes)]) {
      assert.deepEqual((await sendForm(opened, form)).json, { digest: digestOf(bytes) })
    }
    assert.ok((await contentOf(opened, project, digestOf(bytes)))?.equals(bytes), String(size))
  }
  const uploads = await opened.database.get(sql`SELECT count(*) AS n FROM file_uploads`)
  assert.deepEqual({ ...(uploads as object) }, { n: 0 })
  const pieces = await opened.database.get(sql`SELECT count(*) AS n FROM file_pieces`)
  assert.deepEqual({ ...(pieces as object) }, { n: 0 + 1 + 1 + 1 + 2 + 3 + 6 }, 'each file is stored once')
})

test('file/create: a small file may precede its project, and unknown parts are ignored', async () => {
  const bytes = bytesOf(pieceBytes)
  const parts = [
    { name: 'comment', value: 'x' },
    { name: 'other', value: bytesOf(100_000), filename: 'other' },
    file(bytes),
    forProject(),
  ]
  assert.deepEqual((await sendForm(opened, formOf(parts))).json, { digest: digestOf(bytes) })
  assert.equal((await contentOf(opened, project, digestOf(bytes)))?.length, pieceBytes)
})

test('file/create: accepts the FormData of the platform', async () => {
  const form = new FormData()
  form.append('project_id', project)
  form.append('file', new Blob(['hello'], { type: 'image/png' }), 'ünïcode "name".png')
  const sent = new Response(form)
  const type = sent.headers.get('content-type') ?? ''
  const payload = Buffer.from(await sent.arrayBuffer())
  assert.deepEqual((await sendForm(opened, payload, { type })).json, { digest: hello })
})

test('file/create: a project has access only to the files stored in it', async () => {
  await sendForm(opened, fileForm(project, 'hello'))
  assert.equal(await contentOf(opened, 'globex/qa', hello, keys.bob), undefined)
  assert.equal(await contentOf(opened, 'acme/other', hello), undefined)
  await sendForm(opened, fileForm('globex/qa', 'hello'), { authorization: basic(keys.bob) })
  assert.deepEqual(await contentOf(opened, 'globex/qa', hello, keys.bob), Buffer.from('hello'))
})

test('file/create: the OpenAPI document describes the form', async (t) => {
  const { paths } = await documentOf(await openApp(t, { settings: { HEDDLE_DOCS: 'on' } }))
  for (const path of ['/file/create', '/files/create']) {
    const content = paths[path]?.post?.requestBody?.content as unknown as Record<
      string,
      { schema: { required: string[] } }
    >
    assert.deepEqual(Object.keys(content), ['multipart/form-data'])
    assert.deepEqual(content['multipart/form-data']?.schema.required, ['project_id', 'file'])
  }
})

test('forms are refused on other routes', async () => {
  for (const url of ['/call/start', '/obj/create', '/file/content']) {
    const { status, json } = await sendForm(opened, fileForm(project, 'hello'), { url })
    assert.deepEqual(
      [status, json.reason],
      [415, `Content-Type "${formType}" is not accepted here; accepted: application/json.`],
    )
  }
})
