import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { keys, openApp } from '../../support/app.ts'
import { startPart } from '../../support/call-parts.ts'
import { completeOf } from '../../support/calls.ts'
import { allFeedback, giveFeedback } from '../../support/feedback.ts'

const { post, database } = await openApp({ after })

const refOf = (project_id: string, thread: string) =>
  `weave:///${project_id}/thread/${encodeURIComponent(thread)}`

/** A turn for each of these names of conversations; returns their ids. */
async function turnsOf(project_id: string, threads: readonly string[], key: string = keys.alice) {
  const batch = threads.map((thread_id, second) => {
    const started_at = new Date(Date.UTC(2026, 0, 2, 3, 0, second)).toISOString()
    return completeOf({ project_id, thread_id, started_at, ended_at: started_at })
  })
  const { status, text } = await post(`/v2/${project_id}/calls/complete`, { batch }, key)
  assert.equal(status, 200, text)
  return batch.map(({ id }) => id)
}

const note = (text: string) => ({ feedback_type: 'wandb.note.1', payload: { note: text } })
const thumb = (emoji: string) => ({ feedback_type: 'wandb.reaction.1', payload: { emoji } })

/** What is said of a conversation. */
const say = (project_id: string, thread: string, content: object, key: string = keys.alice) =>
  giveFeedback(post, { project_id, svc_ref: refOf(project_id, thread), ...content }, key)

async function threadsOf(project_id: string, body: object = {}, key: string = keys.alice) {
  const asked = { project_id, include_details: true, ...body }
  const { status, text } = await post('/threads/stream_query', asked, key)
  assert.equal(status, 200, text)
  const lines = text.split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as { thread_id: string; feedback: object[] })
}

const saidOf = async (project_id: string, thread_id: string, key: string = keys.alice) =>
  (await threadsOf(project_id, { filter: { thread_ids: [thread_id] } }, key))[0]?.feedback

const $thumb = { $getField: 'feedback.[wandb.reaction.1].payload.emoji' }
const isThumb = (emoji: string) => ({ $expr: { $eq: [$thumb, { $literal: emoji }] } })

test('what is said of a conversation counts with what is said of its turns', async () => {
  const project_id = 'acme/counted'
  const thread = 'Besuch 7/ä & mehr'
  const [first = ''] = await turnsOf(project_id, [thread, thread, 'other'])
  await giveFeedback(post, { project_id, svc_ref: `weave:///${project_id}/call/${first}`, ...thumb('👍') })
  await say(project_id, thread, thumb('👍'))
  await say(project_id, thread, note('Too long.'))
  assert.deepEqual(await saidOf(project_id, thread), [
    { feedback_type: 'wandb.note.1', emoji: null, count: 1 },
    { feedback_type: 'wandb.reaction.1', emoji: '👍', count: 2 },
  ])
  assert.deepEqual(await saidOf(project_id, 'other'), [])
  // The record of a turn has only its own.
  const { text } = await post('/calls/stream_query', {
    ...{ project_id, filter: { call_ids: [first] }, include_feedback: true },
  })
  assert.equal(JSON.parse(text).summary.weave.feedback.length, 1)
})

test('the list is filtered by what is said of a conversation or of one of its calls', async () => {
  const project_id = 'acme/filtered'
  const [, , third = ''] = await turnsOf(project_id, ['a', 'b', 'c'])
  const ofTurn = { project_id, svc_ref: `weave:///${project_id}/call/${third}` }
  await say(project_id, 'a', thumb('👎'))
  await say(project_id, 'c', thumb('👍'))
  await giveFeedback(post, { ...ofTurn, ...thumb('👎') })
  const found = async (emoji: string) =>
    (await threadsOf(project_id, { query: isThumb(emoji) })).map(({ thread_id }) => thread_id).sort()
  assert.deepEqual(await found('👎'), ['a', 'c'])
  assert.deepEqual(await found('👍'), ['c'])
  assert.deepEqual(await found('🎉'), [])
  // A query of calls asks for feedback of calls.
  const { text } = await post('/calls/stream_query', { project_id, query: isThumb('👍') })
  assert.equal(text, '')
})

test('feedback of a conversation is queried by its reference, and purged', async () => {
  const project_id = 'acme/purged'
  await turnsOf(project_id, ['a'])
  const id = await say(project_id, 'a', note('Fine.'))
  await say(project_id, 'b', note('Before its first call.'))
  const query = { $expr: { $eq: [{ $getField: 'weave_ref' }, { $literal: refOf(project_id, 'a') }] } }
  const { json } = await post('/feedback/query', { project_id, query })
  assert.deepEqual(
    json.result.map((record: { id: string; payload: object }) => [record.id, record.payload]),
    [[id, { note: 'Fine.' }]],
  )
  const named = { $expr: { $eq: [{ $getField: 'id' }, { $literal: id }] } }
  assert.equal((await post('/feedback/purge', { project_id, query: named })).status, 200)
  assert.deepEqual(await saidOf(project_id, 'a'), [])
  await turnsOf(project_id, ['b'])
  assert.equal((await saidOf(project_id, 'b'))?.length, 1)
})

