import { createHash, randomBytes } from 'node:crypto'
import {
  appendFileSync,
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import type { NativeContext } from '../native/native.ts'

/** What a sequence had read, in a file of its own. */
export interface StateFile {
  readonly path: string
  readonly bytes: number
}

/** A file that exists when the engine starts. */
interface FoundFile {
  file: StateFile
  tokens: Uint32Array
  key: string
}

interface StateFilesParts {
  context: Pick<NativeContext, 'save' | 'load' | 'forget'>
  folder: string
  /** Identifies model, engine build and settings (`fingerprintOf`). Files with another fingerprint are useless. */
  fingerprint: string
  /** Writes a line to the log. */
  say(line: string): void
}

export type StateFiles = ReturnType<typeof createStateFiles>

/** What follows the state. Its length is written last, so that a truncated file is recognized by its end. */
interface Trailer {
  fingerprint: string
  key: string
  tokens: number
  bytes: number
  crc: number
}

const mark = 'HEDDLEkv'
const endLength = 8 + mark.length
const maxTrailerLength = 4096
/** What precedes the tokens in a file of llama.cpp: magic, version, number of tokens. */
const headLength = 12
const ending = '.state'
const unfinished = '.part'
/** Between two of these pieces the engine handles its messages. */
const pieceLength = 4 * 1024 * 1024

/**
 * The files of one model, one per conversation: as llama.cpp writes them, followed by a trailer with their identity and
 * checksum. A file gets its name only when it is complete. Its checksum is verified again before llama.cpp reads it,
 * because some broken files would end the process. Calls that may block on the disk are made between two batches, as
 * those of llama.cpp are: the only thread of the pool is the one that computes.
 */
export function createStateFiles({ context, folder, fingerprint, say }: StateFilesParts) {
  let isFailing = false
  /** Another server on this folder may write the same prompt at the same time. */
  const own = `.${process.pid}-${randomBytes(4).toString('hex')}${unfinished}`

  function remove({ path }: Pick<StateFile, 'path'>): void {
    try {
      rmSync(path, { force: true, recursive: true })
    } catch (error) {
      failed(`${path} cannot be removed`, error)
    }
  }

  function namesIn(path: string): string[] {
    try {
      mkdirSync(path, { recursive: true, mode: 0o700 })
      return readdirSync(path)
    } catch (error) {
      failed(`Prompts cannot be kept in ${path}`, error)
      return []
    }
  }

  function failed(what: string, error: unknown): void {
    // A full disk stays full for a while: only the first failure is logged.
    if (!isFailing) say(`${what}: ${error instanceof Error ? error.message : String(error)}`)
    isFailing = true
  }

  return {
    /** The usable files, oldest first. Unusable ones are removed. */
    found(longest: number): FoundFile[] {
      const good: (FoundFile & { changed: number })[] = []
      const unusable = new Map<string, number>()
      for (const name of namesIn(folder)) {
        const path = join(folder, name)
        if (!name.endsWith(ending) && !name.endsWith(unfinished)) continue
        if (isBeingWritten(name)) continue
        const read = name.endsWith(unfinished) ? 'not finished' : readFound(path, fingerprint, longest)
        if (typeof read === 'object') {
          good.push({ ...read, changed: statSync(path).mtimeMs })
          continue
        }
        unusable.set(read, (unusable.get(read) ?? 0) + 1)
        remove({ path })
      }
      for (const [why, count] of unusable)
        say(`${count} kept prompts in ${folder} are ${why}, and were removed`)
      return good.sort((a, b) => a.changed - b.changed)
    },
    /** Undefined when it could not be written; the log has the reason. */
    async save(sequence: number, tokens: readonly number[], key: string): Promise<StateFile | undefined> {
      const read = Uint32Array.from(tokens)
      const name = createHash('sha256').update(key).update(read).digest('hex').slice(0, 32)
      const path = join(folder, name + ending)
      const partial = join(folder, name + own)
      try {
        // llama.cpp overwrites this file and keeps its mode.
        closeSync(openSync(partial, 'w', 0o600))
        const bytes = await context.save(partial, sequence, read)
        const sum = await sumOf(partial, bytes)
        if (sum === undefined || sum.length !== bytes) throw new Error('the file is incomplete')
        const trailer: Trailer = { fingerprint, key, tokens: read.length, bytes, crc: sum.crc }
        const end = trailerBytes(trailer)
        appendFileSync(partial, end)
        renameSync(partial, path)
        isFailing = false
        return { path, bytes: bytes + end.length }
      } catch (error) {
        failed('A prompt could not be kept on disk', error)
        remove({ path: partial })
        return undefined
      }
    },
    /** Gives the sequence the first `count` tokens. False when it is empty instead; the file is then removed. */
    async load(file: StateFile, tokens: number, to: number, count: number): Promise<boolean> {
      try {
        const trailer = readTrailer(file.path)
        const sum = trailer && (await sumOf(file.path, trailer.bytes))
        if (trailer?.fingerprint !== fingerprint || sum?.crc !== trailer.crc) throw new Error('it is broken')
        await context.load(file.path, to, tokens)
        if (count < tokens && !context.forget(to, count))
          throw new Error('it cannot be shortened to the part that is needed')
        utimesSync(file.path, new Date(), new Date())
        return true
      } catch (error) {
        say(`The kept prompt ${file.path} was removed: ${error instanceof Error ? error.message : error}`)
        context.forget(to, 0)
        remove(file)
        return false
      }
    },
    remove,
  }
}

/**
 * Whether another running process of this machine is writing it. In a container every start may have the same process
 * number.
 */
function isBeingWritten(name: string): boolean {
  const [, pid] = /\.(\d+)-[0-9a-f]+\.part$/.exec(name) ?? []
  if (pid === undefined || Number(pid) === process.pid) return false
  try {
    return process.kill(Number(pid), 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function trailerBytes(trailer: Trailer): Buffer {
  const text = Buffer.from(JSON.stringify(trailer))
  const numbers = Buffer.alloc(8)
  numbers.writeUInt32LE(crc32(text), 0)
  numbers.writeUInt32LE(text.length, 4)
  return Buffer.concat([text, numbers, Buffer.from(mark)])
}

function readTrailer(path: string): Trailer | undefined {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const end = Buffer.alloc(endLength)
    if (size < endLength || readSync(file, end, 0, endLength, size - endLength) < endLength) return undefined
    const length = end.readUInt32LE(4)
    if (end.toString('latin1', 8) !== mark || length > maxTrailerLength) return undefined
    const text = Buffer.alloc(length)
    if (readSync(file, text, 0, length, size - endLength - length) < length) return undefined
    if (crc32(text) !== end.readUInt32LE(0)) return undefined
    const trailer: Trailer = JSON.parse(text.toString())
    return trailer.bytes + length + endLength === size ? trailer : undefined
  } finally {
    closeSync(file)
  }
}

/** What a file contains, or why it is unusable. */
function readFound(path: string, fingerprint: string, longest: number): FoundFile | 'broken' | 'of others' {
  try {
    const trailer = readTrailer(path)
    if (trailer === undefined) return 'broken'
    if (trailer.fingerprint !== fingerprint || trailer.tokens > longest) return 'of others'
    const bytes = Buffer.alloc(4 * trailer.tokens)
    const file = openSync(path, 'r')
    try {
      if (readSync(file, bytes, 0, bytes.length, headLength) < bytes.length) return 'broken'
    } finally {
      closeSync(file)
    }
    const tokens = new Uint32Array(bytes.buffer, bytes.byteOffset, trailer.tokens).slice()
    return { file: { path, bytes: statSync(path).size }, tokens, key: trailer.key }
  } catch {
    // The file is missing or unreadable: the same as broken.
    return 'broken'
  }
}

/** The checksum of the first `bytes` bytes; undefined when the file is shorter. */
async function sumOf(path: string, bytes: number): Promise<{ crc: number; length: number } | undefined> {
  const file = openSync(path, 'r')
  try {
    const piece = Buffer.allocUnsafe(Math.min(bytes, pieceLength))
    let crc = 0
    let length = 0
    while (length < bytes) {
      const read = readSync(file, piece, 0, Math.min(piece.length, bytes - length), length)
      if (read === 0) return undefined
      crc = crc32(piece.subarray(0, read), crc)
      length += read
      await turn()
    }
    return { crc, length }
  } finally {
    closeSync(file)
  }
}
