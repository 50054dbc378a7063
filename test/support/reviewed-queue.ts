import assert from 'node:assert/strict'
import type { Database } from '../../src/storage/database.ts'
import { createAnnotators, type Person } from './annotators.ts'
import { type Answer, openApp } from './app.ts'
import { completeOf } from './calls.ts'
import { createSpec } from './feedback.ts'

/** The settings of the worked example. */
export const worked = {
  annotators: 2,
  reviewers: ['anna', 'ben', 'eva'],
  blind: true,
  adjudication: 'on_disagreement',
  adjudicators: ['kim'],
  tolerance: { tone: 1 },
}

interface Ending {
  after(end: () => Promise<void>): void
}

/** A queue of calls with the question `tone`, and annotators with keys of their own; alice is an editor. */
export async function openReviewedQueue(
  t: Ending,
  database: Database,
  size: number,
  settings: object = worked,
  schema: object = { type: 'number' },
) {
  const { post, get, send } = await openApp(t, { database })
  const project_id = 'acme/tone'
  const key = await createAnnotators({ post }, project_id)
  const calls = Array.from({ length: size }, () => completeOf({ project_id }))
  assert.equal((await post(`/v2/${project_id}/calls/complete`, { batch: calls })).status, 200)
  const ref = await createSpec(post, 'tone', schema, project_id)
  const queue = await post('/annotation_queues', {
    project_id,
    name: 'tone',
    scorer_refs: [ref],
    ...settings,
  })
  assert.equal(queue.status, 200, queue.text)
  const url = `/annotation_queues/${queue.json.id}`
  const callIds = calls.map(({ id }) => id as string)
  await post(`${url}/items`, { project_id, call_ids: callIds })
  const listed = await post(`${url}/items/query`, { project_id })
  const items = listed.json.items.map(({ id }: { id: string }) => id) as string[]
  const about = (n: number) => ({ project_id, weave_ref: `weave:///${project_id}/call/${callIds[n]}` })

  const answer = (person: Person, n: number, value: unknown): Promise<Answer> =>
    post(
      '/feedback/create',
      {
        ...about(n),
        feedback_type: 'wandb.annotation.tone',
        annotation_ref: ref,
        queue_id: queue.json.id,
        payload: { value },
      },
      key(person),
    )
  const set = (person: Person, n: number, state: string): Promise<Answer> =>
    post(`${url}/items/${items[n]}/progress`, { project_id, annotation_state: state }, key(person))

  return {
    ...{ post, get, send, key, project_id, ref, url, items, callIds, about, answer, set },
    queueId: queue.json.id as string,
    /** Answers and completes; returns the review. */
    async finish(person: Person, n: number, value: unknown) {
      const given = await answer(person, n, value)
      assert.equal(given.status, 200, given.text)
      const done = await set(person, n, 'completed')
      assert.equal(done.status, 200, done.text)
      return done.json.item.review
    },
    /** The place of the item that is handed out, or null. */
    async next(person: Person, fields: object = {}) {
      const { status, json, text } = await post(`${url}/next`, { project_id, ...fields }, key(person))
      assert.equal(status, 200, text)
      return json.item === null ? null : items.indexOf(json.item.id)
    },
    async review(n: number) {
      const { json } = await post(`${url}/items/query`, { project_id, filter: { id: items[n] } })
      return json.items[0].review
    },
    change: (settings: object) => send('PUT', url, { project_id, ...settings }),
  }
}
