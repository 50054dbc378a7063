import assert from 'node:assert/strict'
import { calibrated } from '../../../src/domain/statistics/calibration.ts'
import { seededNumbers } from '../../../src/domain/statistics/intervals.ts'
import { openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { createSpec } from '../../support/feedback.ts'
import { monitorsOf } from '../../support/monitors.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'
import { deciding } from '../decisions/deciding.ts'

export const url = `/v2/${project}/calibrations`
export const rude = { type: 'predicate', name: 'rude', instructions: 'Is it rude?' }
export const topic = {
  type: 'choice',
  name: 'topic',
  instructions: 'Which topic?',
  choices: [{ value: 'law' }, { value: 'other' }, { value: true }],
}
export const judge = { prompt: '{output}', questions: [rude, topic] }

/** How the answers of people depend on the probabilities of the model, which is far too sure and says yes too often. */
export const truth = { a: 0.3, b: -1 }

interface Ending {
  after(end: () => Promise<void> | void): void
}

/** An app whose judge has decided about calls, each with a probability of its own, and a spec for the labels. */
export async function withDecidedCalls(t: Ending, count: number, fields: object = {}) {
  const weights = { Y: 0.6, N: 0.2, A: 0.2, B: 0.5, C: 0.1 }
  const opened = await openApp(t, { sweep: true, backend: scriptedBackend(deciding(() => weights)) })
  const { post } = opened
  const { scorer, monitor, calls, scores } = monitorsOf(opened)
  const ref = await scorer('manners', { judge })
  await monitor([ref], { filter: { op_names: ['answer'] } })
  const [example = ''] = await calls({ op_name: 'answer', output: 'Get lost.' })
  await scores(example, 1)
  const { result } = (await post('/feedback/query', { project_id: project })).json
  const { decisions } = result[0].payload
  const spec = await createSpec(post, 'verdict', {})
  const next = seededNumbers(17)
  const decided = Array.from({ length: count }, () => {
    const yes = 1 / (1 + Math.exp(-8 * (next() - 0.5)))
    const shares = [next() + 0.1, next() + 0.1, next() + 0.1]
    const sum = shares.reduce((total, share) => total + share, 0)
    return {
      yes,
      topic: shares.map((share) => share / sum),
      isRude: next() < (calibrated(truth, [yes, 1 - yes])[0] ?? 0),
    }
  })
  // The feedback of other decisions is written as a client may, because a model would take minutes.
  const ids = await calls(...decided.map((_, n) => ({ op_name: 'silent', output: `line ${n}`, ...fields })))
  await batch(
    decided.map(({ yes, topic }, n) => ({
      ...about(ids[n] as string),
      feedback_type: 'wandb.runnable.manners',
      runnable_ref: ref,
      payload: {
        output: {
          rude: { value: yes >= 0.5, probability: yes },
          topic: { value: 'law', probability: topic[0], probabilities: topic },
        },
        decisions,
      },
    })),
  )

  async function batch(entries: object[]): Promise<void> {
    for (let from = 0; from < entries.length; from += 100) {
      const { status, text } = await post('/feedback/batch/create', {
        batch: entries.slice(from, from + 100),
      })
      assert.equal(status, 200, text)
    }
  }

  return {
    ...opened,
    ref,
    example,
    decisions,
    decided: decided.map((item, n) => ({ ...item, id: ids[n] as string })),
    /** What people said about calls; `key` is of the person. */
    async label(labels: readonly { id: string; value: unknown }[], key?: string): Promise<void> {
      for (let from = 0; from < labels.length; from += 100) {
        const entries = labels.slice(from, from + 100).map(({ id, value }) => ({
          ...about(id),
          feedback_type: 'wandb.annotation.verdict',
          annotation_ref: spec,
          payload: { value },
        }))
        const { status, text } = await post('/feedback/batch/create', { batch: entries }, key)
        assert.equal(status, 200, text)
      }
    },
  }
}

const about = (id: string) => ({ project_id: project, weave_ref: `weave:///${project}/call/${id}` })
