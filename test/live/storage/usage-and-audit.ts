import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Database } from '../../../src/storage/database.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { type AuditEntry, streamAudit } from '../../../src/storage/users/audit.ts'
import { readUsage } from '../../../src/storage/users/usage.ts'
import type { Driver } from '../../support/drivers.ts'

const by = { via: 'http' as const, name: 'alice' }

async function entriesOf(db: Database): Promise<AuditEntry[]> {
  const all: AuditEntry[] = []
  const { signal } = new AbortController()
  const times = { from: 0, until: Number.MAX_SAFE_INTEGER }
  for await (const entries of streamAudit(boundTo(db, signal), times)) all.push(...entries)
  return all
}

const count = (db: Database) => db.get<{ n: number }>(sql`SELECT count(*) AS n FROM audit`)

export function usageAndAudit(open: Driver['open']): void {
  describe('usage', () => {
    test('of a day adds up, and is found by user and day', async (t) => {
      const db = await open(t)
      const day = (user_name: string, date: string, requests: number) => ({
        user_name,
        day: date,
        requests,
        refused: 1,
        prompt_tokens: 2 ** 40,
        completion_tokens: 3,
      })
      await db.write('addUsage', [day('alice', '2026-11-21', 5), day('bob', '2026-11-22', 7)])
      await Promise.all([1, 2, 3].map((n) => db.write('addUsage', [day('alice', '2026-11-22', n)])))
      const page = { limit: 10, offset: 0 }
      const alice = {
        ...day('alice', '2026-11-22', 6),
        refused: 3,
        prompt_tokens: 3 * 2 ** 40,
        completion_tokens: 9,
      }
      assert.deepEqual(await readUsage(db, page), [
        alice,
        day('bob', '2026-11-22', 7),
        day('alice', '2026-11-21', 5),
      ])
      assert.deepEqual(await readUsage(db, { ...page, user: 'alice', from: '2026-11-22' }), [alice])
      assert.deepEqual(await readUsage(db, { ...page, to: '2026-11-21' }), [day('alice', '2026-11-21', 5)])
      assert.deepEqual(await readUsage(db, { limit: 1, offset: 1 }), [day('bob', '2026-11-22', 7)])
    })
  })

  describe('the audit log', () => {
    test('records who did what, and nothing that was not done', async (t) => {
      const db = await open(t)
      const user = { name: 'bob', role: 'member' as const, entities: ['acme'], created_at: 1 }
      const terminal = { via: 'command line' as const, name: 'root' }
      await db.write('addUser', { user, key: { id: 'k1', hash: 'h1' }, by: terminal })
      await db.write('addUser', { user, key: { id: 'k2', hash: 'h2' }, by: terminal })
      await db.write('revokeKey', { id: 'nobody', now: 1, by: terminal })
      await db.write('deleteCalls', { project_id: 'acme/qa', ids: ['a', 'b'], now: 1, by })
      const missing = { project_id: 'acme/qa', object_id: 'o', only: null, versions: null, now: 1, by }
      await db.write('deleteObjects', missing)
      const told = (await entriesOf(db)).map(({ id: _, at, details, ...entry }) => {
        assert.ok(at > 0)
        return { ...entry, details: JSON.parse(details) }
      })
      assert.deepEqual(told, [
        {
          via: 'command line',
          actor: 'root',
          action: 'user.add',
          project_id: null,
          count: null,
          details: { user: 'bob', role: 'member', entities: ['acme'], key: 'k1' },
        },
        {
          via: 'http',
          actor: 'alice',
          action: 'calls.delete',
          project_id: 'acme/qa',
          count: 2,
          details: { descendants: 0 },
        },
      ])
    })

    test('has no line of a command that failed', async (t) => {
      const db = await open(t)
      await assert.rejects(db.write('deleteQueue', { project_id: 'acme/qa', queue_id: 'none', now: 1, by }))
      assert.equal((await count(db))?.n, 0)
    })
  })
}
