import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'

const settings = { HEDDLE_USERS: `alice:${keys.alice}:acme,carol:${keys.root}:acme,bob:${keys.bob}:globex` }
const carol = keys.root
const { post, send } = await openApp({ after }, { settings })

const slow = {
  project_id: project,
  screen: 'calls',
  name: 'Slow',
  search: 'q=latency%3A%3E2s&sort=started_at.asc',
}

test('saved views: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/views/saved', { ...slow })
  for (const [body, status] of [
    [{ name: '' }, 422],
    [{ screen: 'nowhere' }, 422],
    [{ search: 'x'.repeat(8001) }, 422],
    [{ project_id: 'globex/qa' }, 403],
  ] as const) {
    assert.equal((await post('/views/saved', { ...slow, ...body })).status, status)
  }
})

test('a view is saved, shared, renamed and deleted by its owner', async () => {
  const made = await post('/views/saved', slow)
  assert.equal(made.status, 200, made.text)
  const { view } = made.json
  assert.deepEqual([view.name, view.search, view.is_shared, view.is_own], ['Slow', slow.search, false, true])
  const again = await post('/views/saved', { ...slow, search: 'q=again' })
  assert.deepEqual([again.json.view.id, again.json.view.search], [view.id, 'q=again'])
  const other = await post('/views/saved', { ...slow, name: 'Other' })
  const both = await send('PUT', `/views/saved/${other.json.view.id}`, { project_id: project, name: 'Slow' })
  assert.deepEqual([both.status, both.json.code], [409, 'saved_view_exists'])
  await send('DELETE', `/views/saved/${other.json.view.id}?project_id=${project}`)
  assert.equal((await post('/views/saved', { ...slow, screen: 'charts' })).status, 200)

  const seenBy = async (key?: string) =>
    (await post('/views/saved/query', { project_id: project }, key)).json.views.map(
      ({ name, screen, is_own }: { name: string; screen: string; is_own: boolean }) => [name, screen, is_own],
    )
  assert.deepEqual(await seenBy(carol), [])
  const url = `/views/saved/${view.id}`
  const change = (body: object, key?: string) => send('PUT', url, { project_id: project, ...body }, key)
  assert.equal((await change({ name: 'Mine' }, carol)).json.code, 'saved_view_not_found')
  const shared = await change({ is_shared: true, name: 'Slow ones' })
  assert.deepEqual([shared.json.view.name, shared.json.view.is_shared], ['Slow ones', true])
  assert.deepEqual(await seenBy(carol), [['Slow ones', 'calls', false]])
  const others = await change({ name: 'Mine' }, carol)
  assert.deepEqual([others.status, others.json.code], [403, 'saved_view_of_other'])
  assert.equal((await send('DELETE', `${url}?project_id=${project}`, undefined, carol)).status, 403)
  assert.equal((await send('DELETE', `${url}?project_id=globex/qa`, undefined, keys.bob)).status, 404)
  assert.equal((await send('DELETE', `${url}?project_id=${project}`)).status, 200)
  assert.equal((await send('DELETE', `${url}?project_id=${project}`)).status, 404)
  assert.deepEqual(await seenBy(), [['Slow', 'charts', true]])
})

test('the number of saved views of a user is bounded', async (t) => {
  const app = await openApp(t)
  for (let n = 0; n < 200; n++) {
    assert.equal((await app.post('/views/saved', { ...slow, name: `${n}` })).status, 200)
  }
  const more = await app.post('/views/saved', slow)
  assert.deepEqual([more.status, more.json.code], [409, 'too_many_saved_views'])
})
