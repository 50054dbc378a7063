import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keys } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { url as calibrations, withDecidedCalls } from './decided-calls.ts'

const project_id = project

test('the truth is what an adjudicator decided, else the strict majority; people are compared without it', async (t) => {
  const opened = await withDecidedCalls(t, 4)
  const { post, decided } = opened
  const ids = decided.map(({ id }) => id)
  const spec = (await post('/obj/read', { project_id, object_id: 'verdict', digest: 'latest' })).json.obj
  const annotation_ref = `weave:///${project}/object/verdict:${spec.digest}`
  const settings = { annotators: 2, adjudication: 'on_disagreement', adjudicators: ['kim'] }
  const queue = (
    await post('/annotation_queues', { project_id, name: 'q', scorer_refs: [annotation_ref], ...settings })
  ).json.id
  await post(`/annotation_queues/${queue}/items`, { project_id, call_ids: ids })
  const { items } = (await post(`/annotation_queues/${queue}/items/query`, { project_id })).json
  const personal = new Map<string, string>()
  for (const name of ['anna', 'ben', 'kim']) {
    const grants = [{ scope: project, role: 'annotator' }]
    personal.set(name, (await post('/users', { name, grants }, keys.root)).json.key.key)
  }
  const finish = async (name: string, n: number, value: boolean, state = 'completed') => {
    const key = personal.get(name) as string
    const answer = {
      ...{ project_id, queue_id: queue, annotation_ref, payload: { value } },
      weave_ref: `weave:///${project}/call/${ids[n]}`,
      feedback_type: 'wandb.annotation.verdict',
    }
    assert.equal((await post('/feedback/create', answer, key)).status, 200)
    const { id } = items.find(({ call_id }: { call_id: string }) => call_id === ids[n])
    const progress = `/annotation_queues/${queue}/items/${id}/progress`
    const done = await post(progress, { project_id, annotation_state: state }, key)
    assert.equal(done.status, 200, done.text)
  }
  const asked = { scorer: 'manners', question: 'rude', labels: { annotation: 'verdict' } }
  const agreement = async () => {
    const { status, json, text } = await post(`${calibrations}/agreement`, asked)
    assert.equal(status, 200, text)
    const said = (human: boolean) =>
      json.confusion
        .filter((cell: { human: boolean }) => cell.human === human)
        .flatMap((cell: { call_ids: string[] }) => cell.call_ids)
        .toSorted()
    return {
      labels: json.labels,
      disputed: json.disputed,
      humans: json.humans,
      yes: said(true),
      no: said(false),
    }
  }
  // Agreed, disputed, and one that a reviewer has skipped after answering.
  await finish('anna', 0, true)
  await finish('ben', 0, true)
  await finish('anna', 1, true)
  await finish('ben', 1, false)
  await finish('anna', 2, false)
  await finish('ben', 2, true, 'skipped')
  const people = { calls: 1, raters: 2, kappa: null, ac1: null, alpha: null }
  assert.deepEqual(await agreement(), {
    ...{ labels: 2, disputed: 1, humans: people },
    ...{ yes: [ids[0]], no: [ids[2]] },
  })
  await finish('kim', 1, false, 'in_progress')
  assert.equal((await agreement()).disputed, 1, 'a decision that is not made yet does not count')
  await finish('kim', 1, false)
  assert.deepEqual(await agreement(), {
    ...{ labels: 3, disputed: 0, humans: { ...people, calls: 2 } },
    ...{ yes: [ids[0]], no: [ids[1], ids[2]].toSorted() },
  })
})
