import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newProject } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'
import { noon } from '../../support/stored-queues.ts'
import { addRule, endedNow, firedIn } from './alert-rows.ts'

const any = { question: null, answer: null, below: null, above: null }

const answersOf = (probability: number) =>
  JSON.stringify({
    answers: [
      { type: 'predicate', name: 'rude', probability },
      {
        ...{ type: 'choice', name: 'topic', choice: 'billing' },
        probabilities: [
          { value: 'billing', probability: 0.7 },
          { value: true, probability: 0.3 },
        ],
      },
    ],
  })

export function decisionAlerts({ shared }: Driver): void {
  describe('alerts on decisions', () => {
    const decided = (project: string, id: string, probability: number) => {
      const part = endedNow(project, id, 'heddle.decisions')
      return { ...part, end: { ...part.end, output: answersOf(probability) } }
    }

    test('a rule fires for a decision with such an answer, once', async () => {
      const db = await shared()
      const project = newProject()
      await addRule(db, project, { decision: { ...any, question: 'rude', above: 0.8 } })
      await addRule(db, project, { decision: { ...any, answer: 'billing' } }, { id: 'topic' })
      const calls = [decided(project, 'mild', 0.8), decided(project, 'rude', 0.9)]
      const other = { ...decided(project, 'other', 0.9), start: endedNow(project, 'other', 'mine').start }
      await db.write('upsertCalls', [...calls, other])
      await db.write('upsertCalls', calls)
      const [event, ...others] = await firedIn(db, project)
      assert.deepEqual(others, [])
      assert.equal(event.call_id, 'rude')
      assert.deepEqual(event.decision, { question: 'rude', answer: 'true', probability: 0.9, picked: 1 })
      assert.deepEqual(
        (await firedIn(db, project, 'topic')).map(({ call_id, decision }) => [call_id, decision.answer]),
        [
          ['mild', 'billing'],
          ['rude', 'billing'],
        ],
      )
    })

    test('the parts of a decision may come in either order', async () => {
      const db = await shared()
      const project = newProject()
      await addRule(db, project, { decision: { ...any, answer: 'true' } })
      for (const [id, order] of [
        ['forth', ['start', 'end']],
        ['back', ['end', 'start']],
      ] as const) {
        const { start, end, ...rest } = decided(project, id, 0.6)
        const parts = { start: { ...rest, start }, end: { ...rest, end } }
        for (const part of order) await db.write('upsertCalls', [parts[part]])
      }
      assert.deepEqual(
        (await firedIn(db, project)).map(({ call_id }) => call_id),
        ['forth', 'back'],
      )
    })

    test('a failed, deleted or very large decision, and what is none, fires nothing', async () => {
      const db = await shared()
      const project = newProject()
      await addRule(db, project, { decision: { ...any, above: 0 } })
      const odd = decided(project, 'odd', 0.9)
      const failed = decided(project, 'failed', 0.9)
      const large = decided(project, 'large', 0.9)
      await db.write('upsertCalls', [
        { ...odd, end: { ...odd.end, output: '{"answers":[null,3,{"type":"choice","probabilities":{}}]}' } },
        { ...failed, end: { ...failed.end, exception: 'Boom' } },
        { ...large, end: { ...large.end, end_bytes: 1_048_577 } },
      ])
      await db.write('deleteCalls', { project_id: project, ids: ['gone'], now: noon })
      assert.deepEqual(await firedIn(db, project), [])
      await db.write('upsertCalls', [decided(project, 'gone', 0.9)])
      assert.equal((await firedIn(db, project)).length, 1)
      await db.write('deleteCalls', { project_id: project, ids: ['gone'], now: noon })
      await addRule(db, project, { decision: { ...any, above: 0 } }, { id: 'later' })
      await db.write('upsertCalls', [decided(project, 'gone', 0.9)])
      assert.deepEqual(await firedIn(db, project, 'later'), [])
    })
  })
}
