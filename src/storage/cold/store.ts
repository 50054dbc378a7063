import { mkdir, open, readdir, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'

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
  const folderOf = (file: string) => join(folder, file.slice(0, 2))
  const pathOf = (file: string) => join(folderOf(file), `${file}.cold`)

  async function whereItIs<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      if (!isMissing(error)) throw error
      // A folder that is not mounted has no files, and they are not lost.
      await readdir(folder)
      return undefined
    }
  }

  return {
    address: folder,
    async write(file, bytes) {
      // Not recursive: where a disk is not mounted, nothing is written beneath.
      await mkdir(folderOf(file)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
      const unfinished = `${pathOf(file)}.part`
      const handle = await open(unfinished, 'w', 0o600)
      try {
        await handle.writeFile(bytes)
        await handle.sync()
      } finally {
        await handle.close()
      }
      await rename(unfinished, pathOf(file))
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

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
