/** Rows travel in chunks that end at about this many bytes, so that large rows do not pile up in memory. */
export const chunkBytes = 1 << 20

/** To hand over less costs more than to copy it. */
const leastHandedOver = 4096

/** `binaries` gets the memory of large binary values, which another thread can be given instead of a copy. */
export function bytesOfRow(row: unknown, binaries?: ArrayBuffer[]): number {
  let bytes = 0
  for (const value of Object.values(row as object)) {
    bytes += typeof value === 'string' || value instanceof Uint8Array ? value.length : 8
    if (binaries && value instanceof Uint8Array && isAlone(value)) binaries.push(value.buffer as ArrayBuffer)
  }
  return bytes
}

function isAlone({ byteLength, buffer }: Uint8Array): boolean {
  return byteLength >= leastHandedOver && byteLength === buffer.byteLength && buffer instanceof ArrayBuffer
}
