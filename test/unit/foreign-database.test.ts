import assert from 'node:assert/strict'
import { test } from 'node:test'
import type pg from 'pg'
import { refuseForeign } from '../../src/storage/engines/postgres/migrate.ts'

const answering = (product: string, encoding = 'UTF8', number = 180_000) =>
  ({
    query: async () => ({ rows: [{ product, encoding, version: String(number / 10_000), number }] }),
  }) as unknown as Pick<pg.Client, 'query'>

test('a database that only speaks like PostgreSQL is refused by name where it would lose writes', async () => {
  const cockroach = 'CockroachDB CCL v25.1.0 (x86_64-pc-linux-gnu, built 2025/02/15)'
  await assert.rejects(
    refuseForeign(answering(cockroach), 'PostgreSQL at db'),
    /is CockroachDB.*advisory locks/,
  )
  await assert.rejects(refuseForeign(answering('PostgreSQL 18', 'LATIN1'), 'it'), /stores text as LATIN1/)
  await assert.rejects(refuseForeign(answering('PostgreSQL 13', 'UTF8', 130_000), 'it'), /is version 13/)
  await refuseForeign(answering('PostgreSQL 18.1 on x86_64-pc-linux-gnu'), 'it')
})
