import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import type { ColdColumn, Reference } from './reference.ts'

export interface ColdText {
  call: string
  column: ColdColumn
  text: string
}

/** A block that was read. Texts are decoded when they are asked for. */
export interface Block {
  project: string
  entries: readonly Omit<ColdText, 'text'>[]
  /** Of the texts in UTF-8. */
  bytes: number
  textOf(entry: number): string
}

interface Head {
  file: string
  project: string
  entries: [call: string, column: ColdColumn, bytes: number][]
}

/** A block is read whole for one text of it: enough to compress well, little enough to be read in a millisecond. */
const maxBlockBytes = 256 * 1024
const maxBlockTexts = 100

/** More than any block of ours. */
const maxUnpackedBytes = 1 << 30

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

/** The blocks of a file, one after the other, with the reference of each text. */
export async function packFile(
  file: string,
  project: string,
  texts: readonly ColdText[],
): Promise<{ bytes: Buffer; references: Reference[] }> {
  const blocks: Buffer[] = []
  const references: Reference[] = []
  let offset = 0
  for (let first = 0; first < texts.length; ) {
    const head: Head = { file, project, entries: [] }
    const bodies: Buffer[] = []
    for (let bytes = 0; first < texts.length && head.entries.length < maxBlockTexts; first++) {
      const { call, column, text } = texts[first] as ColdText
      const body = Buffer.from(text)
      if (bytes > 0 && bytes + body.length > maxBlockBytes) break
      bytes += body.length
      head.entries.push([call, column, body.length])
      bodies.push(body)
    }
    const block = await packed(head, bodies)
    head.entries.forEach((_, entry) => {
      references.push({ file, offset, length: block.length, entry })
    })
    blocks.push(block)
    offset += block.length
  }
  return { bytes: Buffer.concat(blocks), references }
}

function packed(head: Head, bodies: readonly Buffer[]): Promise<Buffer> {
  const described = Buffer.from(JSON.stringify(head))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(described.length)
  return compress(Buffer.concat([length, described, ...bodies]), {
    chunkSize: maxBlockBytes,
    // The frame has a checksum of what was compressed.
    params: { [constants.ZSTD_c_checksumFlag]: 1, [constants.ZSTD_c_compressionLevel]: 6 },
  })
}

/** Whether a file has this many bytes, in blocks that can be read. */
export async function isWhole(file: string, read: Uint8Array, bytes: number): Promise<boolean> {
  if (read.length !== bytes) return false
  const options = { maxOutputLength: maxUnpackedBytes, info: true }
  try {
    for (let from = 0; from < bytes; ) {
      // The types know no `info`.
      const { buffer, engine } = (await decompress(read.subarray(from), options)) as unknown as {
        buffer: Buffer
        engine: { bytesWritten: number }
      }
      if (buffer.indexOf(`{"file":"${file}"`) !== 4) return false
      from += engine.bytesWritten
    }
    return true
  } catch {
    return false
  }
}

/** Throws if it is damaged, or not of this file. */
export async function readBlock(file: string, bytes: Uint8Array): Promise<Block> {
  const unpacked = await decompress(bytes, {
    maxOutputLength: maxUnpackedBytes,
    chunkSize: 2 * maxBlockBytes,
  })
  const start = 4 + unpacked.readUInt32LE(0)
  const head = JSON.parse(unpacked.toString('utf8', 4, start)) as Head
  if (head.file !== file) throw new Error(`the block is of the file ${head.file}`)
  const ends: number[] = []
  let end = start
  for (const [, , length] of head.entries) {
    end += length
    ends.push(end)
  }
  if (end !== unpacked.length) throw new Error('the block has another length')
  return {
    project: head.project,
    entries: head.entries.map(([call, column]) => ({ call, column })),
    bytes: unpacked.length,
    textOf(entry) {
      const until = ends[entry]
      if (until === undefined) throw new Error(`the block has no entry ${entry}`)
      return unpacked.toString('utf8', ends[entry - 1] ?? start, until)
    },
  }
}
