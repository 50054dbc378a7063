/** Rows travel in chunks that end at about this many bytes, so that large rows do not pile up in memory. */
export const chunkBytes = 1 << 20

export function bytesOfRow(row: unknown): number {
  let bytes = 0
  for (const value of Object.values(row as object)) {
    bytes += typeof value === 'string' || value instanceof Uint8Array ? value.length : 8
  }
  return bytes
}
