import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { callOfCompletion } from '../../../src/storage/answers/completions.ts'
import {
  findStoredCompletion,
  type Position,
  readStoredCompletion,
  streamStoredCompletions,
} from '../../../src/storage/answers/stored-completions.ts'
import { readCall } from '../../../src/storage/calls/calls.ts'
import type { Database } from '../../../src/storage/database.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { endFields, newProject, startedAt, startPart } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'

const { signal } = new AbortController()
const now = startedAt + 1_000

interface Given {
  at?: number
  metadata?: string | null
  model?: string
  exception?: string
  expire_at?: number
}

async function record(
  db: Database,
  project: string,
  call: string,
  id: string,
  given: Given = {},
): Promise<void> {
  const { at = startedAt, metadata = null, model = 'small', exception = null, expire_at = null } = given
  const attributes = `{"heddle":{"completion":"${id}","n":1.0}}`
  const start = startPart(project, call, {
    started_at: at,
    attributes,
    expire_at,
    start_bytes: attributes.length,
  })
  const output = `{"id":"${id}","n":12345678901234567890}`
  const completion = { completion_id: id, kind: 'chat' as const, model, created_at: at, metadata }
  await db.write('recordAnswers', [{ call: { ...start, end: endFields({ exception, output }) }, completion }])
}

export function storedCompletions(shared: Driver['shared']): void {
  describe('stored completions', () => {
    const page = (project: string) => ({
      project,
      order: 'asc' as const,
      after: undefined as Position | undefined,
      model: undefined as string | undefined,
      metadata: new Map<string, string>(),
      limit: 100,
      now,
    })
    const list = async (db: Database, asked: Parameters<typeof streamStoredCompletions>[1]) => {
      const found: string[] = []
      for await (const rows of streamStoredCompletions(boundTo(db, signal), asked)) {
        for (const row of rows) found.push(row.completion_id)
      }
      return found
    }

    test('are listed by time, with a stable order among equal times, page by page', async () => {
      const db = await shared()
      const project = newProject()
      const ids = ['a', 'b', 'c', 'd', 'e', 'f']
      for (const [index, id] of ids.entries()) {
        await record(db, project, `call-${id}`, id, { at: startedAt + Math.floor(index / 4) })
      }
      await record(db, newProject(), 'call-x', 'x')
      assert.deepEqual(await list(db, page(project)), ids)
      for (const order of ['asc', 'desc'] as const) {
        const all = order === 'asc' ? ids : ids.toReversed()
        const paged: string[] = []
        let after: Position | undefined
        for (;;) {
          const [next] = await list(db, { ...page(project), order, after, limit: 1 })
          if (next === undefined) break
          paged.push(next)
          after = await findStoredCompletion(db, project, next, now)
        }
        assert.deepEqual(paged, all)
      }
    })

    test('are found by model and by entries of their metadata', async () => {
      const db = await shared()
      const project = newProject()
      await record(db, project, 'call-a', 'a', { metadata: '{"run":"1","0":"zero"}' })
      await record(db, project, 'call-b', 'b', {
        metadata: '{"run":"2","note":"\\u0041\\u0000"}',
        model: 'large',
      })
      await record(db, project, 'call-c', 'c')
      const by = (entries: Record<string, string>) =>
        list(db, { ...page(project), metadata: new Map(Object.entries(entries)) })
      assert.deepEqual(await by({ run: '1' }), ['a'])
      assert.deepEqual(await by({ run: '1', 0: 'zero' }), ['a'])
      assert.deepEqual(await by({ run: '1', 0: 'one' }), [])
      assert.deepEqual(await by({ note: '' }), [])
      assert.deepEqual(await list(db, { ...page(project), model: 'large' }), ['b'])
    })

    test('exist as long as their call does, complete and without an error', async () => {
      const db = await shared()
      const project = newProject()
      await record(db, project, 'call-failed', 'failed', { exception: 'client disconnected' })
      await record(db, project, 'call-expired', 'expired', { expire_at: now - 1 })
      await record(db, project, 'call-deleted', 'deleted')
      await record(db, project, 'call-there', 'there')
      await db.write('deleteCalls', { project_id: project, ids: ['call-deleted'], now })
      assert.deepEqual(await list(db, page(project)), ['there'])
      for (const id of ['failed', 'expired', 'deleted', 'nobody']) {
        assert.equal(await findStoredCompletion(db, project, id, now), undefined)
        assert.equal(await readStoredCompletion(db, project, `call-${id}`, now), undefined)
      }
      assert.equal((await callOfCompletion(db, project, 'failed', now))?.callId, 'call-failed')
    })

    test('keep every digit when their metadata changes, on the call as well', async () => {
      const db = await shared()
      const project = newProject()
      await record(db, project, 'call-a', 'a')
      const set = (metadata: string | null, call_id = 'call-a') =>
        db.write('changeCompletionMetadata', { project_id: project, call_id, metadata })
      assert.equal(await set('{"run":"1"}'), true)
      const row = await readStoredCompletion(db, project, 'call-a', now)
      assert.deepEqual([row?.metadata, row?.output], ['{"run":"1"}', '{"id":"a","n":12345678901234567890}'])
      assert.equal(
        await attributesOf(db, project),
        '{"heddle":{"completion":"a","n":1.0,"metadata":{"run":"1"}}}',
      )
      assert.equal(await set(null), true)
      assert.equal(await attributesOf(db, project), '{"heddle":{"completion":"a","n":1.0}}')
      assert.equal(await set('{}', 'nobody'), false)
    })
  })
}

async function attributesOf(db: Database, project: string): Promise<string | null | undefined> {
  return (await readCall(db, project, 'call-a', false, now))?.attributes
}
