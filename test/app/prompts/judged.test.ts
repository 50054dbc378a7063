import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { storedCalls } from '../../support/agents.ts'
import { openApp } from '../../support/app.ts'
import { createSpec, giveFeedback } from '../../support/feedback.ts'

const { post } = await openApp({ after })
const after_ms = Date.now() - 60_000

test('what was said about calls is grouped by the version of the prompt that answered them', async () => {
  const asked = (id: string, version?: string) => ({
    id: randomUUID(),
    ...(version && { attributes: { heddle: { prompt: { id, version } } } }),
  })
  const calls = [asked('support', 'one'), asked('support', 'two'), asked('other', 'two'), asked('none')]
  const project_id = await storedCalls(post, 'judged-versions', calls)
  const [one, two, other, bare] = calls.map(({ id }) => `weave:///${project_id}/call/${id}`)
  const give = (svc_ref: string | undefined, payload: object, fields: object = {}) =>
    giveFeedback(post, { project_id, svc_ref, payload, ...fields })
  const runnable_ref = `weave:///${project_id}/object/tone:v1`
  const tone = { feedback_type: 'wandb.runnable.tone', runnable_ref }
  const annotation_ref = await createSpec(post, 'polite', { type: 'boolean' }, project_id)
  const polite = { feedback_type: 'wandb.annotation.polite', annotation_ref }
  const reaction = { feedback_type: 'wandb.reaction.1' }
  await give(one, { output: 0.5 }, tone)
  await give(one, { output: 1 }, tone)
  await give(one, { value: false }, polite)
  await give(one, { emoji: '👍🏽' }, reaction)
  await give(one, { emoji: '👍' }, reaction)
  await give(two, { output: 0 }, tone)
  await give(two, { value: 7 }, { ...polite, feedback_type: 'other.polite', annotation_ref: null })
  await give(other, { output: 0.9 }, tone)
  await give(bare, { output: 0.9 }, tone)

  const body = { project_id, after_ms, group_by: ['span_prompt_version', 'scorer_id'] }
  const { status, json, text } = await post('/feedback/aggregate', { ...body, span_prompt_ids: ['support'] })
  assert.equal(status, 200, text)
  const shown = json.buckets.map((bucket: Record<string, unknown>) => {
    const { group, total_count, reaction_counts, rating_counts, rating_sums } = bucket
    return { ...(group as object), total_count, reaction_counts, rating_counts, rating_sums }
  })
  const none = { reaction_counts: {}, rating_counts: {}, rating_sums: {} }
  const of = (span_prompt_version: string, scorer_id: string) => ({ span_prompt_version, scorer_id })
  assert.deepEqual(shown, [
    {
      ...{ ...of('one', runnable_ref), total_count: 2, ...none },
      ...{ rating_counts: { _rating_: 2 }, rating_sums: { _rating_: 1.5 } },
    },
    {
      ...{ ...of('one', ''), total_count: 3, reaction_counts: { '👍': 2 } },
      ...{ rating_counts: { polite: 1 }, rating_sums: { polite: 0 } },
    },
    {
      ...{ ...of('two', runnable_ref), total_count: 1, ...none },
      ...{ rating_counts: { _rating_: 1 }, rating_sums: { _rating_: 0 } },
    },
    { ...of('two', ''), total_count: 1, ...none },
  ])
  const all = await post('/feedback/aggregate', { ...body, group_by: ['span_prompt_version'] })
  const counts = all.json.buckets.map(({ group, total_count }: { group: object; total_count: number }) => [
    ...Object.values(group),
    total_count,
  ])
  assert.deepEqual(counts, [
    ['one', 5],
    ['two', 3],
    ['', 1],
  ])
})
