/** What the header of a picture says; `fault` if it is cut off or names no size. */
interface PictureHeader {
  type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'
  width: number
  height: number
  fault?: string
}

type Size = Omit<PictureHeader, 'type'>

/** Reads headers only: pixels stay packed, so a picture that unpacks to much costs nothing here. */
export function headerOf(bytes: Buffer): PictureHeader | undefined {
  const format = formats.find(({ starts }) => starts(bytes))
  return format && { type: format.type, ...format.size(bytes) }
}

const cutOff = { width: 0, height: 0, fault: 'is cut off' }

const isText = (bytes: Buffer, offset: number, text: string) =>
  bytes.toString('latin1', offset, offset + text.length) === text

const formats: readonly {
  type: PictureHeader['type']
  starts(bytes: Buffer): boolean
  size(bytes: Buffer): Size
}[] = [
  { type: 'image/png', starts: (bytes) => isText(bytes, 0, '\x89PNG\r\n\x1a\n'), size: sizeOfPng },
  { type: 'image/jpeg', starts: (bytes) => isText(bytes, 0, '\xff\xd8\xff'), size: sizeOfJpeg },
  {
    type: 'image/gif',
    starts: (bytes) => isText(bytes, 0, 'GIF87a') || isText(bytes, 0, 'GIF89a'),
    size: sizeOfGif,
  },
  {
    type: 'image/webp',
    starts: (bytes) => isText(bytes, 0, 'RIFF') && isText(bytes, 8, 'WEBP'),
    size: sizeOfWebp,
  },
]

function sizeOfPng(bytes: Buffer): Size {
  if (bytes.length < 33) return cutOff
  const size = { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  if (bytes.readUInt32BE(8) !== 13 || !isText(bytes, 12, 'IHDR')) {
    return { ...size, fault: 'does not begin with its size' }
  }
  return size
}

function sizeOfGif(bytes: Buffer): Size {
  if (bytes.length < 14) return cutOff
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
}

/** Frames of JPEG: C0 to CF, without the tables of Huffman codes, of arithmetic codes, and a reserved one. */
const isFrame = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)

const startOfScan = 0xda

/** Each segment has two bytes of marker and at least two of length, so every step goes on. */
function sizeOfJpeg(bytes: Buffer): Size {
  let offset = 2
  while (offset + 4 <= bytes.length) {
    if (bytes[offset] !== 0xff) return { ...cutOff, fault: 'has a segment without a marker' }
    // Markers may be padded.
    while (bytes[offset + 1] === 0xff) offset++
    const marker = bytes[offset + 1] ?? 0
    if (marker === startOfScan) return { ...cutOff, fault: 'has no size before its pixels' }
    if (offset + 9 > bytes.length) return cutOff
    const length = bytes.readUInt16BE(offset + 2)
    if (length < 2) return { ...cutOff, fault: 'has a segment without a length' }
    if (isFrame(marker)) {
      return { width: bytes.readUInt16BE(offset + 7), height: bytes.readUInt16BE(offset + 5) }
    }
    offset += 2 + length
  }
  return cutOff
}

function sizeOfWebp(bytes: Buffer): Size {
  if (bytes.length < 25) return cutOff
  const format = bytes.toString('latin1', 12, 16)
  if (format !== 'VP8L' && bytes.length < 30) return cutOff
  switch (format) {
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
    case 'VP8L': {
      const sizes = bytes.readUInt32LE(21)
      if (bytes[20] !== 0x2f) return { ...cutOff, fault: 'has no start of its pixels' }
      return { width: (sizes & 0x3fff) + 1, height: ((sizes >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8 ':
      if (!isText(bytes, 23, '\x9d\x01\x2a')) return { ...cutOff, fault: 'has no start of its pixels' }
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    default:
      return { ...cutOff, fault: 'does not begin with its size' }
  }
}
