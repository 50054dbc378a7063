import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refuse } from '../../src/domain/refusals.ts'
import { packFile } from '../../src/storage/cold/blocks.ts'
import { coldRecord } from '../../src/storage/cold/cold-record.ts'
import { referenceText } from '../../src/storage/cold/reference.ts'
import type { ColdStore } from '../../src/storage/cold/store.ts'
import type { Database } from '../../src/storage/database.ts'

const file = '00000000-0000-4000-8000-000000000000'

/** A record whose write reads one cold call after the other. */
async function recordOf(calls: number, thaws: boolean) {
  const texts = Array.from({ length: calls }, (_, index) => ({
    ...{ call: `c${index}`, text: `"${index}"` },
    column: 'inputs' as const,
  }))
  const { bytes, references } = await packFile(file, 'acme/qa', texts)
  const store = {
    address: 'here',
    readOwner: async () => 'me',
    read: async (_: string, from: number, length: number) => bytes.subarray(from, from + length),
  } as Partial<ColdStore> as ColdStore
  let thawed = 0
  let attempts = 0
  const bare = {
    async write(name: string, { texts = [] }: { texts?: readonly unknown[] }) {
      if (name === 'nameColdRecord') return 'me'
      if (name === 'thawCalls') {
        if (thaws) thawed += texts.length
        return thaws ? texts.length : 0
      }
      attempts++
      const next = references[thawed]
      if (next !== undefined) throw refuse('cold_call_in_write', { references: referenceText(next) })
      return 'written'
    },
  } as Partial<Database> as Database
  return { db: coldRecord(bare, store), attempts: () => attempts }
}

test('a write may read any number of cold calls, as long as each attempt puts one back', async () => {
  const { db, attempts } = await recordOf(300, true)
  assert.equal(await db.write('sweepUploads', { before: 1 }), 'written')
  assert.equal(attempts(), 301)
})

test('a write whose cold calls cannot be put back ends', async () => {
  const { db, attempts } = await recordOf(1, false)
  await assert.rejects(db.write('sweepUploads', { before: 1 }), { code: 'cold_file_damaged' })
  assert.ok(attempts() < 20)
})
