import { createHash, type Hash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { type FileHandle, mkdir, open, rename, rm, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { type Hub, type HubFile, openHubFile, shortReason } from './hub.ts'
import { shownBytes } from './memory.ts'
import { ModelError, reasonOf } from './model-error.ts'

export interface DownloadWatch {
  signal: AbortSignal
  onProgress(done: number, total: number): void
  /** Another process downloads the same file. */
  onWait(): void
  /** The pause before the next attempt, after one that returned nothing new; for tests. */
  pauseMs?: (failures: number) => number
}

/** Attempts in a row without new data. */
const maxFailures = 5
/** A connection without a byte for this long counts as broken. */
const silenceMs = 60_000
/** Between looks at whether another process has finished. */
const lockedMs = 500
/** Free space that a download leaves for the record on the same disk. */
const reservedBytes = 64 * 1024 * 1024

const usualPause = (failures: number) => Math.min(30_000, 1000 * 2 ** failures)

/** Limits progress reports to the first and one for each further step of this many percent. */
export function reportedEvery(
  percent: number,
  report: (line: string, figures: { done: number; total: number }) => void,
): (done: number, total: number) => void {
  let next = 0
  return (done, total) => {
    const share = total === 0 ? 100 : Math.floor((100 * done) / total)
    if (share < next) return
    next = (Math.floor(share / percent) + 1) * percent
    report(`${share} % of ${shownBytes(total)}`, { done, total })
  }
}

/** The file on the hub, and the part of it that is on disk. */
interface Transfer {
  hub: Hub
  repository: string
  remote: HubFile
  /** The unfinished file, open for appending. */
  local: FileHandle
  length: number
  /** The hash of these bytes. */
  hash: Hash
}

/** Puts a file of the hub at `target`, complete or not at all. An interrupted download continues, also in another process. */
export async function download(
  hub: Hub,
  repository: string,
  remote: HubFile,
  target: string,
  watch: DownloadWatch,
): Promise<void> {
  try {
    await mkdir(dirname(target), { recursive: true })
    await whileLocked(`${target}.lock`, watch, async () => {
      if (existsSync(target)) return
      // A file that has changed on the hub has another sum, and starts again.
      const partial = `${target}.${(remote.sha256 ?? 'unknown').slice(0, 16)}.part`
      const local = await open(partial, 'a')
      try {
        const { hash, length } = await hashOf(partial, watch.signal)
        const transfer = { hub, repository, remote, local, hash, length }
        await checkRoom(dirname(target), remote.path, remote.bytes - length)
        const expected = await complete(transfer, watch)
        if (transfer.hash.digest('hex') !== expected) {
          await rm(partial, { force: true })
          throw new ModelError(
            `${remote.path} of ${repository} arrived damaged: its SHA-256 is not ${expected}. It was deleted.`,
            { isTemporary: true },
          )
        }
        await local.datasync()
      } finally {
        await local.close()
      }
      await rename(partial, target)
      await syncFolder(dirname(target))
    })
  } catch (error) {
    if (error instanceof ModelError || watch.signal.aborted) throw error
    throw new ModelError(`${target} cannot be written: ${reasonOf(error)}.`, {
      isTemporary: true,
      cause: error,
    })
  }
}

/**
 * Does the work while no other process does it. The lock is that of an empty SQLite file: the system releases it when a
 * process ends, however it ends.
 */
async function whileLocked<Result>(
  file: string,
  { signal, onWait }: { signal: AbortSignal; onWait: () => void },
  work: () => Promise<Result>,
): Promise<Result> {
  const lock = new Database(file, { timeout: 0 })
  try {
    for (let attempt = 0; !acquired(lock); attempt++) {
      if (attempt === 0) onWait()
      await delay(lockedMs, undefined, { signal })
    }
    return await work()
  } finally {
    lock.close()
  }
}

function acquired(lock: Database.Database): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return false
    throw error
  }
}

async function hashOf(path: string, signal: AbortSignal): Promise<{ hash: Hash; length: number }> {
  const hash = createHash('sha256')
  let length = 0
  for await (const piece of createReadStream(path, { highWaterMark: 1 << 20, signal })) {
    hash.update(piece)
    length += (piece as Buffer).length
  }
  return { hash, length }
}

