import { randomUUID } from 'node:crypto'
import { access, mkdir, open, readdir, readFile, rename, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { whenAborted } from '../../../packages/waiting/index.ts'
import { createSlots } from '../../threads/slots.ts'

/** In the store, with the name of the record whose store it is. */
export const ownerFile = 'heddle-owner'

/** Where files of cold calls are. Its names are opaque ids. */
export interface ColdStore {
  /** In words, for messages. */
  readonly address: string
  /** Resolves when the file would survive a power cut. */
  write(file: string, bytes: Buffer): Promise<void>
  /** The bytes from there on; fewer if the file is shorter. Undefined if there is no such file. */
  read(file: string, from: number, length: number, signal: AbortSignal): Promise<Uint8Array | undefined>
  /** Does nothing if there is no such file. */
  remove(file: string): Promise<void>
  /** Bytes of the file; undefined if there is no such file. */
  size(file: string, signal: AbortSignal): Promise<number | undefined>
  /** The name of the record whose store it is; undefined if it has none. */
  readOwner(): Promise<string | undefined>
  writeOwner(record: string): Promise<void>
}

/** A store that is used once it turned out to be that of this record. */
export interface OwnedStore extends ColdStore {
  /** Throws a `StorageRefusal` if it is that of another record, and a refusal if it cannot be asked. */
  check(): Promise<void>
}

export interface ColdSettings {
  /** A folder, or s3://<bucket>/<prefix>. */
  cold_store: string
  cold_endpoint: string
  cold_region: string
  cold_key: string
  cold_secret: string
}

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT'

/** A network folder that hangs keeps a thread for each question, and this process has four for all its files. */
const maxAtOnce = 2
const maxWaiting = 200

/** A question that is answered no sooner counts as failed. */
const maxAnswerMs = 20_000

/** See `maxWrite` in cleaning.ts. */
const maxWriteMs = 30_000

/** Files under the first two digits of their id, as a folder with very many files is slow to list. */
export function folderStore(folder: string, patienceMs = maxAnswerMs): ColdStore {
  const slots = createSlots({ shared: maxAtOnce }, { perTenant: maxWaiting, total: maxWaiting })
  const owner = join(folder, ownerFile)
  const folderOf = (file: string) => join(folder, file.slice(0, 2))
  const pathOf = (file: string) => join(folderOf(file), `${file}.cold`)

  /** A thread that hangs keeps its slot. */
  async function asked<T>(
    work: (late: AbortSignal) => Promise<T>,
    signal?: AbortSignal,
    limitMs = patienceMs,
  ) {
    const late = AbortSignal.timeout(limitMs)
    const either = signal ? AbortSignal.any([signal, late]) : late
    try {
      const slot = await slots.acquire('', either)
      const answer = work(late).finally(() => slots.release(slot))
      const ended = Promise.withResolvers<never>()
      const stay = whenAborted(either, () => ended.reject(either.reason))
      return await Promise.race([answer, ended.promise]).finally(stay)
    } catch (error) {
      throw error === late.reason ? new Error(`${folder} does not answer`) : error
    }
  }

  async function whereItIs<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      if (!isMissing(error)) throw error
      // A folder that is not mounted has no files, and they are not lost.
      await access(owner)
      return undefined
    }
  }

  const find = <T>(work: () => Promise<T>, signal?: AbortSignal) => asked(() => whereItIs(work), signal)

  return {
    address: folder,
    readOwner: () =>
      asked(async () => {
        try {
          return (await readFile(owner, 'utf8')).trim()
        } catch (error) {
          if (!isMissing(error)) throw error
          await readdir(folder)
          return undefined
        }
      }),
    writeOwner: (record) =>
      asked(async (late) => {
        // Other servers of the record may do the same at this moment.
        await writeWhole(owner, Buffer.from(`${record}\n`), `${owner}.${randomUUID()}`, late)
        await syncFolder(folder)
      }),
    async write(file, bytes) {
      async function written(late: AbortSignal): Promise<void> {
        // Where a disk is not mounted, nothing is written beneath.
        await access(owner)
        await mkdir(folderOf(file)).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error
        })
        await writeWhole(pathOf(file), bytes, `${pathOf(file)}.part`, late)
        for (const changed of [folderOf(file), folder]) await syncFolder(changed)
      }
      await asked(written, undefined, maxWriteMs)
    },
    read: (file, from, length, signal) =>
      find(async () => {
        const handle = await open(pathOf(file), 'r')
        try {
          const bytes = Buffer.allocUnsafe(length)
          let read = 0
          for (let more = 1; more > 0 && read < length; read += more) {
            more = (await handle.read(bytes, read, length - read, from + read)).bytesRead
          }
          return bytes.subarray(0, read)
        } finally {
          await handle.close()
        }
      }, signal),
    async remove(file) {
      await find(() => unlink(`${pathOf(file)}.part`))
      await find(() => unlink(pathOf(file)))
      await find(() => syncFolder(folderOf(file)))
    },
    size: (file, signal) =>
      find(async () => {
        const handle = await open(pathOf(file), 'r')
        try {
          return (await handle.stat()).size
        } finally {
          await handle.close()
        }
      }, signal),
  }
}

async function writeWhole(path: string, bytes: Buffer, unfinished: string, late: AbortSignal): Promise<void> {
  try {
    await writeFile(unfinished, bytes, { mode: 0o600, flush: true })
  } catch (error) {
    // On a full disk it would stand in the way of the next.
    await unlink(unfinished).catch(() => undefined)
    throw error
  }
  // A disk that hung: an erasure may have counted on the file never being there.
  late.throwIfAborted()
  await rename(unfinished, path)
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
