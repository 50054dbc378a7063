import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from '../../../src/storage/sql/sql.ts'
import { keys, openApp } from '../../support/app.ts'
import { completeOf, project } from '../../support/calls.ts'
import { root } from '../../support/evaluation-runs.ts'
import { monitorsOf } from '../../support/monitors.ts'
import { create } from '../../support/objects.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'

const app = await openApp({ after }, { backend: scriptedBackend() })
const { post, get, send, database } = app
const query = `?project_id=${project}`

const add = async (name: string, body: object = { entities: ['acme'] }): Promise<string> => {
  const { json, text } = await post('/users', { name, ...body }, keys.root)
  assert.ok(json.key, text)
  return json.key.key
}
/** Removes the user, and makes another one with the same name and rights. */
const replaced = async (name: string, body?: object): Promise<string> => {
  assert.equal((await send('DELETE', `/users/${name}`, undefined, keys.root)).status, 200)
  return add(name, body)
}

test('a shadow ends with its user', async () => {
  for (const content of ['one', 'two']) await create(app, 'reply', { content })
  const scorer = await monitorsOf(app).scorer('brief', { check: { kind: 'length', max: 5 } })
  const label = '/objs/reply/aliases/live'
  assert.equal((await post(`${label}/move`, { project_id: project, digest: 'v0' })).status, 200)
  const key = await add('shady')
  const shadow = { version: 'v1', share: 1, scorer }
  const set = await send('PUT', `${label}/shadow`, { project_id: project, shadow }, key)
  assert.equal(set.status, 200, set.text)
  await replaced('shady')
  const read = (await get(`${label}/shadow${query}`)).json.shadow
  assert.equal(read.why_ended, 'the user shady was removed')
  assert.ok(read.ended_at)
})

test('an endpoint of alerts is switched off with the user who answers for its address', async () => {
  const key = await add('wanda')
  const address = { url: 'https://example.com/hook' }
  const endpoints = []
  for (const [name, as] of [
    ['hers', key],
    ['moved', keys.alice],
    ['others', keys.alice],
  ] as const) {
    const made = await post('/alert_endpoints', { project_id: project, name, ...address }, as)
    assert.equal(made.status, 200, made.text)
    endpoints.push(made.json.endpoint.id)
  }
  const change = (id: string, body: object) =>
    send('PUT', `/alert_endpoints/${id}`, { project_id: project, ...body }, key)
  assert.equal((await change(endpoints[1], { url: 'https://example.com/other' })).status, 200)
  assert.equal((await change(endpoints[2], { name: 'renamed', active: true })).status, 200)
  await replaced('wanda')
  const { json } = await get(`/alert_endpoints${query}`)
  const stopped = 'the user wanda was removed'
  assert.deepEqual(
    json.endpoints.map((one: Record<string, unknown>) => [one.name, one.active, one.stopped]),
    [
      ['hers', false, stopped],
      ['moved', false, stopped],
      ['renamed', true, null],
    ],
  )
})

test('saved views of a removed user are nobody’s: the private ones are gone, others may change the shared ones', async () => {
  const key = await add('vic')
  const view = { project_id: project, screen: 'calls', search: 'q=x' }
  await post('/views/saved', { ...view, name: 'private' }, key)
  const { id } = (await post('/views/saved', { ...view, name: 'shared', is_shared: true }, key)).json.view
  const later = await replaced('vic')
  const { views } = (await post('/views/saved/query', { project_id: project }, later)).json
  assert.deepEqual(
    views.map((one: Record<string, unknown>) => [one.name, one.is_own]),
    [['shared', false]],
  )
  assert.equal((await send('DELETE', `/views/saved/${id}${query}`)).status, 200)
})

test('feedback of a removed user is not replaced or removed by a later annotator of the name', async () => {
  const call = completeOf({})
  assert.equal((await post(`/v2/${project}/calls/complete`, { batch: [call] })).status, 200)
  const { id: queue } = (
    await post('/annotation_queues', { project_id: project, name: 'q', scorer_refs: [] })
  ).json
  await post(`/annotation_queues/${queue}/items`, { project_id: project, call_ids: [call.id] })
  const body = { grants: [{ scope: project, role: 'annotator' }] }
  const note = {
    project_id: project,
    weave_ref: `weave:///${project}/call/${call.id}`,
    feedback_type: 'wandb.note.1',
    payload: { note: 'seen' },
  }
  const purge = async (key: string) => {
    const { id } = (await post('/feedback/create', note, key)).json
    return async (as: string) => {
      const query = { $expr: { $eq: [{ $getField: 'id' }, { $literal: id }] } }
      await post('/feedback/purge', { project_id: project, query }, as)
      return (await post('/feedback/query', { project_id: project, query })).json.result.length
    }
  }
  const ofFirst = await purge(await add('nora', body))
  const later = await replaced('nora', body)
  assert.equal(await ofFirst(later), 1)
  assert.equal(await (await purge(later))(later), 0)
})

test('an invitation is void once its maker was removed, also for a later user of the name', async () => {
  const body = { grants: [{ scope: '*', role: 'admin' }] }
  const key = await add('ivan', body)
  const invitation = { grants: [{ scope: 'acme', role: 'viewer' }] }
  const { secret } = (await post('/invitations', invitation, key)).json
  await replaced('ivan', body)
  const accepted = await post('/invitations/accept', { secret, name: 'guest' }, 'no key')
  assert.deepEqual([accepted.status, accepted.json.code], [404, 'invitation_not_found'])
})

test('an evaluation run that the server carries out stops with its user', async () => {
  const key = await add('runa')
  assert.equal((await post(`${root}/datasets`, { name: 'rows', rows: [{ question: 'x' }] })).status, 200)
  const dataset = `weave:///${project}/object/rows:latest`
  const asked = { name: 'run', dataset, settings: [{ name: 'plain' }], prompt: '{question}' }
  const made = await post(`${root}/evaluation_runs/serve`, asked, key)
  assert.equal(made.status, 200, made.text)
  await replaced('runa')
  const run = sql`SELECT stopped FROM served_runs WHERE run_id = ${made.json.evaluation_run_ids[0]}`
  assert.deepEqual(await database.get(run), { stopped: 1 })
})
