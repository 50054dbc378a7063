import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { keys, openApp } from '../../support/app.ts'
import { project as project_id } from '../../support/calls.ts'
import { createQueue, fillQueue, setItemState } from '../../support/queues.ts'

const { post, send, get } = await openApp({ after })

interface Fired {
  data: { queue: object }
}

test('a rule on a queue fires when so many items wait, and the trial says when it would have', async () => {
  const { queueId, callIds, itemIds } = await fillQueue(post, 3)
  const queue = { queue_id: queueId, waiting: 3 }
  const { status, json, text } = await post('/alert_rules', { project_id, name: 'Many', on: 'queue', queue })
  assert.equal(status, 200, text)
  assert.deepEqual([json.rule.queue, json.rule.cooldown_seconds], [queue, 0])
  const rule_id = json.rule.id
  const fired = async () =>
    (await post('/alert_events/query', { project_id, rule_id })).json.events.map(
      ({ data }: Fired) => data.queue,
    )
  const tried = async (waiting: number, of: string | null = queueId) => {
    const found = await post('/alert_rules/try', {
      ...{ project_id, on: 'queue', queue: { queue_id: of, waiting } },
    })
    const { matches, is_complete, examples } = found.json
    assert.equal(is_complete, true, found.text)
    assert.equal(examples.length, matches)
    return examples.map(({ subject, value }: { subject: string; value: number }) => [subject, value])
  }
  // It was full before the rule was made.
  assert.deepEqual([await fired(), await tried(3)], [[], [[`queue ${queueId}`, 3]]])
  for (const item of itemIds.slice(0, 2)) await setItemState(post, queueId, item, 'completed')
  const other = await createQueue(post)
  const add = (to: string, call_ids: string[]) =>
    post(`/annotation_queues/${to}/items`, { project_id, call_ids })
  await add(other, callIds)
  assert.deepEqual(await fired(), [])
  const reopen = (item = '') => post(`/annotation_queues/${queueId}/items/${item}/reopen`, { project_id })
  for (const item of itemIds.slice(0, 2)) assert.equal((await reopen(item)).status, 200)
  assert.deepEqual(await fired(), [{ id: queueId, name: 'Hard questions', waiting: 3, bound: 3 }])
  assert.deepEqual(await tried(4), [])
  assert.equal((await tried(3, null)).length, 2)

  const changed = await send('PUT', `/alert_rules/${rule_id}`, { project_id, queue: { waiting: 2 } })
  assert.deepEqual(changed.json.rule.queue, { queue_id: null, waiting: 2 })
  const { rules } = (await get(`/alert_rules?project_id=${project_id}`)).json
  assert.deepEqual(rules[0].queue, { queue_id: null, waiting: 2 })
})

test('a trial walks back through what was added and finished', async () => {
  const own = 'acme/walked'
  const { queueId, itemIds } = await fillQueue(post, 2, { project_id: own })
  const progress = (item = '') =>
    post(`/annotation_queues/${queueId}/items/${item}/progress`, {
      ...{ project_id: own, annotation_state: 'skipped' },
    })
  for (const item of itemIds) assert.equal((await progress(item)).status, 200)
  const { json } = await post('/alert_rules/try', {
    ...{ project_id: own, on: 'queue', queue: { waiting: 1 }, cooldown_seconds: 60 },
  })
  assert.deepEqual([json.matches, json.messages, json.examples[0].value], [1, 1, 2])
  const emptied = { project_id: own, on: 'queue', queue: { waiting: 0 } }
  const tried = await post('/alert_rules/try', emptied)
  assert.deepEqual([tried.json.matches, tried.json.examples[0].value], [1, 0])
  const theirs = { project_id: 'globex/qa', on: 'queue', queue: { waiting: 1 } }
  assert.equal((await post('/alert_rules/try', theirs, keys.bob)).json.matches, 0)
})

test('a rule on a queue tells that nothing waits any more', async () => {
  const own = 'acme/emptied'
  const { queueId, itemIds } = await fillQueue(post, 2, { project_id: own })
  const { json } = await post('/alert_rules', {
    ...{ project_id: own, name: 'Done', on: 'queue', queue: { waiting: 0 } },
  })
  assert.deepEqual(json.rule.queue, { queue_id: null, waiting: 0 })
  const fired = async () =>
    (await post('/alert_events/query', { project_id: own, rule_id: json.rule.id })).json.events.map(
      ({ data }: Fired) => data.queue,
    )
  for (const item of itemIds) {
    assert.deepEqual(await fired(), [])
    const progress = { project_id: own, annotation_state: 'completed' }
    await post(`/annotation_queues/${queueId}/items/${item}/progress`, progress)
  }
  assert.deepEqual(await fired(), [{ id: queueId, name: 'Hard questions', waiting: 0, bound: 0 }])
})

test('a queue of another project, or none, is refused', async () => {
  const { queueId } = await fillQueue(post, 1, { project_id: 'acme/elsewhere' })
  for (const queue_id of [queueId, 'none']) {
    const rule = { project_id, on: 'queue', queue: { queue_id, waiting: 1 } }
    for (const answer of [
      await post('/alert_rules', { ...rule, name: 'x' }),
      await post('/alert_rules/try', rule),
    ]) {
      assert.deepEqual([answer.status, answer.json.code], [404, 'annotation_queue_not_found'])
    }
  }
})
