import { type Caller, hasAccess, scopesOf } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import {
  listWireFiles,
  type NewWireFile,
  readWireFile,
  type WireFile,
} from '../../storage/batches/wire-files.ts'
import type { Database } from '../../storage/database.ts'
import { openUpload } from '../../storage/objects/upload.ts'
import type { Reader } from '../../storage/transaction.ts'
import { pageOfList } from '../list-pages.ts'
import type { FilesQuery } from './contract.ts'

const microseconds = 1_000_000
const secondsOf = (time: number) => Math.floor(time / microseconds)

/** Ids sort by time. */
export const idWith = (prefix: string) => prefix + newId().replaceAll('-', '')

interface FileToBe {
  project: string
  user: string
  /** The largest size. */
  limit: number
}

interface FileName {
  filename: string
  purpose: string
  /** How long it is kept; null is for ever. */
  seconds: number | null
}

/** A file that is being written. What is known of it only at the end is given then. */
export function openWireFile(db: Database, { project, user, limit }: FileToBe) {
  const upload = openUpload(db, project, limit)
  return {
    add: upload.add,
    drop: upload.drop,
    /** `write` makes it visible. */
    async finish(
      { filename, purpose, seconds }: FileName,
      write: (written: NewWireFile) => Promise<unknown>,
    ): Promise<WireFile> {
      const created_at = now()
      let file: WireFile | undefined
      await upload.finishAs(async ({ last, upload_id, size }) => {
        const id = idWith('file-')
        const expires_at = seconds === null ? null : created_at + seconds * microseconds
        const owner = { project_id: project, user_name: user }
        file = { ...owner, id, filename, purpose, upload_id, size, created_at, expires_at }
        await write({ file, last })
      })
      return file as WireFile
    },
  }
}

/** The file of the caller; to everybody else it does not exist. */
export async function wireFile(db: Reader, caller: Caller, id: string, field = 'file_id'): Promise<WireFile> {
  const file = await readWireFile(db, caller.name, id, now())
  if (file === undefined || !hasAccess(caller, file.project_id))
    throw refuse('wire_file_not_found', { field, id })
  return file
}

export const fileAnswer = ({ id, size, created_at, expires_at, filename, purpose }: WireFile) => ({
  id,
  object: 'file' as const,
  bytes: size,
  created_at: secondsOf(created_at),
  ...(expires_at !== null && { expires_at: secondsOf(expires_at) }),
  filename,
  purpose,
  status: 'processed' as const,
})

export async function listFiles(db: Reader, caller: Caller, { purpose, limit, after, order }: FilesQuery) {
  const asked = { user: caller.name, scopes: scopesOf(caller), after, order, limit: limit + 1 }
  const rows = await listWireFiles(db, asked, purpose, now())
  return pageOfList(rows, limit, fileAnswer)
}

export async function deleteFile(db: Database, caller: Caller, id: string) {
  await wireFile(db, caller, id)
  await db.write('dropWireFile', { user: caller.name, id, now: now() })
  return { id, object: 'file' as const, deleted: true as const }
}
