import { type FileHandle, open, statfs, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { newId } from '../../domain/ids.ts'

/** Bytes of spool files: for all answers together, and for those of one tenant. */
const most = { total: 1 << 30, perTenant: 256 << 20 }

/** Free space that spooling always leaves on the disk. */
const minFree = 1 << 30

/** A queue of values in a file that is already unlinked, so that nothing remains if the process is killed. */
export interface Spool {
  /** Resolves to false if there is no room or the disk refuses. */
  add(value: unknown): Promise<boolean>
  /** Undefined when the queue is empty. */
  take(): Promise<unknown>
  /** Must not be called while something is being added. */
  clear(): Promise<void>
  close(): Promise<void>
}

/** Stores the rest of an answer whose client is stalled, so that no scarce resource waits for that client. */
export function createSpools(folder: string): { open(tenant: string): Spool } {
  const held = new Map<string, number>()
  let total = 0

  function charge(tenant: string, bytes: number): void {
    total += bytes
    const own = (held.get(tenant) ?? 0) + bytes
    if (own > 0) held.set(tenant, own)
    else held.delete(tenant)
  }

  async function makeFile(): Promise<FileHandle | undefined> {
    const { bavail, bsize } = await statfs(folder)
    if (bavail * bsize < minFree + most.total - total) return undefined
    const path = join(folder, `heddle-spool-${newId()}`)
    const made = await open(path, 'wx+', 0o600)
    await unlink(path)
    return made
  }

  function openSpool(tenant: string): Spool {
    let file: FileHandle | undefined
    const lengths: number[] = []
    let writeAt = 0
    let readAt = 0

    return {
      async add(value) {
        const bytes = serialize(value)
        const { length } = bytes
        if (total + length > most.total || (held.get(tenant) ?? 0) + length > most.perTenant) return false
        charge(tenant, length)
        try {
          file ??= await makeFile()
          if (file === undefined) throw new Error('the disk is nearly full')
          const { bytesWritten } = await file.write(bytes, 0, length, writeAt)
          if (bytesWritten !== length) throw new Error('the disk is full')
        } catch {
          // The answer continues at the pace of its client, as if there were no spool.
          charge(tenant, -length)
          return false
        }
        writeAt += length
        lengths.push(length)
        return true
      },
      async take() {
        const length = lengths.shift()
        if (length === undefined || file === undefined) return undefined
        const bytes = Buffer.allocUnsafe(length)
        const { bytesRead } = await file.read(bytes, 0, length, readAt)
        if (bytesRead !== length) throw new Error('data that was written to a spool is missing')
        readAt += length
        return deserialize(bytes)
      },
      async clear() {
        await file?.truncate(0)
        charge(tenant, -writeAt)
        lengths.length = writeAt = readAt = 0
      },
      async close() {
        charge(tenant, -writeAt)
        writeAt = 0
        await file?.close()
      },
    }
  }

  return { open: openSpool }
}
