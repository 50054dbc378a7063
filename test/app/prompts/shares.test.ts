import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { sharerFor } from '../../../src/operations/prompts/shares.ts'
import { keys, openApp } from '../../support/app.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'

const project_id = 'acme/default'
const url = '/objs/greet/aliases/production'

async function open(t: TestContext) {
  const app = await openApp(t, { backend: scriptedBackend() })
  const digests: string[] = []
  for (const content of ['One', 'Two']) {
    const made = await app.post('/obj/create', { obj: { project_id, object_id: 'greet', val: { content } } })
    digests.push(made.json.digest)
  }
  const move = (body: object, as?: string) => app.send('POST', `${url}/move`, { project_id, ...body }, as)
  const label = async () => (await app.get(`${url}/gate?project_id=${project_id}`)).json
  const share = (one: number, two: number) => [
    { version: 'v0', weight: one },
    { version: 'v1', weight: two },
  ]
  const versionFor = async (fields: object) => {
    const { headers, text } = await app.post('/v1/chat/completions', { prompt: { id: 'greet' }, ...fields })
    const named = String(headers['x-heddle-prompt'])
    assert.match(named, /^greet:/, text)
    return named.slice('greet:'.length)
  }
  return { app, digests, move, label, share, versionFor }
}

describe('labels that versions share', () => {
  test('set, read, refused by field, and ended by a move or back', async (t) => {
    const { app, digests, move, label, share } = await open(t)
    assert.match((await move({ share: share(1, 1) })).json.reason, /^share: a label that names no version/)
    await move({ digest: 'v0' })
    const twice = [...share(1, 1).slice(0, 1), { version: digests[0], weight: 2 }]
    for (const [wrong, reason] of [
      [{ share: twice }, /^share.1.version: /],
      [{ share: share(9_000, 1_001) }, /^share: weights of 10001 together/],
      [{ share: [...share(1, 1), { version: 'v9', weight: 1 }] }, /^share.2.version: /],
      [{ share: share(1, 1), digest: 'v1' }, /^share: a list together with digest/],
    ] as const)
      assert.match((await move(wrong)).json.reason, reason)
    for (const wrong of [share(0, 1), share(1.5, 1), share(1, 1).slice(1)])
      assert.equal((await move({ share: wrong })).status, 422)
    assert.equal((await move({ share: share(3, 1) }, keys.bob)).json.code, 'entity_forbidden')
    const kept = [
      { digest: digests[0], weight: 3 },
      { digest: digests[1], weight: 1 },
    ]
    assert.deepEqual((await move({ share: share(3, 1) })).json.share, kept)
    assert.deepEqual([(await label()).digest, (await label()).share], [digests[0], kept])
    const loser = await move({ digest: 'v1', expected_digest: digests[0] })
    assert.deepEqual([loser.status, loser.json.code], [409, 'label_moved'])
    await move({ back: true })
    assert.deepEqual([(await label()).digest, (await label()).share], [digests[0], null])
    await move({ share: share(3, 1) })
    await app.send('PUT', '/objs/greet/aliases', { project_id, digest: 'v0', aliases: ['production'] })
    assert.equal((await label()).share, null)
  })

  test('a gate looks at each new version of a share; an override says why', async (t) => {
    const { app, digests, move, label, share } = await open(t)
    await app.post('/obj/create', { obj: { project_id, object_id: 'exam', val: { name: 'exam' } } })
    await move({ digest: 'v0' })
    const evaluation = `weave:///${project_id}/object/exam:latest`
    const gate = { evaluation, conditions: [{ field: 'scores.exact', min_rate: 0.9 }], min_rows: 1 }
    const set = await app.send('PUT', `${url}/gate`, { project_id, gate }, keys.root)
    assert.equal(set.status, 200, set.text)
    const refused = await move({ share: share(1, 1) })
    assert.equal(refused.status, 400, refused.text)
    assert.match(refused.json.reason, /share\.1\.run/)
    assert.equal((await label()).share, null)
    const override = { reason: 'a first look' }
    assert.equal((await move({ share: share(1, 1), override })).json.code, 'role_forbidden')
    assert.equal((await move({ share: share(1, 1), override }, keys.root)).status, 200)
    const sharers = digests.map((digest) => ({ digest, weight: 1 }))
    assert.deepEqual((await label()).share, sharers)
    const unseen = await app.send('PUT', '/objs/greet/aliases', {
      ...{ project_id, digest: 'v0', aliases: ['production'] },
    })
    assert.equal(unseen.status, 409, 'nothing moves it past its gate')
    assert.deepEqual((await label()).share, sharers)
  })

  test('of two who share a label at once one wins, and the other is told', async (t) => {
    const { digests, move, label, share } = await open(t)
    await move({ digest: 'v0' })
    const expected = { expected_digest: digests[0] }
    const answers = await Promise.all([
      move({ share: share(3, 1), ...expected }),
      move({ share: share(1, 3), ...expected }),
    ])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409])
    const winner = answers.find(({ status }) => status === 200)
    assert.deepEqual((await label()).share, winner?.json.share)
  })

  test('an answer sticks to its user, with the version that the hash says', async (t) => {
    const { digests, move, share, versionFor } = await open(t)
    await move({ digest: 'v0' })
    await move({ share: share(1, 1) })
    const sharers = digests.map((digest) => ({ digest, weight: 1 }))
    const seen = new Set<string>()
    for (let user = 0; user < 12; user++) {
      const key = JSON.stringify(['user', `u${user}`])
      const { digest } = sharerFor({ project: project_id, id: 'greet', label: 'production', key }, sharers)
      assert.equal(await versionFor({ user: `u${user}` }), digest)
      seen.add(digest)
    }
    assert.equal(seen.size, 2)
  })

  test('an answer sticks to its conversation, however a client names it', async (t) => {
    const { app, digests, move, share, versionFor } = await open(t)
    await move({ digest: 'v0' })
    await move({ share: share(1, 1) })
    const sharers = digests.map((digest) => ({ digest, weight: 1 }))
    for (let thread = 0; thread < 6; thread++) {
      const id = `thread-${thread}`
      const key = JSON.stringify(['thread', id])
      const { digest } = sharerFor({ project: project_id, id: 'greet', label: 'production', key }, sharers)
      // Which user asks does not matter then.
      assert.equal(await versionFor({ metadata: { thread_id: id }, user: `u${thread}` }), digest)
      assert.equal(await versionFor({ session_id: id }), digest)
    }
    const respond = async (previous_response_id?: string) => {
      const fields = { input: 'Hi', prompt: { id: 'greet' }, previous_response_id }
      const { json, headers, text } = await app.post('/v1/responses', fields)
      assert.equal(json.status, 'completed', text)
      return { id: json.id as string, version: headers['x-heddle-prompt'] }
    }
    const seen = new Set<unknown>()
    while (seen.size < 2) {
      let { id, version } = await respond()
      seen.add(version)
      for (let turn = 0; turn < 6; turn++) {
        const next = await respond(id)
        assert.equal(next.version, version)
        id = next.id
      }
    }
    for (const previous_response_id of ['\u0000', '\ud800', 'x'.repeat(1_000)]) {
      const fields = { input: 'Hi', prompt: { id: 'greet' }, previous_response_id }
      assert.match((await app.post('/v1/responses', fields)).text, /previous_response_id/)
    }
    const before = (await respond()).id
    await move({ digest: 'v1' })
    assert.equal((await respond(before)).version, `greet:${digests[1]}`)
  })

  test('a weight that grows moves only keys towards it', () => {
    const chosen = (one: number, key: string) =>
      sharerFor({ project: 'p', id: 'i', label: 'l', key }, [
        { digest: 'a', weight: one },
        { digest: 'b', weight: 50 },
      ]).digest
    const all = Array.from({ length: 2000 }, (_, index) => [chosen(50, `k${index}`), chosen(75, `k${index}`)])
    assert.ok(all.every(([before, after]) => before === after || after === 'a'))
    const share = (at: number) => all.filter((pair) => pair[at] === 'a').length / all.length
    assert.ok(Math.abs(share(0) - 0.5) < 0.04 && Math.abs(share(1) - 0.6) < 0.04)
  })
})