test('it is counted where feedback is aggregated, and shown with the chat and the spans', async () => {
  const project_id = 'acme/aggregated'
  const [call = ''] = await turnsOf(project_id, ['a'])
  const tagged = (...tags: string[]) => ({ feedback_type: 'tags', payload: { tags } })
  await giveFeedback(post, { project_id, svc_ref: `weave:///${project_id}/call/${call}`, ...tagged('short') })
  await say(project_id, 'a', tagged('kind'))
  const tagsOf = async (...span_types: string[]) => {
    const body = { project_id, after_ms: Date.now() - 60_000, span_types }
    const { json, text } = await post('/feedback/aggregate', body)
    return json.buckets?.[0]?.tag_counts ?? text
  }
  assert.deepEqual(await tagsOf('agent_turn'), { short: 1 })
  assert.deepEqual(await tagsOf('agent_conversation'), { kind: 1 })
  assert.deepEqual(await tagsOf('agent_turn', 'agent_conversation'), { short: 1, kind: 1 })
  const asked = { project_id, conversation_id: 'a' }
  const chat = (await post('/agents/conversations/chat', { ...asked, include_feedback: true })).json
  const kind = { trace_id: null, feedback_type: 'tags', tags: ['kind'], ratings: [] }
  assert.deepEqual(chat.feedback, [kind])
  assert.deepEqual(
    chat.turns[0].feedback.map(({ tags }: { tags: string[] }) => tags),
    [['short']],
  )
  assert.deepEqual((await post('/agents/conversations/chat', asked)).json.feedback, [])
  const spans = await post('/agents/conversations/spans', { project_id, conversation_ids: ['a'] })
  const feedback: { trace_id: string | null; tags: string[] }[] = spans.json.conversations[0].spans_feedback
  assert.deepEqual(
    feedback.map(({ trace_id, tags }) => [trace_id === null, tags]),
    [
      [false, ['short']],
      [true, ['kind']],
    ],
  )
})

test('a conversation of another project with the same name has none of it', async () => {
  const [own, other, theirs] = ['acme/own', 'acme/other', 'globex/own']
  await turnsOf(own, ['a'])
  await turnsOf(other, ['a'])
  await turnsOf(theirs, ['a'], keys.bob)
  await say(own, 'a', note('Mine.'))
  // It names a conversation of another tenant, and is no more than a text there.
  await giveFeedback(post, { project_id: own, svc_ref: refOf(theirs, 'a'), ...note('Yours.') })
  const refused = await post('/feedback/create', {
    ...{ project_id: theirs, svc_ref: refOf(theirs, 'a'), ...note('Yours.') },
  })
  assert.equal(refused.status, 403)
  assert.deepEqual(await saidOf(own, 'a'), [{ feedback_type: 'wandb.note.1', emoji: null, count: 1 }])
  assert.deepEqual(await saidOf(other, 'a'), [])
  assert.deepEqual(await saidOf(theirs, 'a', keys.bob), [])
  assert.deepEqual(await allFeedback(post, theirs, keys.bob), [])
  const asked = { project_id: theirs, conversation_id: 'a', include_feedback: true }
  assert.deepEqual((await post('/agents/conversations/chat', asked, keys.bob)).json.feedback, [])
})

test('when its last call is deleted, a conversation that takes its name begins without feedback', async () => {
  const project_id = 'acme/deleted'
  const [first = '', second = ''] = await turnsOf(project_id, ['a', 'a', 'b'])
  await say(project_id, 'a', note('Of the first.'))
  await say(project_id, 'b', note('Of another.'))
  const remove = (id: string) => post('/calls/delete', { project_id, call_ids: [id] })
  assert.equal((await remove(first)).status, 200)
  assert.equal((await saidOf(project_id, 'a'))?.length, 1)
  assert.equal((await remove(second)).status, 200)
  await turnsOf(project_id, ['a'])
  assert.deepEqual(await saidOf(project_id, 'a'), [])
  assert.deepEqual(
    (await allFeedback(post, project_id)).map(({ payload }) => payload),
    [{ note: 'Of another.' }],
  )
})

test('when its last turn has expired, its feedback is removed with the content', async () => {
  const project_id = 'acme/expired'
  const now = Date.now() * 1000
  await database.write('upsertCalls', [
    startPart(project_id, 'brief', { thread_id: 'a', expire_at: now + 1e6 }),
    startPart(project_id, 'long', { thread_id: 'b', expire_at: now + 1e9 }),
  ])
  await say(project_id, 'a', note('Of the brief one.'))
  await say(project_id, 'b', note('Of the long one.'))
  const step = { now: now + 2e6, forgetBefore: 0, limit: 100, bytes: 1e9 }
  while ((await database.write('sweepCalls', step)) > 0);
  assert.deepEqual(
    (await allFeedback(post, project_id)).map(({ payload }) => payload),
    [{ note: 'Of the long one.' }],
  )
})
