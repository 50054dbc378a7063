import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, rename, rm, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { whileLocked } from './download-lock.ts'
import { type Hub, type HubFile, openHubFile, shortReason } from './hub.ts'
import { shownBytes } from './memory.ts'
import { ModelTrouble, reasonOf } from './trouble.ts'

export interface DownloadWatch {
  signal: AbortSignal
  onProgress(done: number, total: number): void
  /** Another process is at the same file. */
  onWait(): void
  /** Before the next attempt, after one that brought nothing new; for tests. */
  pauseMs?: (failures: number) => number
}

/** Attempts in a row that bring nothing. */
const mostFailures = 5
/** So long without a byte is the end of a connection. */
const silenceMs = 60_000

const usualPause = (failures: number) => Math.min(30_000, 1000 * 2 ** failures)

/**
 * Brings a file of the hub to `target`, where it stands whole or not at all. What was begun and broken off goes on from
 * there, also in another process and at another time.
 */
export async function download(
  hub: Hub,
  repository: string,
  file: HubFile,
  target: string,
  watch: DownloadWatch,
): Promise<void> {
  const folder = dirname(target)
  try {
    await mkdir(folder, { recursive: true })
    await whileLocked(`${target}.lock`, watch, async () => {
      if (!(await exists(target))) await bring(hub, repository, file, target, watch)
    })
  } catch (error) {
    if (error instanceof ModelTrouble || watch.signal.aborted) throw error
    throw new ModelTrouble(`${target} cannot be written: ${reasonOf(error)}.`, {
      mayPass: true,
      cause: error,
    })
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await (await open(path)).close()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

/** A model must not take the room in which the record beside it goes on. */
const keptFree = 64 * 1024 * 1024

async function checkRoom(folder: string, path: string, missing: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (missing === 0 || bavail * bsize >= missing + keptFree) return
  throw new ModelTrouble(
    `${path} takes ${shownBytes(missing)} more and the disk of ${folder} has ${shownBytes(bavail * bsize)} free, of which ${shownBytes(keptFree)} are left to the record.`,
    { mayPass: true },
  )
}

async function bring(
  hub: Hub,
  repository: string,
  file: HubFile,
  target: string,
  watch: DownloadWatch,
): Promise<void> {
  // A file that has changed on the hub has another sum, and is begun anew.
  const partial = `${target}.${(file.sha256 ?? 'unknown').slice(0, 16)}.part`
  const begun = await openPartial(partial, watch.signal)
  try {
    await checkRoom(dirname(target), file.path, file.bytes - begun.length)
    const expected = await fill(hub, repository, file, begun, watch)
    if (begun.hash.digest('hex') !== expected) {
      await rm(partial, { force: true })
      throw new ModelTrouble(
        `${file.path} of ${repository} arrived damaged: its SHA-256 is not ${expected}. It was thrown away.`,
        { mayPass: true },
      )
    }
    await begun.file.datasync()
  } finally {
    await begun.file.close()
  }
  await rename(partial, target)
  await syncFolder(dirname(target))
}

interface Begun {
  file: FileHandle
  length: number
  hash: Hash
}

async function openPartial(path: string, signal: AbortSignal): Promise<Begun> {
  const file = await open(path, 'a')
  try {
    const hash = createHash('sha256')
    let length = 0
    for await (const piece of createReadStream(path, { highWaterMark: 1 << 20, signal })) {
      hash.update(piece)
      length += (piece as Buffer).length
    }
    return { file, length, hash }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Answers the sum that the hub says the whole file has. */
async function fill(
  hub: Hub,
  repository: string,
  file: HubFile,
  begun: Begun,
  watch: DownloadWatch,
): Promise<string> {
  const pause = watch.pauseMs ?? usualPause
  let furthest = begun.length
  for (let failures = 0; ; ) {
    try {
      const expected = await attempt(hub, repository, file, begun, watch)
      if (begun.length === file.bytes) return expected
      throw new ModelTrouble(`${file.path} of ${repository} ended after ${begun.length} bytes`, {
        mayPass: true,
      })
    } catch (error) {
      if (watch.signal.aborted || !(error instanceof ModelTrouble) || !error.mayPass) throw error
      failures = begun.length > furthest ? 0 : failures + 1
      furthest = Math.max(furthest, begun.length)
      if (failures >= mostFailures) throw error
      await delay(pause(failures), undefined, { signal: watch.signal })
    }
  }
}

async function attempt(
  hub: Hub,
  repository: string,
  file: HubFile,
  begun: Begun,
  watch: DownloadWatch,
): Promise<string> {
  const silence = new AbortController()
  const alarm = setTimeout(
    () => silence.abort(new Error(`nothing came for ${silenceMs / 1000} s`)),
    silenceMs,
  )
  const signal = AbortSignal.any([watch.signal, silence.signal])
  try {
    const answer = await openHubFile(hub, repository, file.path, begun.length, signal)
    const expected = file.sha256 ?? answer.sha256
    if (expected === undefined || (answer.sha256 ?? expected) !== expected) {
      await answer.response.body?.cancel()
      const why = expected === undefined ? 'no SHA-256 of it' : 'two different sums of it'
      throw new ModelTrouble(`The hub names ${why}: ${file.path} of ${repository} cannot be checked.`)
    }
    const start = startOf(answer.response, begun.length)
    if (start === 0 && begun.length > 0) await beginAnew(begun)
    else if (start !== begun.length) throw new Error(`the hub sends it from byte ${start} on`)
    // 416: nothing is left to send.
    if (answer.response.status === 416) return expected
    for await (const piece of answer.response.body ?? []) {
      alarm.refresh()
      if (begun.length + piece.length > file.bytes) {
        throw new ModelTrouble(
          `${file.path} of ${repository} is longer than the ${file.bytes} bytes announced.`,
        )
      }
      await append(begun, piece)
      watch.onProgress(begun.length, file.bytes)
    }
    return expected
  } catch (error) {
    if (error instanceof ModelTrouble || watch.signal.aborted || isOfDisk(error)) throw error
    throw new ModelTrouble(`The download of ${file.path} broke off: ${shortReason(error)}.`, {
      mayPass: true,
      cause: error,
    })
  } finally {
    clearTimeout(alarm)
    silence.abort()
  }
}

/** The first byte of what is sent: the rest of the file, as asked, or the file from its beginning. */
function startOf({ status, headers }: Response, asked: number): number {
  const range = headers.get('content-range') ?? ''
  if (status === 206) return Number(/^bytes (\d+)-/.exec(range)?.[1])
  // There is nothing after what was asked for, if the file is as long as that.
  if (status === 416) return Number(/\*\/(\d+)$/.exec(range)?.[1]) === asked ? asked : 0
  return 0
}

async function beginAnew(begun: Begun): Promise<void> {
  await begun.file.truncate(0)
  begun.length = 0
  begun.hash = createHash('sha256')
}

async function append(begun: Begun, piece: Uint8Array): Promise<void> {
  let written = 0
  while (written < piece.length) {
    const { bytesWritten } = await begun.file.write(piece, written)
    written += bytesWritten
  }
  begun.hash.update(piece)
  begun.length += piece.length
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
