import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'
import { createImport } from '../../../src/operations/exporting/import.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { streamAudit } from '../../../src/storage/users/audit.ts'
import { type Answer, keys, openApp, type TestApp, type TestParts } from '../../support/app.ts'
import { completeOf, project } from '../../support/calls.ts'
import { evaluationRunsOf, root } from '../../support/evaluation-runs.ts'
import { create } from '../../support/objects.ts'

const label = '/objs/support/aliases/production'
const evaluation = `weave:///${project}/object/capitals:latest`
const field = 'scores.exact'

interface Open extends TestApp {
  digests: string[]
  move(body: object, as?: string): Promise<Answer>
  gate(gate: object, as?: string): Promise<Answer>
  /** A finished run with a version: whether each row passes. */
  run(version: string, passes: readonly (boolean | undefined)[], of?: { self: string }): Promise<string>
  deeds(): Promise<unknown[]>
}

async function open(t: TestContext, parts: TestParts = {}): Promise<Open> {
  const app = await openApp(t, parts)
  const digests: string[] = []
  for (const content of ['One', 'Two', 'Three']) digests.push(await create(app, 'support', { content }))
  await create(app, 'capitals', { name: 'capitals' })
  return {
    ...app,
    digests,
    move: (body, as) => app.send('POST', `${label}/move`, { project_id: project, ...body }, as),
    gate: (gate, as = keys.root) => app.send('PUT', `${label}/gate`, { project_id: project, gate }, as),
    async run(version, passes, { self } = { self: evaluation }) {
      const model = `weave:///${project}/object/support:${version}`
      const id = randomUUID()
      const root = { id, op_name: 'Evaluation.evaluate', inputs: { self, model }, output: {}, summary: {} }
      const trials = passes.map((exact, row) => ({
        ...{ id: randomUUID(), trace_id: id, parent_id: id, op_name: 'Evaluation.predict_and_score' },
        inputs: { self, model, example: { row } },
        output: { output: 'x', scores: exact === undefined ? {} : { exact }, model_latency: 0.25 },
      }))
      const batch = [root, ...trials].map(completeOf)
      const { status, text } = await app.post(`/v2/${project}/calls/complete`, { batch })
      assert.equal(status, 200, text)
      return id
    },
    async deeds() {
      const deeds: unknown[] = []
      const all = { from: 0, until: Number.MAX_SAFE_INTEGER }
      const { signal } = new AbortController()
      for await (const rows of streamAudit(boundTo(app.database, signal), all)) {
        for (const { action, actor, details } of rows) {
          const { why, from, to, reason, run: id } = JSON.parse(details)
          if (action.startsWith('label.')) deeds.push({ action, actor, from, to, why, reason, run: id })
        }
      }
      return deeds
    },
  }
}

const times = (count: number, value: boolean | undefined) => Array.from({ length: count }, () => value)
const at = ({ json }: Answer) => [json.from, json.to]

