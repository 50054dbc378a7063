import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { hashKey } from '../../../src/domain/keys.ts'
import { now } from '../../../src/domain/time.ts'
import { cleanSome, removeSome } from '../../../src/storage/cold/cleaning.ts'
import { moveSome } from '../../../src/storage/cold/moving.ts'
import { type ColdStore, folderStore, type OwnedStore, ownerFile } from '../../../src/storage/cold/store.ts'
import type { Database } from '../../../src/storage/database.ts'
import { rawSql, sql } from '../../../src/storage/sql/sql.ts'
import { openApp } from '../../support/app.ts'
import { openAppRecord } from '../../support/app-record.ts'
import { completeOf, project } from '../../support/calls.ts'

export const never = new AbortController().signal

/** A record whose old calls move to a folder of its own. */
export async function openColdRecord(
  t: { after(close: () => void): void },
  storeIn: (folder: string) => ColdStore = folderStore,
) {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-cold-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const store = storeIn(folder)
  const database = await openAppRecord(store)
  return { folder, store, database }
}

export function coldParts({ cold }: Database): { bare: Database; store: OwnedStore } {
  if (cold?.store === undefined) throw new Error('the record has no store of cold calls')
  return { bare: cold.bare, store: cold.store }
}

/** Moves all calls of the project that may move, and returns how many did. */
export async function moveAll(database: Database, project: string, time = now()): Promise<number> {
  let moved = 0
  for (let at: { at: number; id: string } | undefined = { at: Number.MIN_SAFE_INTEGER, id: '' }; at; ) {
    const { calls, next } = await moveSome(coldParts(database), project, at, time, time, never)
    moved += calls
    at = next
  }
  return moved
}

export const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() && entry.name !== ownerFile ? [join(entry.parentPath, entry.name)] : [],
  )

/** All that is in a file, unpacked: one block after the other. */
export function unpacked(bytes: Buffer): string {
  if (bytes.length === 0) return ''
  const { buffer, engine } = zstdDecompressSync(bytes, { info: true }) as unknown as {
    buffer: Buffer
    engine: { bytesWritten: number }
  }
  return `${buffer}\n${unpacked(bytes.subarray(engine.bytesWritten))}`
}

/** The same of all files of a folder. */
export const contentsOf = (folder: string): string =>
  filesIn(folder)
    .map((path) => unpacked(readFileSync(path)))
    .join('\n')

export const hour = 3_600_000_000
/** The key of an administrator. */
export const admin = 'the-secret-key-of-ada'

const long = (text: string) => `${text} ${'lorem ipsum dolor sit amet '.repeat(20)}`

export function coldCall(name: string, user = 'nobody') {
  const id = randomUUID()
  return completeOf({
    id,
    trace_id: id,
    inputs: { question: long(`question of ${name}`), user },
    output: long(`answer for ${name}`),
  })
}

/** An app with these calls in it. */
export async function openWithCalls(
  t: TestContext,
  calls: ReturnType<typeof completeOf>[],
  storeIn?: (folder: string) => ColdStore,
) {
  const cold = await openColdRecord(t, storeIn)
  const app = await openApp(t, { database: cold.database })
  await app.database.write('addUser', {
    user: { name: 'ada', role: 'admin', entities: ['acme'], created_at: 1 },
    key: { id: 'ada', hash: hashKey(admin) },
  })
  const ok = async (url: string, body: object, key?: string) => {
    const { status, json, text } = await app.post(url, body, key)
    assert.equal(status, 200, text)
    return json
  }
  await ok('/v2/acme/qa/calls/complete', { batch: calls })
  const read = (id: string) => app.post('/call/read', { project_id: project, id })
  /** Everything that background work would do within hours. */
  const tidy = async (time = now() + 3 * hour) => {
    const parts = coldParts(cold.database)
    while ((await cleanSome(parts, undefined, { now: time, atOnce: false }, never)) > 0);
    for (const later of [0, 2, 4]) await removeSome(parts, time + later * hour, never)
  }
  return { ...cold, ...app, ok, read, tidy }
}

export async function countOf({ cold }: Database, table: string): Promise<number> {
  const rows = await cold?.bare.all<{ n: number }>(sql`SELECT count(*) AS n FROM ${rawSql(table)}`)
  return Number(rows?.[0]?.n)
}

/** Empties deleted calls. */
export const sweep = (db: Database) =>
  db.write('sweepCalls', { now: now() + hour, forgetBefore: 0, limit: 100, bytes: 1 << 20 })

/** Fails at its n-th step, as if the server had ended there: what was written before stays. */
export function endingAt(step: number, { bare, store }: { bare: Database; store: OwnedStore }) {
  let steps = 0
  const next = () => {
    if (++steps === step) throw new Error('ended here')
  }
  const ending: Database = {
    ...bare,
    write: (async (...[name, input, tenant]: Parameters<Database['write']>) => {
      next()
      // A file that is not finished counts as abandoned.
      const began = name === 'beginColdFile' ? { now: now() - hour } : {}
      const answer = await bare.write(name, { ...input, ...began } as typeof input, tenant)
      next()
      return answer
    }) as Database['write'],
  }
  return {
    parts: {
      bare: ending,
      store: {
        ...store,
        async write(file: string, bytes: Buffer) {
          next()
          await store.write(file, bytes)
          next()
        },
        async remove(file: string) {
          next()
          await store.remove(file)
          next()
        },
      },
    },
    isOver: () => steps < step,
  }
}

export interface Taken {
  before?: (() => Promise<void>) | undefined
}

/** A folder of which `before` is done once before a file is read. */
export function folderWith(folder: string, taken: Taken): ColdStore {
  const store = folderStore(folder)
  return {
    ...store,
    async read(...question) {
      const { before } = taken
      taken.before = undefined
      await before?.()
      return store.read(...question)
    },
  }
}
