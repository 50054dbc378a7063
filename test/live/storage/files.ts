import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import type { Database } from '../../../src/storage/database.ts'
import { pieceBytes, readFileEntry, readPiece, sizeOfFiles } from '../../../src/storage/objects/files.ts'
import { openUpload } from '../../../src/storage/objects/upload.ts'
import { rawSql, sql } from '../../../src/storage/sql/sql.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { newProject, startedAt } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'

const everyByte = Uint8Array.from({ length: 256 }, (_, n) => n)

async function counts(db: Database, project: string): Promise<number[]> {
  const found: number[] = []
  for (const table of ['files', 'file_uploads', 'file_pieces']) {
    const row = await db.get<{ n: number }>(
      sql`SELECT count(*) AS n FROM ${rawSql(table)} WHERE project_id = ${project}`,
    )
    found.push(row?.n ?? -1)
  }
  return found
}

export function files(open: Driver['open']): void {
  describe('files', () => {
    test('every byte is returned', async (t) => {
      const db = await open(t)
      const project = newProject()
      const upload = openUpload(db, project, 1 << 20)
      await upload.add(everyByte)
      const digest = await upload.finish()
      const file = await readFileEntry(db, project, digest)
      assert.equal(file?.size, 256)
      const piece = await readPiece(db, project, file.upload_id, 0)
      assert.deepEqual(Uint8Array.from(piece as Uint8Array), everyByte)
      assert.equal(await readPiece(db, project, file.upload_id, 1), undefined)
      assert.equal(await readFileEntry(db, newProject(), digest), undefined)
      const size = (of: string) => sizeOfFiles(boundTo(db, new AbortController().signal), of)
      assert.equal(await size(project), 256)
      assert.equal(await size(newProject()), 0)
    })

    test('a file in pieces is visible once it is finished', async (t) => {
      const db = await open(t)
      const project = newProject()
      const bytes = Buffer.alloc(3 * pieceBytes + 5, everyByte)
      const upload = openUpload(db, project, bytes.length)
      for (let at = 0; at < bytes.length; at += 65_000) await upload.add(bytes.subarray(at, at + 65_000))
      assert.deepEqual(await counts(db, project), [0, 1, 3])
      const digest = await upload.finish()
      assert.deepEqual(await counts(db, project), [1, 0, 4])
      const file = await readFileEntry(db, project, digest)
      const pieces: Uint8Array[] = []
      for (let n = 0; n < 4; n++)
        pieces.push((await readPiece(db, project, file?.upload_id ?? '', n)) as Uint8Array)
      assert.ok(Buffer.concat(pieces).equals(bytes))
    })

    test('the same bytes are stored once per project, also when uploaded concurrently', async (t) => {
      const db = await open(t)
      const [project, other] = [newProject(), newProject()]
      const bytes = Buffer.alloc(2 * pieceBytes + 1, 'x')
      const store = async (into: string) => {
        const upload = openUpload(db, into, bytes.length)
        await upload.add(bytes)
        return upload.finish()
      }
      const digests = await Promise.all([project, project, project, other].map(store))
      assert.equal(new Set(digests).size, 1)
      assert.deepEqual(await counts(db, project), [1, 0, 3])
      assert.deepEqual(await counts(db, other), [1, 0, 3])
    })

    test('a dropped upload leaves nothing', async (t) => {
      const db = await open(t)
      const project = newProject()
      const upload = openUpload(db, project, 1 << 30)
      for (let n = 0; n < 70; n++) await upload.add(Buffer.alloc(pieceBytes, n))
      await upload.add(Buffer.alloc(1))
      assert.deepEqual(await counts(db, project), [0, 1, 70])
      await upload.drop()
      assert.deepEqual(await counts(db, project), [0, 0, 0])
    })

    test('a stalled upload is swept in steps, and active uploads and files are kept', async (t) => {
      const db = await open(t)
      const project = newProject()
      const memory = new SharedArrayBuffer(everyByte.length)
      new Uint8Array(memory).set(everyByte)
      const piece = (upload_id: string, position: number, now: number) =>
        db.write('keepPiece', {
          project_id: project,
          upload_id,
          position,
          memory,
          length: everyByte.length,
          now,
        })
      const [old, young] = [randomUUID(), randomUUID()]
      for (let n = 0; n < 100; n++) await piece(old, n, startedAt)
      await piece(young, 0, startedAt)
      await piece(young, 1, startedAt + 10)
      const upload = openUpload(db, project, 1000)
      await upload.add(everyByte)
      await upload.finish()
      const sweep = (before: number) => db.write('sweepUploads', { before })
      assert.equal(await sweep(startedAt), false)
      assert.equal(await sweep(startedAt + 1), true)
      assert.deepEqual(await counts(db, project), [1, 2, 36 + 2 + 1])
      assert.equal(await sweep(startedAt + 1), true)
      assert.equal(await sweep(startedAt + 1), false)
      assert.deepEqual(await counts(db, project), [1, 1, 2 + 1])
    })
  })
}
