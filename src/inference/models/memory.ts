import type { GgufHeader } from './gguf-header.ts'

export interface MemoryNeed {
  weights: number
  cache: number
  /** Buffers of the engine. */
  work: number
}

export interface Sizes {
  context: number
  parallel: number
  batch: number
}

export const mebi = 1024 * 1024

/** The memory of the engine's process before it has a model. */
const processBytes = 96 * mebi

/** Keys and values are 16-bit numbers. */
export function cacheBytesOfToken({ kvHeads, keyLength, valueLength }: GgufHeader): number {
  return 2 * kvHeads * (keyLength + valueLength)
}

/** An estimate, rather a little too high than too low. */
export function memoryNeed(header: GgufHeader, { context, parallel, batch }: Sizes): MemoryNeed {
  const { vocabulary, embedding } = header
  // For each token of a batch: logits, a handful of rows of the widest layer, and its row of the attention mask.
  const perToken = 4 * (vocabulary + 16 * embedding) + 2 * context * parallel
  return {
    weights: header.weightBytes || header.fileBytes,
    cache: cacheBytesOfToken(header) * context * parallel,
    work: processBytes + batch * perToken,
  }
}

export function totalOf({ weights, cache, work }: MemoryNeed): number {
  return weights + cache + work
}

export function shownBytes(bytes: number): string {
  if (bytes >= 1024 * mebi) return `${(bytes / (1024 * mebi)).toFixed(1)} GiB`
  if (bytes >= mebi) return `${(bytes / mebi).toFixed(0)} MiB`
  return `${Math.ceil(bytes / 1024)} KiB`
}
