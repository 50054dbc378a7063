import { randomUUID } from 'node:crypto'
import { access, mkdir, open, readdir, readFile, rename, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

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

/** Files under the first two digits of their id, as a folder with very many files is slow to list. */
export function folderStore(folder: string): ColdStore {
  const owner = join(folder, ownerFile)
  const folderOf = (file: string) => join(folder, file.slice(0, 2))
  const pathOf = (file: string) => join(folderOf(file), `${file}.cold`)

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

  return {
    address: folder,
    async readOwner() {
      try {
        return (await readFile(owner, 'utf8')).trim()
      } catch (error) {
        if (!isMissing(error)) throw error
        await readdir(folder)
        return undefined
      }
    },
    async writeOwner(record) {
      // Other servers of the record may do the same at this moment.
      await writeWhole(owner, Buffer.from(`${record}\n`), `${owner}.${randomUUID()}`)
      await syncFolder(folder)
    },
    async write(file, bytes) {
      // Where a disk is not mounted, nothing is written beneath.
      await access(owner)
      await mkdir(folderOf(file)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
      await writeWhole(pathOf(file), bytes, `${pathOf(file)}.part`)
      for (const changed of [folderOf(file), folder]) await syncFolder(changed)
    },
    read: (file, from, length) =>
      whereItIs(async () => {
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
      }),
    async remove(file) {
      await whereItIs(() => unlink(`${pathOf(file)}.part`))
      await whereItIs(() => unlink(pathOf(file)))
      await whereItIs(() => syncFolder(folderOf(file)))
    },
    size: (file) =>
      whereItIs(async () => {
        const handle = await open(pathOf(file), 'r')
        try {
          return (await handle.stat()).size
        } finally {
          await handle.close()
        }
      }),
  }
}

/** See `maxWrite` in cleaning.ts. */
const maxWriteMs = 30_000

async function writeWhole(path: string, bytes: Buffer, unfinished: string): Promise<void> {
  const began = performance.now()
  await writeFile(unfinished, bytes, { mode: 0o600, flush: true })
  // A disk that hung: an erasure may have counted on the file never being there.
  if (performance.now() - began > maxWriteMs) throw new Error(`${unfinished} took too long to write`)
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
