import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { type Answer, basic, keys, openApp, type TestParts } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { monitorsOf } from '../../support/monitors.ts'
import { create } from '../../support/objects.ts'
import { promptTokensOf, scriptedBackend, scriptOf } from '../../support/scripted-backend.ts'
import { until } from '../../support/wait.ts'

const label = '/objs/support/aliases/production'
const url = `${label}/shadow`
const query = `?project_id=${project}`

/** Answers with what its prompt tells it to say. */
const sayingBackend = () =>
  scriptedBackend((request, signal) => {
    const said = /Say (\w+)/.exec(String.fromCodePoint(...promptTokensOf(request).slice(0, 200)))?.[1]
    return scriptOf(said ?? 'nothing')(request, signal)
  })

async function open(t: TestContext, parts: TestParts = {}) {
  const backend = sayingBackend()
  const app = await openApp(t, { sweep: true, backend, ...parts })
  const { post, get, send } = app
  const digests: string[] = []
  for (const content of ['Say {one}, not {other}.', 'Say {other}, not {one}.', 'Say maybe.'])
    digests.push(await create(app, 'support', { content }))
  const scorer = await monitorsOf(app).scorer('right', { check: { kind: 'contains', any_of: ['yes'] } })
  const move = (body: object) => send('POST', `${label}/move`, { project_id: project, ...body })
  assert.equal((await move({ digest: 'v0' })).status, 200)
  const infer = async (to: string, payload: object) => {
    const own = { authorization: basic(keys.alice), 'x-heddle-project': project }
    const answer = await app.app.inject({ method: 'POST', url: to, headers: own, payload })
    return { status: answer.statusCode, text: answer.body, headers: answer.headers, json: answer.json() }
  }
  return {
    ...{ app, infer, backend, digests, scorer, move },
    set: (fields: object = {}, as?: string): Promise<Answer> =>
      send('PUT', url, { project_id: project, shadow: { version: 'v1', share: 1, scorer, ...fields } }, as),
    read: (as?: string) => get(`${url}${query}`, as),
    /** Asks once; returns the id of the call. */
    async ask(one: string, other: string, fields: object = {}): Promise<string> {
      const { status, text, headers, json } = await infer('/v1/chat/completions', {
        ...{ prompt: { id: 'support', variables: { one, other } } },
        ...{ messages: [{ role: 'user', content: 'Well?' }], ...fields },
      })
      assert.equal(status, 200, text)
      assert.equal(headers['x-heddle-prompt'], `support:${digests[0]}`)
      assert.equal(json.choices[0].message.content, one)
      return String(headers['x-heddle-call-id'])
    },
    async settled(): Promise<Answer['json']> {
      let found: Answer['json']
      await until('nothing waits', async () => {
        found = (await get(`${url}${query}`)).json
        return found.waiting === 0
      })
      return found
    },
    async calls(op: string) {
      const { text } = await post('/calls/stream_query', { project_id: project, filter: { op_names: [op] } })
      const lines = text.split('\n').filter((line) => line !== '')
      return lines.map((line) => JSON.parse(line))
    },
  }
}

