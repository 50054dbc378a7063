/** How columns of an evaluation are stored as bytes. The first byte gives the encoding; values begin at the ninth. */
const ways = { truths: 0, numbers: 1 } as const
const headBytes = 8
const unknown = 255

/** NaN means that there is no number. */
export function packNumbers(numbers: readonly number[]): Uint8Array {
  if (numbers.every((number) => Number.isNaN(number) || Object.is(number, 0) || number === 1)) {
    const bytes = new Uint8Array(headBytes + numbers.length)
    bytes[0] = ways.truths
    for (const [i, number] of numbers.entries())
      bytes[headBytes + i] = Number.isNaN(number) ? unknown : number
    return bytes
  }
  const bytes = new Uint8Array(headBytes + numbers.length * 8)
  bytes[0] = ways.numbers
  new Float64Array(bytes.buffer, headBytes).set(numbers)
  return bytes
}

export function unpackNumbers(bytes: Uint8Array): Float64Array {
  if (bytes[0] === ways.numbers) {
    const { buffer, byteOffset, length } = aligned(bytes, 8)
    return new Float64Array(buffer, byteOffset + headBytes, (length - headBytes) / 8)
  }
  const numbers = new Float64Array(bytes.length - headBytes)
  for (let i = 0; i < numbers.length; i++) {
    const value = bytes[headBytes + i] as number
    numbers[i] = value === unknown ? Number.NaN : value
  }
  return numbers
}

/** The sum of the values at these indexes that are numbers. */
export function sumAt(bytes: Uint8Array, indexes: Int32Array): number {
  const numbers = unpackNumbers(bytes)
  let [sum, rest] = [0, 0]
  for (let i = 0; i < indexes.length; i++) {
    const number = numbers[indexes[i] as number] as number
    if (Number.isNaN(number)) continue
    const added = sum + number
    rest += roundingError(sum, number, added)
    sum = added
  }
  return sum + rest
}

/**
 * The rounding error of `sum`, the sum of the two numbers (Neumaier). With it, equal numbers give equal means in
 * whatever order they are added.
 */
export function roundingError(a: number, b: number, sum: number): number {
  return Math.abs(a) >= Math.abs(b) ? a - sum + b : b - sum + a
}

export function packWhole(numbers: readonly number[]): Uint8Array {
  return new Uint8Array(Int32Array.from(numbers).buffer)
}

export function unpackWhole(bytes: Uint8Array): Int32Array {
  const { buffer, byteOffset, length } = aligned(bytes, 4)
  return new Int32Array(buffer, byteOffset, length / 4)
}

/** Bytes from elsewhere may start at any offset of their memory, where no array of larger numbers can start. */
function aligned(bytes: Uint8Array, size: number): Uint8Array {
  return bytes.byteOffset % size === 0 ? bytes : new Uint8Array(bytes)
}

const separator = '\0'

/** None of the texts contains U+0000. */
export function packTexts(texts: readonly string[]): Uint8Array {
  return new TextEncoder().encode(texts.join(separator))
}

export function unpackTexts(bytes: Uint8Array): string[] {
  return textOf(bytes).split(separator)
}

/** Reads some of many texts without ever decoding the others. */
export interface PackedTexts {
  length: number
  at(index: number): string
}

export function openTexts(bytes: Uint8Array, length: number): PackedTexts {
  const width = (bytes.length + 1) / length
  if (areOfWidth(bytes, length, width)) {
    return { length, at: (index) => textOf(bytes.subarray(index * width, (index + 1) * width - 1)) }
  }
  const ends = new Int32Array(length)
  let found = 0
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === 0) ends[found++] = at
  ends[length - 1] = bytes.length
  return {
    length,
    at: (index) => textOf(bytes.subarray(index === 0 ? 0 : (ends[index - 1] as number) + 1, ends[index])),
  }
}

/** True for most columns of digests. The only separators are those between the texts, so all texts have this width. */
function areOfWidth(bytes: Uint8Array, length: number, width: number): boolean {
  if (!Number.isInteger(width)) return false
  for (let index = 1; index < length; index++) if (bytes[index * width - 1] !== 0) return false
  return true
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
}
