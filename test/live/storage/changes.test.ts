import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { newId } from '../../../src/domain/ids.ts'
import type { Change } from '../../../src/storage/changes.ts'
import type { Database } from '../../../src/storage/database.ts'
import { openRecord } from '../../../src/storage/open.ts'
import { wholePart } from '../../support/call-parts.ts'
import { startPostgres, type TestPostgres } from '../../support/postgres.ts'

let server: TestPostgres
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

/** Places where two processes can open the same record. */
const places = {
  'SQLite file': async () => {
    const folder = await mkdtemp(join(tmpdir(), 'heddle-test-'))
    after(() => rm(folder, { recursive: true, force: true }))
    return { databaseUrl: '', folder, queryTimeoutMs: 60_000 }
  },
  PostgreSQL: async () => ({
    databaseUrl: await server.createDatabase(),
    folder: '',
    queryTimeoutMs: 60_000,
  }),
}

type Heard = readonly Change[] | 'unknown'

/** Receives changes one by one. */
function listen(db: Database) {
  const waiting: Heard[] = []
  let wake = () => {}
  const stop = db.watch((changes) => {
    waiting.push(changes)
    wake()
  })
  return {
    stop,
    async until(fits: (heard: Heard) => boolean): Promise<Heard> {
      for (;;) {
        const next = waiting.shift()
        if (next !== undefined && fits(next)) return next
        if (next === undefined) await new Promise<void>((resolve) => (wake = resolve))
      }
    },
  }
}

for (const [name, placeOf] of Object.entries(places)) {
  test(`${name}: writes are announced after their commit, including those of other processes`, async (t) => {
    const place = await placeOf()
    const [one, other] = [await openRecord(place), await openRecord(place)]
    t.after(() => Promise.all([one.close(), other.close()]))
    const heard = listen(one)
    const project_id = 'acme/qa'
    const write = async (db: Database) => {
      const id = newId()
      await db.write('upsertCalls', [wholePart(project_id, id)])
      return id
    }
    const own = await write(one)
    assert.deepEqual(await heard.until((changes) => changes !== 'unknown'), [
      { project: project_id, kind: 'call', ids: [own] },
    ])
    // There is no signal for when another process can be heard, so it writes until it is.
    let id = ''
    const timer = setInterval(async () => {
      id = await write(other)
    }, 300)
    const foreign = await heard.until(
      (changes) => id !== '' && (changes === 'unknown' || changes.every(({ ids }) => !ids?.includes(own))),
    )
    clearInterval(timer)
    if (name === 'PostgreSQL' && foreign !== 'unknown') {
      assert.deepEqual([foreign[0]?.project, foreign[0]?.kind], [project_id, 'call'])
    } else assert.equal(foreign, 'unknown')
    heard.stop()
  })
}

test('PostgreSQL: a listener reconnects after its connection breaks, and reports that it may have missed changes', async (t) => {
  const place = await places.PostgreSQL()
  const db = await openRecord(place)
  t.after(() => db.close())
  const heard = listen(db)
  await heard.until((changes) => changes === 'unknown')
  await server.crash()
  await server.resume()
  assert.equal(await heard.until((changes) => changes === 'unknown'), 'unknown')
  heard.stop()
})