describe('shadows of labels', () => {
  test('another version is asked what clients ask, both are judged, and a sentence says which is better', async (t) => {
    const { app, digests, set, read, ask, settled, calls } = await open(t)
    const made = await set({ min_pairs: 10 })
    assert.equal(made.status, 200, made.text)
    assert.equal(made.json.verdict, 'After 0 pairs it is not decided yet whether v1 is better than v0.')
    const call = await ask('no', 'yes')
    await ask('yes', 'no')
    await ask('yes', 'yes')
    const few = await until('three pairs', async () => (await read()).json.pairs === 3).then(settled)
    assert.deepEqual([few.wins, few.losses, few.ties], [1, 1, 1])
    assert.equal(few.decision, 'undecided')
    assert.deepEqual(few.means.present.tokens > 0 && few.means.shadow.tokens > 0, true)
    const shadows = await calls('heddle.shadow')
    assert.equal(shadows.length, 3)
    const own = shadows.find(({ attributes }) => attributes.heddle.shadow.call.endsWith(call))
    assert.equal(own.output.choices[0].message.content, 'yes')
    assert.deepEqual(own.attributes.heddle.shadow.prompt, { id: 'support', version: digests[1] })
    assert.equal(own.inputs.messages.at(-1).content, 'Well?')
    for (let n = 0; n < 20; n++) await ask('no', 'yes')
    await until('all pairs', async () => (await read()).json.pairs === 23)
    const { decision, verdict, win_rate } = await settled()
    assert.deepEqual([decision, win_rate.value], ['better', 21 / 22])
    assert.match(
      verdict,
      /^After 23 pairs v1 is better than v0 in 95 % of those that differ \(at least \d\d %\)\.$/,
    )
    // What no client was told is not among the completions that clients can list.
    const { data } = (await app.get('/v1/chat/completions?limit=100')).json
    assert.ok(data.every(({ id }: { id: string }) => !shadows.some((shadow) => id.includes(shadow.id))))
  })

  test('refused by field, replaced, removed, and ended by what moves the label', async (t) => {
    const { app, digests, set, read, move, scorer, ask, settled } = await open(t)
    for (const [fields, reason] of [
      [{ version: 'v0' }, /^shadow.version: .*answers already/],
      [{ version: 'v9' }, /^shadow.version: /],
      [{ scorer: `${scorer}x` }, /^shadow.scorer: /],
    ] as const)
      assert.match((await set(fields)).json.reason, reason)
    for (const share of [0, 1.1, '1']) assert.equal((await set({ share })).status, 422)
    const elsewhere = { project_id: project, shadow: { version: 'v1', share: 1, scorer } }
    const noLabel = await app.send('PUT', '/objs/support/aliases/other/shadow', elsewhere)
    assert.deepEqual([noLabel.status, noLabel.json.code], [404, 'object_not_found'])
    assert.equal((await read()).json.shadow, null)
    assert.equal((await set()).json.shadow.version, digests[1])
    await ask('no', 'yes')
    await until('a pair', async () => (await read()).json.pairs === 1)
    const again = await set({ version: 'v2' })
    assert.deepEqual([again.json.shadow.version, again.json.pairs], [digests[2], 0], 'counted anew')
    const removed = await app.send('DELETE', `${url}${query}`)
    assert.equal(removed.json.shadow.why_ended, 'it was removed')
    assert.equal((await app.send('DELETE', `${url}${query}`)).status, 200)
    for (const [end, why] of [
      [() => move({ digest: 'v0' }), 'the label was moved'],
      [() => move({ digest: 'v2' }).then(() => move({ back: true })), 'the label was moved'],
      [() => move({ share: ['v0', 'v1'].map((version) => ({ version, weight: 1 })) }), 'the label was moved'],
      [
        () =>
          app.send('PUT', '/objs/support/aliases', {
            project_id: project,
            digest: 'v2',
            aliases: ['production'],
          }),
        'the label was moved',
      ],
      [
        () => app.post('/objs/support/aliases/remove', { project_id: project, aliases: ['production'] }),
        'the label was removed',
      ],
      [
        () => app.post('/obj/delete', { project_id: project, object_id: 'support', digests: ['v1'] }),
        'a version was deleted',
      ],
    ] as const) {
      await move({ digest: 'v0' })
      const { json, status, text } = await set()
      assert.deepEqual([status, json.shadow?.ended_at], [200, null], text)
      const ended = await end()
      assert.ok(ended.status < 300, ended.text)
      const { shadow } = await settled()
      assert.equal(shadow.why_ended, why)
      assert.notEqual(shadow.ended_at, null)
    }
    await move({ digest: 'v0' })
    await move({ share: ['v0', 'v2'].map((version) => ({ version, weight: 1 })) })
    assert.match(
      (await set({ version: 'v2' })).json.reason,
      /^shadow: a shadow of a label that versions share/,
    )
  })

  test('who may not write sets none, and of another tenant nothing is told', async (t) => {
    const { app, set, read } = await open(t)
    await set()
    for (const answer of [await read(keys.bob), await set({}, keys.bob)])
      assert.equal(answer.json.code, 'entity_forbidden')
    const own = await app.get('/objs/support/aliases/production/shadow?project_id=globex/default', keys.bob)
    assert.deepEqual([own.status, own.json.shadow, own.json.pairs], [200, null, 0])
    const theirs = { project_id: 'globex/default', shadow: { version: 'v1', share: 1, scorer: 'weave:///x' } }
    assert.equal((await app.send('PUT', url, theirs, keys.bob)).status, 404)
  })

  test('it is asked through the API of the client, and scorers see the same form', async (t) => {
    const { app, infer, digests, set, read, settled, calls } = await open(t)
    const check = { kind: 'contains', any_of: ['yes'], field: 'conversation.answer' }
    const scorer = await monitorsOf(app).scorer('answered', { check })
    await set({ scorer })
    const prompt = { id: 'support', variables: { one: 'no', other: 'yes' } }
    const max_tokens = 20
    const messages = [{ role: 'user', content: 'Well?' }]
    const asked: [url: string, body: object][] = [
      ['/v1/chat/completions', { prompt, messages }],
      ['/v1/responses', { prompt, input: 'Well?' }],
      ['/v1/messages', { prompt, messages, max_tokens, model: 'scripted' }],
      ['/v1/completions', { prompt, max_tokens }],
    ]
    for (const [to, body] of asked) {
      const { status, headers, text } = await infer(to, body)
      assert.deepEqual([status, headers['x-heddle-prompt']], [200, `support:${digests[0]}`], text)
    }
    await until('four pairs', async () => (await read()).json.pairs === 4)
    const { wins, failed, means } = await settled()
    assert.deepEqual([wins, failed], [4, 0])
    // A token for each letter.
    assert.equal(means.shadow.tokens, means.present.tokens + 1)
    const own = await Promise.all(
      ['chat.completions', 'responses', 'messages', 'completions'].map((op) => calls(`heddle.${op}`)),
    )
    const formsOf = (all: { output: object }[]) =>
      new Set(all.map(({ output }) => Object.keys(output).join()))
    assert.deepEqual(formsOf(await calls('heddle.shadow')), formsOf(own.flat()))

    for (const content of ['Say no.', 'Say yes.']) await create(app, 'plain', { content })
    const plain = '/objs/plain/aliases/production'
    await app.post(`${plain}/move`, { project_id: project, digest: 'v0' })
    const shadow = { version: 'v1', share: 1, scorer }
    await app.send('PUT', `${plain}/shadow`, { project_id: project, shadow })
    const generate = { model: 'plain@production', prompt: 'Well?', stream: false }
    assert.equal((await infer('/api/generate', generate)).status, 200)
    await until('it was skipped', async () => {
      const { skipped, reasons } = (await app.get(`${plain}/shadow${query}`)).json
      return skipped === 1 && reasons[0].reason === 'other_api'
    })
  })

  test('what is not asked is counted with its reason, and the queue is bounded', async (t) => {
    const { app, infer, set, read, ask, settled } = await open(t, { sweep: false })
    await set()
    const prompt = { id: 'support', variables: { one: 'no', other: 'yes' } }
    const { id, output } = (await infer('/v1/responses', { input: 'Well?', prompt })).json
    // What only the client may open.
    for (const continued of [
      { input: 'And now?', previous_response_id: id },
      { input: [{ type: 'item_reference', id: output[0].id }] },
      { input: [{ id: output[0].id }] },
    ])
      assert.equal((await infer('/v1/responses', { ...continued, prompt })).status, 200)
    // Of no meaning to chats.
    await ask('no', 'yes', { conversation: 'c1' })
    await ask('no', 'yes', { messages: [{ role: 'user', content: 'x'.repeat(300_000) }] })
    await ask('no', 'yes', { store: false })
    for (let n = 0; n < 101; n++) await ask('no', 'yes')
    const reasonsNow = async () => {
      const { reasons, waiting } = (await read()).json
      return [
        waiting,
        Object.fromEntries(reasons.map((own: { reason: string; count: number }) => [own.reason, own.count])),
      ]
    }
    const expected = [100, { request_too_large: 1, queue_full: 3, stored_conversation: 3 }]
    await until('all are recorded', async () => JSON.stringify(await reasonsNow()).includes('"queue_full":3'))
    assert.deepEqual(await reasonsNow(), expected)
    // It ends while they wait.
    await app.send('DELETE', `${url}${query}`)
    const { skipped, waiting } = await settled()
    assert.deepEqual([skipped, waiting], [107, 0])
  })

  test('a project that redacts has no pairs, and a version that cannot be filled fails', async (t) => {
    const { app, set, read, ask, move } = await open(t)
    await create(app, 'support', { content: 'Say {one}, {other} and {more}.' })
    await set({ version: 'latest' })
    await ask('no', 'yes')
    await until('it failed', async () => (await read()).json.failed === 1)
    const { reasons, verdict } = (await read()).json
    assert.equal(reasons[0].state, 'failed')
    assert.match(verdict, /; 1 more failed\.$/)
    await move({ digest: 'v0' })
    await set()
    const put = await app.send('PUT', `/projects/${project}/redaction`, { kinds: ['email'] }, keys.root)
    assert.equal(put.status, 200, put.text)
    await ask('no', 'yes')
    await until('it was skipped', async () => (await read()).json.skipped === 1)
    assert.equal((await read()).json.reasons[0].reason, 'project_redacts')
  })
})