describe('labels with gates', () => {
  test('an import adds versions and aliases, but moves no alias that has a gate', async (t) => {
    const app = await open(t)
    await app.move({ digest: 'v0' })
    await app.gate({ evaluation, conditions: [{ field, min_rate: 0.4 }] })
    const source = 'acme/source'
    const obj = { project_id: source, object_id: 'support', val: { content: 'Four' } }
    const { digest } = (await app.post('/obj/create', { obj })).json
    const aliases = ['production', 'canary']
    const set = { project_id: source, digest, aliases }
    assert.equal((await app.send('PUT', '/objs/support/aliases', set)).status, 200)
    const { text } = await app.post('/calls/export', { project_id: source, kinds: ['objects'] })
    const importing = createImport(app.database, { project, user: 'alice' })
    for (const line of text.trim().split('\n')) await importing.take(Buffer.from(line))
    await importing.end()
    assert.deepEqual(importing.outcomes.objects, { added: 1, there: 0, gone: 0, gated: 1 })
    const named = async (alias: string) =>
      (await app.get(`/objs/support/aliases/${alias}/gate?project_id=${project}`)).json.digest
    assert.deepEqual(await Promise.all(aliases.map(named)), [app.digests[0], digest])
  })

  test('refused, mended, moved, overridden and rolled back, each as one line of the audit log', async (t) => {
    const app = await open(t)
    const [one, two, three] = app.digests as [string, string, string]
    assert.deepEqual(at(await app.move({ digest: 'v0' })), [null, one])
    const conditions = [
      { field, min_difference: -0.05 },
      { field, no_row_lost: true },
      { field, min_rate: 0.4 },
    ]
    const set = await app.gate({ evaluation, conditions, min_rows: 10 })
    assert.equal(set.status, 200, set.text)
    const before = await app.run('v0', [...times(15, true), ...times(5, false)])
    const worse = await app.run('v1', [...times(14, true), ...times(6, false)])
    const better = await app.run(three, times(20, true))
    const refused = await app.move({ digest: 'v1', run: worse, baseline_run: before })
    assert.deepEqual([refused.status, refused.json.code], [409, 'gate_not_passed'])
    const why = /does not pass the gate of label "production": (.*)\.$/.exec(
      refused.json.reason,
    )?.[1] as string
    assert.match(
      why,
      /^scores.exact differs by at least -0.05, but -0.05 \(-0\.\d+ to 0\.\d+\) in 20 rows; scores.exact is worse in no row, but 1 of 20 rows are worse, 0 better$/,
    )
    const moved = await app.move({ digest: three, run: better, baseline_run: before, expected_digest: one })
    assert.deepEqual(at(moved), [one, three])
    assert.deepEqual(
      moved.json.checks.map(({ holds }: { holds: boolean }) => holds),
      [true, true, true],
    )
    assert.equal((await app.move({ digest: 'v1', override: { reason: 'x' } })).json.code, 'role_forbidden')
    const over = await app.move({ digest: 'v1', override: { reason: 'the shop is shut' } }, keys.root)
    assert.deepEqual(at(over), [three, two])
    assert.deepEqual(at(await app.move({ back: true })), [two, three])
    assert.deepEqual(at(await app.move({ back: true })), [three, one])
    assert.match((await app.move({ back: true })).json.reason, /back: true; accepted: nothing/)
    const none = { why: undefined, reason: undefined, run: undefined }
    assert.deepEqual(await app.deeds(), [
      { ...none, action: 'label.move', actor: 'alice', from: null, to: one },
      { ...none, action: 'label.refuse', actor: 'alice', from: one, to: two, why, run: worse },
      { ...none, action: 'label.move', actor: 'alice', from: one, to: three, run: better },
      { ...none, action: 'label.override', actor: 'root', from: three, to: two, reason: 'the shop is shut' },
      { ...none, action: 'label.back', actor: 'alice', from: two, to: three },
      { ...none, action: 'label.back', actor: 'alice', from: three, to: one },
    ])
  })

  test('a key without the scope administer overrides no gate, though its user is an admin', async (t) => {
    const app = await open(t)
    const admin = { name: 'release', grants: [{ scope: 'acme', role: 'admin' }] }
    const { key } = (await app.post('/users', admin, keys.root)).json.key
    const keyWith = async (...scopes: string[]) => (await app.post('/keys', { scopes }, key)).json.key
    const body = { digest: 'v0', override: { reason: 'tests' } }
    const refused = await app.move(body, await keyWith('read', 'write'))
    assert.deepEqual([refused.status, refused.json.code], [403, 'scope_forbidden'])
    assert.equal((await app.move(body, await keyWith('write', 'administer'))).status, 200)
    assert.equal((await app.move({ digest: 'v1' }, await keyWith('write'))).status, 200)
  })

  test('nothing else moves the label', async (t) => {
    const app = await open(t)
    await app.move({ digest: 'v0' })
    await app.gate({ evaluation, conditions: [{ field, min_rate: 0.4 }] })
    const aliases = { project_id: project, aliases: ['other', 'production'] }
    const answers = [
      await app.send('PUT', '/objs/support/aliases', { ...aliases, digest: 'v1' }),
      await app.post('/objs/support/aliases/remove', aliases),
      await app.post('/obj/delete', { project_id: project, object_id: 'support', digests: ['v0', 'v1'] }),
      await app.post('/obj/delete', { project_id: project, object_id: 'support' }),
    ]
    for (const { status, json } of answers) assert.deepEqual([status, json.code], [409, 'label_gated'])
    const read = await app.get(`${label}/gate?project_id=${project}`)
    assert.equal(read.json.digest, app.digests[0])
    const there = await app.post('/aliases?', undefined).then(() => app.get(`/aliases?project_id=${project}`))
    assert.deepEqual(there.json.aliases, ['production'])
    assert.equal((await app.send('PUT', '/objs/support/aliases', { ...aliases, digest: 'v0' })).status, 200)
    assert.equal(
      (await app.post('/obj/delete', { project_id: project, object_id: 'support', digests: ['v1'] })).status,
      200,
    )
    const gone = await app.send('DELETE', `${label}/gate?project_id=${project}`, undefined, keys.root)
    assert.equal(gone.json.gate, null)
    assert.equal((await app.send('PUT', '/objs/support/aliases', { ...aliases, digest: 'v2' })).status, 200)
  })

  test('of two moves at once, one wins and the other is told', async (t) => {
    const app = await open(t)
    await app.move({ digest: 'v0' })
    const expected_digest = app.digests[0]
    const answers = await Promise.all(['v1', 'v2'].map((digest) => app.move({ digest, expected_digest })))
    const winner = answers.find(({ status }) => status === 200)
    const loser = answers.find(({ status }) => status === 409)
    assert.equal(loser?.json.code, 'label_moved')
    assert.ok(loser?.json.reason.includes(winner?.json.to))
    const read = await app.get(`${label}/gate?project_id=${project}`)
    assert.deepEqual([read.json.digest, read.json.former], [winner?.json.to, [app.digests[0]]])
    const [one, two, three] = app.digests as [string, string, string]
    const present = { digest: winner?.json.to, gate: null, share: null }
    const name = { project_id: project, object_id: 'support', alias: 'production' }
    const write = (to: string) =>
      app.database.write('moveLabel', {
        ...{ ...name, to, share: null, expected: present, way: 'move', reason: null, run: null },
        ...{ user_id: 'alice', now: Date.now() },
      })
    const other = present.digest === two ? three : two
    const [first, second] = await Promise.all([write(one), write(other)])
    // Which of them is first is up to the database.
    const outcomes = [
      { first: { from: present.digest, to: one }, second: { changed: one } },
      { first: { changed: other }, second: { from: present.digest, to: other } },
    ]
    assert.deepEqual({ first, second }, 'to' in first ? outcomes[0] : outcomes[1])
  })

  test('only a whole run of this evaluation and this version counts', async (t) => {
    const app = await open(t)
    await app.move({ digest: 'v0' })
    await create(app, 'other', { name: 'other' })
    await app.gate({
      evaluation,
      conditions: [
        { field, min_rate: 0.5 },
        { field, no_row_lost: true },
      ],
      min_rows: 5,
    })
    const good = times(20, true)
    const present = await app.run('v0', good)
    const running = await evaluationRunsOf(app).run({
      evaluation,
      model: `weave:///${project}/object/support:v1`,
    })
    const elsewhere = await app.run('v1', good, { self: `weave:///${project}/object/other:v0` })
    for (const [fields, expected] of [
      [{}, /^run: nothing;/],
      [{ run: 'unknown' }, /^run: "unknown", which is no run here;/],
      [{ run: present }, /which is with another version/],
      [{ run: running }, /which has not ended/],
      [{ run: elsewhere }, /which is of another evaluation/],
    ] as const) {
      const { status, json } = await app.move({ digest: 'v1', ...fields })
      assert.deepEqual([status, json.code], [400, 'invalid_value'])
      assert.match(json.reason, expected)
    }
    const run = await app.run('v1', good)
    assert.match((await app.move({ digest: 'v1', run })).json.reason, /^baseline_run: nothing/)
    const gaps = await app.run('v1', [...good, undefined])
    const withGaps = await app.move({ digest: 'v1', run: gaps, baseline_run: present })
    assert.match(withGaps.json.reason, /1 of 21 trials have no such score/)
    const few = await app.run('v1', times(4, true))
    const tooFew = await app.move({ digest: 'v1', run: few, baseline_run: present })
    assert.match(tooFew.json.reason, /4 trials; needed: 5.*4 rows in both runs; needed: 5/)
    assert.equal((await app.move({ digest: 'v1', run, baseline_run: present })).status, 200)
  })

  test('cost, latency and a rate have bounds', async (t) => {
    const app = await open(t)
    const run = await app.run('v0', [...times(18, true), ...times(2, false)])
    const foundBy = async (condition: object) => {
      assert.equal((await app.gate({ evaluation, conditions: [condition] })).status, 200)
      const { json } = await app.move({ digest: 'v0', run })
      return json.checks?.[0].found ?? json.reason
    }
    assert.match(await foundBy({ field, min_rate: 0.7 }), /but 18 of 20 pass: at least 0.699/)
    assert.match(await foundBy({ field, min_rate: 0.69 }), /^18 of 20 pass/)
    assert.match(await foundBy({ max_cost: 1 }), /but the model has no price/)
    assert.match(await foundBy({ max_latency_seconds: 60 }), /^0.25 s$/)
    assert.match(await foundBy({ field: 'scores.none', min_rate: 0 }), /but no trial has the score/)
  })

  test('gates are set by admins, in projects of theirs, and as the contract says', async (t) => {
    const app = await open(t)
    const gate = { evaluation, conditions: [{ field, min_rate: 0.5 }] }
    assert.equal((await app.gate(gate, keys.alice)).json.code, 'role_forbidden')
    for (const [wrong, status] of [
      [{ ...gate, conditions: [] }, 422],
      [{ ...gate, conditions: [{ field }] }, 422],
      [{ ...gate, conditions: [{ field, min_rate: 2 }] }, 422],
      [{ ...gate, evaluation: 'capitals' }, 400],
      [{ ...gate, evaluation: `weave:///${project}/object/nothing:v0` }, 404],
    ] as const)
      assert.equal((await app.gate(wrong)).status, status, JSON.stringify(wrong))
    for (const [body, reason] of [
      [{}, /^digest: nothing/],
      [{ digest: 'v0', back: true }, /^back: true together with digest/],
      [{ digest: 'v9' }, /^digest: there is no object "support" with version "v9"/],
    ] as const)
      assert.match((await app.move(body)).json.reason, reason)
    assert.equal((await app.move({ digest: 'v0' }, keys.bob)).json.code, 'entity_forbidden')
    const bobs = await app.get(`${label}/gate?project_id=${project}`, keys.bob)
    assert.equal(bobs.json.code, 'entity_forbidden')
    assert.equal((await app.get(`${root}/nothing`)).status, 404)
  })
})
