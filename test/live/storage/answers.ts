import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { callOfCompletion } from '../../../src/storage/answers/completions.ts'
import type { RecordedAnswer } from '../../../src/storage/answers/recorded-answers.ts'
import { readCall } from '../../../src/storage/calls/calls.ts'
import type { Database } from '../../../src/storage/database.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { newProject, secondMicros, startedAt, wholePart } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'

const later = startedAt + 100 * secondMicros

function answerOf(
  project: string,
  id: string,
  { completion = `chatcmpl-${id}`, at = startedAt, expire_at = null as number | null } = {},
): RecordedAnswer {
  return {
    call: wholePart(project, id, { started_at: at, expire_at }),
    completion: {
      completion_id: completion,
      kind: 'chat',
      model: 'm',
      created_at: at,
      metadata: '{"n":"1.0"}',
    },
  }
}

async function rows(db: Database, project: string): Promise<string[]> {
  const found = await db.all<{ call_id: string }>(
    sql`SELECT call_id FROM completions WHERE project_id = ${project} ORDER BY call_id`,
  )
  return found.map(({ call_id }) => call_id)
}

export function answers(open: Driver['open']): void {
  describe('recorded answers', () => {
    test('are calls that are found by the id of their completion', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('recordAnswers', [answerOf(project, 'a'), answerOf(project, 'b')], 'alice')
      assert.equal((await readCall(db, project, 'a', false, later))?.ended_at !== null, true)
      assert.deepEqual(await callOfCompletion(db, project, 'chatcmpl-a', later), { callId: 'a', matches: 1 })
      assert.equal(await callOfCompletion(db, project, 'chatcmpl-c', later), undefined)
      assert.equal(await callOfCompletion(db, newProject(), 'chatcmpl-a', later), undefined)
    })

    test('may be written again', async (t) => {
      const db = await open(t)
      const project = newProject()
      const many = Array.from({ length: 100 }, (_, i) => answerOf(project, `a${i}`))
      await db.write('recordAnswers', structuredClone(many))
      await db.write('recordAnswers', structuredClone(many))
      assert.equal((await rows(db, project)).length, 100)
    })

    test('with the same completion id: the latest visible one is found, and the number of matches', async (t) => {
      const db = await open(t)
      const project = newProject()
      const completion = 'chatcmpl-same'
      await db.write('recordAnswers', [
        answerOf(project, 'c', { completion }),
        answerOf(project, 'a', { completion, at: startedAt + 2 }),
        answerOf(project, 'b', { completion, at: startedAt + 1, expire_at: later }),
      ])
      const found = (now: number) => callOfCompletion(db, project, completion, now)
      assert.deepEqual(await found(later - 1), { callId: 'a', matches: 3 })
      assert.deepEqual(await found(later), { callId: 'a', matches: 2 })
      await db.write('deleteCalls', { project_id: project, ids: ['a'], now: later })
      assert.deepEqual(await found(later), { callId: 'c', matches: 1 })
    })

    test('lose their rows when they are deleted or swept', async (t) => {
      const db = await open(t)
      const project = newProject()
      const other = newProject()
      const expired = answerOf(project, 'expired', { expire_at: later })
      await db.write('recordAnswers', [answerOf(project, 'kept'), answerOf(project, 'deleted'), expired])
      await db.write('recordAnswers', [answerOf(other, 'expired')])
      await db.write('deleteCalls', { project_id: project, ids: ['deleted'], now: later })
      assert.deepEqual(await rows(db, project), ['expired', 'kept'])
      await db.write('sweepCalls', { now: later, forgetBefore: 0, limit: 200, bytes: 1e9 })
      assert.deepEqual(await rows(db, project), ['kept'])
      assert.deepEqual(await rows(db, other), ['expired'])
    })
  })
}
