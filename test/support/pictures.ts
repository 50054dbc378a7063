import { createHash } from 'node:crypto'

/** How Weave names a file: by its bytes. */
export const digestOf = (bytes: Buffer): string =>
  createHash('sha256').update(bytes).digest('base64url').replaceAll('-', 'X').replaceAll('_', 'Y')

/** A PNG with this size in its header, and so many bytes in place of its pixels, which nobody here unpacks. */
export function pngOf(width: number, height: number, bytes = 12): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width)
  header.writeUInt32BE(height, 4)
  const chunk = (type: string, data: Buffer) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(data.length)
    return Buffer.concat([length, Buffer.from(type), data, Buffer.alloc(4)])
  }
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', Buffer.alloc(bytes)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

const word = (value: number, isLittle = false) =>
  isLittle ? [value & 255, value >> 8] : [value >> 8, value & 255]

export const jpegOf = (width: number, height: number): Buffer =>
  Buffer.from([
    ...[0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0],
    ...[0xff, 0xc0, 0, 8, 8, ...word(height), ...word(width), 1],
    ...[0xff, 0xda, 0, 3, 0, 1, 2, 3, 0xff, 0xd9],
  ])

export const gifOf = (width: number, height: number): Buffer =>
  Buffer.from([...Buffer.from('GIF89a'), ...word(width, true), ...word(height, true), 0, 0, 0, 0x2c, 0, 0x3b])

export function webpOf(width: number, height: number): Buffer {
  const body = Buffer.from([
    ...Buffer.from('WEBPVP8 '),
    ...[10, 0, 0, 0, 0, 0, 0, 0x9d, 1, 0x2a],
    ...[...word(width, true), ...word(height, true)],
  ])
  return Buffer.concat([Buffer.from('RIFF'), Buffer.from([body.length, 0, 0, 0]), body])
}
