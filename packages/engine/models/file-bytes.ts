import type { FileHandle } from 'node:fs/promises'

/** The bytes of a file are not a GGUF header. */
export class GgufError extends Error {}

/** The size of one read, and of the longest value that can be read. */
const maxReadBytes = 256 * 1024

export type FileBytes = ReturnType<typeof fileBytes>

/** A file read from its beginning, in pieces of one size, so that no length in the file decides how much memory is used. */
export function fileBytes(file: FileHandle, size: number) {
  const piece = Buffer.allocUnsafe(maxReadBytes)
  let start = 0
  let end = 0
  let position = 0

  async function fill(length: number): Promise<void> {
    if (position + length > size) throw new GgufError('it ends too early')
    if (position >= start && position + length <= end) return
    const { bytesRead } = await file.read(piece, 0, piece.length, position)
    if (bytesRead < length) throw new GgufError('it ends too early')
    start = position
    end = position + bytesRead
  }

  async function take(length: number): Promise<Buffer> {
    if (length > maxReadBytes) throw new GgufError(`it has a text of ${length} bytes`)
    await fill(length)
    const found = piece.subarray(position - start, position - start + length)
    position += length
    return found
  }

  function skip(length: number): void {
    if (position + length > size) throw new GgufError('it ends too early')
    position += length
  }

  const lengthAt = (at: number) => {
    const length = piece.readBigUInt64LE(at)
    if (length > BigInt(Number.MAX_SAFE_INTEGER)) throw new GgufError(`it claims a length of ${length}`)
    return Number(length)
  }

  return {
    position: () => position,
    take,
    skip,
    async u32(): Promise<number> {
      return (await take(4)).readUInt32LE()
    },
    async u64(): Promise<number> {
      await fill(8)
      const value = lengthAt(position - start)
      position += 8
      return value
    },
    /** Skips texts that follow each other, each after its length. */
    async skipTexts(count: number): Promise<void> {
      for (let left = count; left > 0; ) {
        await fill(8)
        // All of this piece without a promise for each: a vocabulary has hundreds of thousands.
        for (; left > 0 && position >= start && position + 8 <= end; left--) {
          const length = lengthAt(position - start)
          position += 8
          skip(length)
        }
      }
    },
  }
}
