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
  /** Layers on the GPU, the output layer included. */
  gpuLayers: number
}

export const mebi = 1024 * 1024

/** The memory of the engine's process before it has a model. */
const processBytes = 96 * mebi

/** Keys and values are 16-bit numbers. */
export function cacheBytesOfToken({ kvHeads, keyLength, valueLength }: GgufHeader): number {
  return 2 * kvHeads * (keyLength + valueLength)
}

/** The layers that llama.cpp can put on a GPU: the output counts as one. */
export function layersOf({ layers }: GgufHeader): number {
  return layers + 1
}

/** An estimate, rather a little too high than too low, of the memory of the machine and of the GPU. */
export function memoryNeed(
  header: GgufHeader,
  { context, parallel, batch, gpuLayers }: Sizes,
): { machine: MemoryNeed; device: MemoryNeed } {
  const { vocabulary, embedding, layers, layerBytes } = header
  const weights = header.weightBytes || header.fileBytes
  const cache = cacheBytesOfToken(header) * context * parallel
  // For each token of a batch: logits, a handful of rows of the widest layer, and its row of the attention mask.
  const buffers = batch * (4 * (vocabulary + 16 * embedding) + 2 * context * parallel)
  const share = Math.min(gpuLayers / Math.max(1, layers), 1)
  // The embeddings stay with the CPU, also where the output uses the same weights.
  const output = gpuLayers > layers ? weights - layerBytes : 0
  return {
    machine: {
      weights: weights - share * layerBytes,
      cache: (1 - share) * cache,
      work: processBytes + buffers,
    },
    device: { weights: share * layerBytes + output, cache: share * cache, work: gpuLayers > 0 ? buffers : 0 },
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
