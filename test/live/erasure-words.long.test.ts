import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Caller } from '../../src/domain/callers.ts'
import { erase } from '../../src/operations/erasures/erase.ts'
import { openSqlite } from '../../src/storage/engines/sqlite/open.ts'
import { boundTo } from '../../src/storage/transaction.ts'
import { newProject, wholePart } from '../support/call-parts.ts'
import { newFolder } from '../support/server.ts'

const caller: Caller = { name: 'ada', role: 'admin', entities: new Set(['*']) }
const subject = { kind: 'end_user' as const, value: 'grace' }
const { signal } = new AbortController()
const callsAtOnce = 5

/** Every transaction of the index adds a segment of this many long calls; four of them begin to merge. */
async function leaksAfterErasing(t: TestContext, segments: number): Promise<boolean> {
  const file = join(await newFolder(t), 'heddle.db')
  const db = await openSqlite({ file })
  const project = newProject()
  const parts = Array.from({ length: segments * callsAtOnce }, (_, call) => {
    const words = Array.from({ length: 1_500 }, (_, n) => `w${(call * 7_919 + n * 104_729) % 100_003}`)
    const isOwn = call % 2 === 1
    const inputs = {
      user: isOwn ? subject.value : 'someone',
      text: `${isOwn ? 'aaxylophonic' : ''} ${words.join(' ')}`,
    }
    return wholePart(project, `call-${call}`, { inputs: JSON.stringify(inputs) })
  })
  for (const part of parts) await db.write('upsertCalls', [part])
  while (await db.writeInBackground('indexCalls', { limit: callsAtOnce, characters: 1 << 24 }));
  const { erased } = await erase(boundTo(db, signal), { caller, project }, { subject, dry_run: false })
  assert.equal(erased.search_entries, Math.floor(parts.length / 2))
  const leaks = readFileSync(file).includes('aaxylophonic')
  await db.close()
  return leaks
}

test('nothing of an erased person is left in the index of words, also in the middle of a merge', async (t) => {
  const leaking: number[] = []
  for (let segments = 4; segments <= 13; segments += 1) {
    if (await leaksAfterErasing(t, segments)) leaking.push(segments)
  }
  assert.deepEqual(leaking, [])
})
