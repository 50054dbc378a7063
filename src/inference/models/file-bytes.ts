import type { FileHandle } from 'node:fs/promises'

/** The file ends where something should be, or claims what cannot be. */
export class BadBytes extends Error {}

/** So much of a file is looked at at once; nothing longer is taken as a whole. */
export const longestTaken = 256 * 1024

/** A file from its beginning on, read in pieces of one size whatever lengths it claims. */
export interface FileBytes {
  position(): number
  take(length: number): Promise<Buffer>
  u32(): Promise<number>
  u64(): Promise<number>
  skip(length: number): void
  /** Goes past texts that follow each other, each after its length. */
  skipTexts(count: number): Promise<void>
}

export function fileBytes(file: FileHandle, size: number): FileBytes {
  const piece = Buffer.allocUnsafe(longestTaken)
  let start = 0
  let end = 0
  let position = 0

  async function fill(length: number): Promise<void> {
    if (position + length > size) throw new BadBytes('it ends too early')
    if (position >= start && position + length <= end) return
    const { bytesRead } = await file.read(piece, 0, piece.length, position)
    if (bytesRead < length) throw new BadBytes('it ends too early')
    start = position
    end = position + bytesRead
  }

  async function take(length: number): Promise<Buffer> {
    if (length > longestTaken) throw new BadBytes(`it has a text of ${length} bytes`)
    await fill(length)
    const found = piece.subarray(position - start, position - start + length)
    position += length
    return found
  }

  function skip(length: number): void {
    if (position + length > size) throw new BadBytes('it ends too early')
    position += length
  }

  const lengthAt = (at: number) => {
    const length = piece.readBigUInt64LE(at)
    if (length > BigInt(Number.MAX_SAFE_INTEGER)) throw new BadBytes(`it claims a length of ${length}`)
    return Number(length)
  }

  return {
    position: () => position,
    take,
    skip,
    async u32() {
      return (await take(4)).readUInt32LE()
    },
    async u64() {
      await fill(8)
      const value = lengthAt(position - start)
      position += 8
      return value
    },
    async skipTexts(count) {
      for (let left = count; left > 0; ) {
        await fill(8)
        // As many as this piece has, without a promise for each: a vocabulary has hundreds of thousands.
        for (; left > 0 && position >= start && position + 8 <= end; left--) {
          const length = lengthAt(position - start)
          position += 8
          skip(length)
        }
      }
    },
  }
}
