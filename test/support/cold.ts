import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'
import { now } from '../../src/domain/time.ts'
import { moveSome } from '../../src/storage/cold/moving.ts'
import type { OwnedStore } from '../../src/storage/cold/owner.ts'
import { folderStore, ownerFile } from '../../src/storage/cold/store.ts'
import type { Database } from '../../src/storage/database.ts'
import { openAppRecord } from './app-record.ts'

const never = new AbortController().signal

/** A record whose old calls move to a folder of its own. */
export async function openColdRecord(t: { after(close: () => void): void }) {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-cold-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const store = folderStore(folder)
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

/** All that is in the files of a folder, unpacked. */
export const contentsOf = (folder: string): string =>
  filesIn(folder)
    .map((path) => zstdDecompressSync(readFileSync(path)).toString())
    .join('\n')
