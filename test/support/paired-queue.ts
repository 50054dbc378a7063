import assert from 'node:assert/strict'
import type { Database } from '../../src/storage/database.ts'
import { createAnnotators, type Person } from './annotators.ts'
import { type Answer, openApp } from './app.ts'
import { completeOf } from './calls.ts'

interface Ending {
  after(end: () => Promise<void>): void
}

/** A call for each of these models, of which a queue gets pairs. The people are annotators; alice is an editor. */
export async function openPairedQueue(
  t: Ending,
  database: Database,
  models: readonly string[],
  settings: object = {},
) {
  const { post, send } = await openApp(t, { database })
  const project_id = 'acme/pairs'
  const key = await createAnnotators({ post }, project_id)
  const calls = models.map((model, n) =>
    completeOf({
      project_id,
      op_name: `weave:///${project_id}/op/answer:v1`,
      attributes: { heddle: { prompt: { id: 'answer', version: `v${n % 2}` } } },
      summary: { usage: { [model]: { requests: 1 } } },
    }),
  )
  assert.equal((await post(`/v2/${project_id}/calls/complete`, { batch: calls })).status, 200)
  const made = await post('/annotation_queues', { project_id, name: 'pairs', scorer_refs: [], ...settings })
  assert.equal(made.status, 200, made.text)
  const queue_id = made.json.id as string
  const url = `/annotation_queues/${queue_id}`
  const ids = calls.map(({ id }) => id as string)
  const id = (n: number) => ids[n] as string
  const pairOf = ([first, other]: readonly [number, number]) => ({ call_ids: [id(first), id(other)] })

  const itemOf = async (first: number, other: number) => {
    const { json } = await post(`${url}/items/query`, { project_id, include_position: true })
    type Item = Record<string, unknown> & { id: string; call_id: string; other_call_id: string }
    const found = (json.items as Item[]).find(
      (item) => item.call_id === id(first) && item.other_call_id === id(other),
    )
    assert.ok(found)
    return found
  }
  const prefer = (
    person: Person,
    [first, other]: readonly [number, number],
    preferred: number | null,
    fields: object = {},
  ): Promise<Answer> => {
    const payload = { preferred: preferred === null ? null : id(preferred), other: id(other) }
    const weave_ref = `weave:///${project_id}/call/${id(first)}`
    const rest = { project_id, queue_id, weave_ref, feedback_type: 'heddle.preference' }
    return post('/feedback/create', { ...rest, payload, ...fields }, key(person))
  }

  return {
    ...{ post, send, key, project_id, queue_id, url, ids, id, itemOf, prefer },
    add: (pairs: readonly (readonly [number, number])[], fields: object = {}) =>
      post(`${url}/items`, { project_id, pairs: pairs.map(pairOf), ...fields }),
    /** Says which is better and completes; returns the review. */
    async finish(person: Person, pair: readonly [number, number], preferred: number | null) {
      const answer = await prefer(person, pair, preferred)
      assert.equal(answer.status, 200, answer.text)
      const item = await itemOf(...pair)
      const body = { project_id, annotation_state: 'completed' }
      const done = await post(`${url}/items/${item.id}/progress`, body, key(person))
      assert.equal(done.status, 200, done.text)
      return done.json.item.review
    },
    async next(person: Person) {
      const { status, json, text } = await post(`${url}/next`, { project_id }, key(person))
      assert.equal(status, 200, text)
      return json.item as Record<string, unknown> | null
    },
  }
}
