/** Rows travel in chunks of about this many bytes, so that large rows do not pile up in memory. */
export const chunkBytes = 1 << 20

/** Below this size, transferring a buffer costs more than copying it. */
const minTransferred = 4096

/**
 * `binaries` collects the buffers of large binary values, which can be transferred to another thread instead of copied.
 */
export function bytesOfRow(row: unknown, binaries?: ArrayBuffer[]): number {
  let bytes = 0
  for (const value of Object.values(row as object)) {
    bytes += typeof value === 'string' || value instanceof Uint8Array ? value.length : 8
    if (binaries && value instanceof Uint8Array && isAlone(value)) binaries.push(value.buffer as ArrayBuffer)
  }
  return bytes
}

function isAlone({ byteLength, buffer }: Uint8Array): boolean {
  return byteLength >= minTransferred && byteLength === buffer.byteLength && buffer instanceof ArrayBuffer
}