async function checkRoom(folder: string, path: string, missing: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (missing === 0 || bavail * bsize >= missing + reservedBytes) return
  throw new ModelError(
    `${path} takes ${shownBytes(missing)} more and the disk of ${folder} has ${shownBytes(bavail * bsize)} free, of which ${shownBytes(reservedBytes)} are reserved for the record.`,
    { isTemporary: true },
  )
}

/** Returns the sum that the hub names for the whole file. */
async function complete(transfer: Transfer, watch: DownloadWatch): Promise<string> {
  const { repository, remote } = transfer
  const pause = watch.pauseMs ?? usualPause
  let furthest = transfer.length
  for (let failures = 0; ; ) {
    try {
      const expected = await attempt(transfer, watch)
      if (transfer.length === remote.bytes) return expected
      throw new ModelError(`${remote.path} of ${repository} ended after ${transfer.length} bytes`, {
        isTemporary: true,
      })
    } catch (error) {
      if (watch.signal.aborted || !(error instanceof ModelError) || !error.isTemporary) throw error
      failures = transfer.length > furthest ? 0 : failures + 1
      furthest = Math.max(furthest, transfer.length)
      if (failures >= maxFailures) throw error
      await delay(pause(failures), undefined, { signal: watch.signal })
    }
  }
}

async function attempt(transfer: Transfer, watch: DownloadWatch): Promise<string> {
  const { hub, repository, remote, local } = transfer
  const silence = new AbortController()
  const alarm = setTimeout(
    () => silence.abort(new Error(`nothing came for ${silenceMs / 1000} s`)),
    silenceMs,
  )
  const signal = AbortSignal.any([watch.signal, silence.signal])
  try {
    const answer = await openHubFile(hub, repository, remote.path, transfer.length, signal)
    const expected = remote.sha256 ?? answer.sha256
    if (expected === undefined || (answer.sha256 ?? expected) !== expected) {
      await answer.response.body?.cancel()
      const why = expected === undefined ? 'no SHA-256' : 'two different checksums'
      throw new ModelError(`The hub names ${why}: ${remote.path} of ${repository} cannot be checked.`)
    }
    const start = startOf(answer.response, transfer.length)
    if (start === 0 && transfer.length > 0) {
      await local.truncate(0)
      transfer.length = 0
      transfer.hash = createHash('sha256')
    } else if (start !== transfer.length) throw new Error(`the hub sends it from byte ${start} on`)
    // 416: nothing is left to send.
    if (answer.response.status === 416) return expected
    for await (const piece of answer.response.body ?? []) {
      alarm.refresh()
      if (transfer.length + piece.length > remote.bytes) {
        throw new ModelError(
          `${remote.path} of ${repository} is longer than the ${remote.bytes} bytes announced.`,
        )
      }
      await local.appendFile(piece)
      transfer.hash.update(piece)
      transfer.length += piece.length
      watch.onProgress(transfer.length, remote.bytes)
    }
    return expected
  } catch (error) {
    if (error instanceof ModelError || watch.signal.aborted || isOfDisk(error)) throw error
    throw new ModelError(`The download of ${remote.path} was interrupted: ${shortReason(error)}.`, {
      isTemporary: true,
      cause: error,
    })
  } finally {
    clearTimeout(alarm)
    silence.abort()
  }
}

/** The first byte of an answer: the one asked for, or 0 when the hub sends the whole file. */
function startOf({ status, headers }: Response, asked: number): number {
  const range = headers.get('content-range') ?? ''
  if (status === 206) return Number(/^bytes (\d+)-/.exec(range)?.[1])
  // Nothing comes after the byte asked for, if the file is exactly that long.
  if (status === 416) return Number(/\*\/(\d+)$/.exec(range)?.[1]) === asked ? asked : 0
  return 0
}

function isOfDisk(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EFBIG'].includes((error as NodeJS.ErrnoException).code ?? '')
}

async function syncFolder(folder: string): Promise<void> {
  // Windows opens no folders; there the name is safe without this.
  if (process.platform === 'win32') return
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
