import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Answer } from '../../support/app.ts'
import { keys } from '../../support/app.ts'
import { allDrivers } from '../../support/drivers.ts'
import { openReviewedQueue } from '../../support/reviewed-queue.ts'

const value = 4711.25
const field = 'feedback.[wandb.annotation.tone].payload.value'

type Opened = Awaited<ReturnType<typeof openReviewedQueue>>

/** Whether a count beside a list was ready in its time: on a busy machine it may not be. */
const hasCountedAll = /,"is_exact":\w+/

/** Every way to read feedback that those below an editor have, for the first call of the queue. */
function readings({ project_id, callIds, url, items }: Opened) {
  const [id = ''] = callIds
  const hour = 3_600_000
  const [after_ms, before_ms] = [Date.now() - hour, Date.now() + 24 * hour]
  const [start, end] = [new Date(after_ms).toISOString(), new Date(before_ms).toISOString()]
  const query = { $expr: { $gt: [{ $getField: field }, { $literal: 4000 }] } }
  const metrics = [{ json_path: 'value', value_type: 'numeric', aggregations: ['count', 'max'] }]
  const tool = { name: 'get_call', arguments: { project: project_id, id, section: 'feedback' } }
  return {
    forAnnotators: [
      ['/feedback/query', { project_id }],
      ['/feedback/query', { project_id, fields: ['count(*)'] }],
      [
        '/feedback/query',
        {
          project_id,
          fields: ['id'],
          query: { $expr: { $eq: [{ $getField: 'payload.value' }, { $literal: value }] } },
        },
      ],
      ['/call/read', { project_id, id }],
      [`${url}/items/query`, { project_id, filter: { id: items[1] } }],
    ],
    forViewers: [
      ['/calls/stream_query', { project_id, include_feedback: true }],
      ['/calls/stream_query', { project_id, query }],
      ['/calls/stream_query', { project_id, sort_by: [{ field, direction: 'asc' }] }],
      ['/calls/query_stats', { project_id, query }],
      ['/feedback/aggregate', { project_id, after_ms, before_ms }],
      ['/feedback/stats', { project_id, start, end, feedback_type: 'wandb.annotation.tone', metrics }],
      ['/feedback/payload_schema', { project_id, start, end }],
      ['/views/calls', { project_id, query }],
      ['/views/calls', { project_id }],
      ['/views/facets', { project_id, fields: ['feedback'] }],
      ['/views/feedback_buckets', { project_id, step_seconds: 86_400, after: start, before: end }],
      ['/views/trace', { project_id, trace_id: 'TRACE' }],
      ['/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: tool }],
    ],
  } as const
}

for (const driver of allDrivers()) {
  describe(`a blind queue, with ${driver.name}`, () => {
    before(driver.start)
    after(driver.stop)

    test('whatever is read is as if others had not answered, until the item is finished', async (t) => {
      const queue = await openReviewedQueue(t, await driver.open(t), 2)
      const { post, send, key, project_id } = queue
      const made = await post(
        '/users',
        {
          name: 'vera',
          grants: [
            { scope: project_id, role: 'viewer' },
            { scope: 'globex', role: 'editor' },
          ],
        },
        keys.root,
      )
      const vera = made.json.key.key
      // Who may read everything and review is still blind.
      const both = {
        grants: [
          { scope: 'acme', role: 'viewer' },
          { scope: project_id, role: 'annotator' },
        ],
      }
      assert.equal((await send('PUT', '/users/ben/grants', both, keys.root)).status, 200)
      const { forAnnotators, forViewers } = readings(queue)
      const { json: call } = await post('/call/read', { project_id, id: queue.callIds[0] })
      const bodyOf = (body: object) => JSON.parse(JSON.stringify(body).replace('TRACE', call.call.trace_id))
      const all = [...forAnnotators, ...forViewers]
      const readers = [
        { as: key('eva'), routes: forAnnotators },
        { as: key('ben'), routes: all },
        { as: vera, routes: all },
      ]
      const read = async (as: string, routes: readonly (readonly [string, object])[]): Promise<Answer[]> => {
        const answers: Answer[] = []
        for (const [url, body] of routes) {
          const answer = await post(url, bodyOf(body), as)
          assert.equal(answer.status, 200, `${url} ${answer.text}`)
          answers.push(answer)
        }
        return answers
      }
      const textsOf = async (as: string, routes: readonly (readonly [string, object])[]) =>
        (await read(as, routes)).map(({ text }, n) => [routes[n], text.replace(hasCountedAll, '')])
      const earlier = []
      for (const { as, routes } of readers) earlier.push(await textsOf(as, routes))
      const seenBefore = await textsOf(key('alice'), all)

      await queue.finish('anna', 0, value)
      for (const [n, { as, routes }] of readers.entries())
        assert.deepEqual(await textsOf(as, routes), earlier[n])
      const seen = await textsOf(key('alice'), all)
      const same = seen
        .filter(([, text], n) => text === seenBefore[n]?.[1])
        .map(([route]) => route as readonly [string, object])
        // Whether the order of two calls changes is up to their ids.
        .filter(([, body]) => !('sort_by' in body))
      // These have nothing of feedback, or only the state of the other item.
      assert.deepEqual(same, [forAnnotators[3], forAnnotators[4]])

      const own = (as: string) =>
        post('/feedback/query', { project_id, fields: ['payload.value', 'creator'] }, as)
      assert.equal((await own(key('kim'))).json.result.length, 1, 'an adjudicator sees what it decides')
      await queue.finish('ben', 0, 1)
      assert.deepEqual(await textsOf(key('ben'), all), await textsOf(key('alice'), all))
      assert.equal((await own(key('eva'))).json.result.length, 0)
    })

    test('an answer stands once its reviewer may have seen those of others', async (t) => {
      const queue = await openReviewedQueue(t, await driver.open(t), 2, { annotators: 3, blind: true })
      const { post, key, project_id, answer, finish } = queue
      const reopen = (person: 'anna' | 'ben' | 'alice', n: number) =>
        post(`${queue.url}/items/${queue.items[n]}/reopen`, { project_id }, key(person))
      const code = ({ status, json }: Answer) => (status === 200 ? 200 : json.code)
      await finish('anna', 0, 1)
      assert.equal(code(await reopen('anna', 0)), 200, 'nobody else has answered')
      await finish('ben', 0, 5)
      await finish('anna', 0, 2)
      const conflict = 'annotation_state_conflict'
      assert.equal(code(await reopen('anna', 0)), conflict)
      assert.equal(code(await answer('anna', 0, 5)), conflict)
      const { json } = await post(
        '/feedback/query',
        { project_id, fields: ['id', 'svc_user_id'] },
        key('anna'),
      )
      const own = json.result.filter((row: { svc_user_id: string }) => row.svc_user_id === 'anna')
      const [{ id }] = own
      const query = { $expr: { $eq: [{ $getField: 'id' }, { $literal: id }] } }
      assert.equal(code(await post('/feedback/purge', { project_id, query }, key('anna'))), conflict)
      const note = { ...queue.about(0), feedback_type: 'wandb.note.1', payload: { note: 'odd' } }
      const replacing = { ...note, feedback_id: id }
      assert.equal(code(await post('/feedback/replace', replacing, key('anna'))), conflict)
      assert.equal(code(await post('/feedback/create', note, key('anna'))), 200)
      assert.equal(code(await answer('anna', 1, 5)), 200, 'another item')
      await finish('alice', 0, 4)
      assert.equal(code(await reopen('alice', 0)), 200, 'an editor sees all answers anyway')
      assert.equal((await queue.send('DELETE', '/users/anna', undefined, keys.root)).status, 200)
      const again = { name: 'anna', grants: [{ scope: project_id, role: 'annotator' }] }
      const later = (await post('/users', again, keys.root)).json.key.key
      const seen = (await post('/feedback/query', { project_id, fields: ['svc_user_id'] }, later)).json.result
      assert.ok(!JSON.stringify(seen).includes('ben'), 'a later user of the name has completed nothing')
    })

    test('notes, other feedback and queues that are not blind are for everybody', async (t) => {
      const queue = await openReviewedQueue(t, await driver.open(t), 1)
      const { post, key, project_id } = queue
      const note = { ...queue.about(0), feedback_type: 'wandb.note.1', payload: { note: 'odd' } }
      await post('/feedback/create', { ...note, queue_id: queue.queueId }, key('anna'))
      await queue.answer('anna', 0, 1)
      const seen = async () => (await post('/feedback/query', { project_id }, key('eva'))).json.result.length
      assert.equal(await seen(), 1)
      await queue.change({ blind: false })
      assert.equal(await seen(), 2)
    })

    test('a name inside another name is no adjudicator', async (t) => {
      const settings = {
        annotators: 1,
        blind: true,
        adjudication: 'always',
        adjudicators: ['x,"ben', 'eva2', 'ben"'],
      }
      const queue = await openReviewedQueue(t, await driver.open(t), 1, settings)
      await queue.finish('anna', 0, 1)
      for (const person of ['ben', 'eva'] as const) {
        const { json } = await queue.post(
          '/feedback/query',
          { project_id: queue.project_id },
          queue.key(person),
        )
        assert.deepEqual(json.result, [])
      }
    })
  })
}
