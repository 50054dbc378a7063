import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sumOfFiles } from '../../../src/operations/files/routes.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { whole } from '../../support/answers.ts'
import { basic, keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { fileForm, sendForm } from '../../support/forms.ts'

const hello = 'LPJNulXwow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ'

test('file/content: refuses invalid requests, checking in a fixed order', async (t) => {
  for (const url of ['/file/content', '/files/content']) {
    await assertCommonRefusals(t, url, { project_id: project, digest: 'x' })
  }
  const { post } = await openApp(t)
  assert.deepEqual(whole(await post('/file/content', { project_id: project, digest: hello })), {
    status: 404,
    body: { reason: `digest: there is no file "${hello}" in project "${project}".`, code: 'file_not_found' },
  })
  const theirs = { project_id: 'globex/qa', digest: hello }
  assert.equal((await post('/file/content', theirs)).status, 403)
  assert.equal((await post('/file/content', theirs, keys.bob)).status, 404)
})

test('file/content: returns the bytes with their length', async (t) => {
  const opened = await openApp(t)
  await sendForm(opened, fileForm(project, 'hello'))
  for (const url of ['/file/content', '/files/content']) {
    const answer = await opened.post(url, { project_id: project, digest: hello })
    assert.deepEqual(
      [answer.status, answer.headers['content-type'], answer.headers['content-length'], answer.text],
      [200, 'application/octet-stream', '5', 'hello'],
    )
  }
})

test('files/query_stats: returns the size of the files of a project', async (t) => {
  await assertCommonRefusals(t, '/files/query_stats', { project_id: project })
  const opened = await openApp(t)
  const stats = async (project_id = project) => whole(await opened.post('/files/query_stats', { project_id }))
  assert.deepEqual(await stats(), { status: 200, body: { total_size_bytes: 0 } })
  for (const text of ['hello', 'you', 'hello']) await sendForm(opened, fileForm(project, text))
  await sendForm(opened, fileForm('globex/qa', 'theirs'), { authorization: basic(keys.bob) })
  assert.deepEqual(await stats(), { status: 200, body: { total_size_bytes: 8 } })
  assert.equal((await stats('globex/qa')).status, 403)
})

test('files/query_stats: the sum runs on the readers for long reads, and stops when the client disconnects', async (t) => {
  const { database } = await openApp(t)
  const caller = { name: 'alice', role: 'member', entities: new Set(['acme']) } as const
  const leaving = new AbortController()
  const asked = { project_id: project }
  assert.deepEqual(await sumOfFiles(boundTo(database, leaving.signal), caller, asked), {
    total_size_bytes: 0,
  })
  leaving.abort(new Error('gone'))
  await assert.rejects(sumOfFiles(boundTo(database, leaving.signal), caller, asked), /gone/)
})
