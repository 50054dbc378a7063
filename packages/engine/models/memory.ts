import type { GgufHeader } from './gguf-header.ts'
import { bytesOfValues, type KvTypes } from './kv-types.ts'

export interface MemoryNeed {
  weights: number
  cache: number
  /** Prompts kept outside of the context. */
  prompts: number
  /** Buffers of the engine. */
  work: number
}

export interface Sizes {
  context: number
  parallel: number
  batch: number
  /** Layers on the GPU, including the output layer. */
  gpuLayers: number
  /** Bytes. */
  promptCache: number
  kv: KvTypes
  /** Bytes of the adapters' files. */
  adapterBytes: number
}

export const mebi = 1024 * 1024

/** The memory of the engine process without a model. */
const processBytes = 96 * mebi

/** The bytes of a token in the KV cache. */
export function cacheBytesOfToken(
  { kvHeads, keyLength, valueLength, causal }: GgufHeader,
  { keys, values }: KvTypes,
): number {
  // An encoder reads a text at once and has no KV cache.
  if (!causal) return 0
  return bytesOfValues(keys, kvHeads * keyLength) + bytesOfValues(values, kvHeads * valueLength)
}

/** The layers that llama.cpp can put on a GPU: the output counts as one. */
export function layersOf({ layers }: GgufHeader): number {
  return layers + 1
}

/** An estimate of the memory needed of the machine and of the GPU, rather a little too high than too low. */
export function memoryNeed(
  header: GgufHeader,
  { context, parallel, batch, gpuLayers, promptCache, kv, adapterBytes }: Sizes,
): { machine: MemoryNeed; device: MemoryNeed } {
  const { vocabulary, embedding, layers, layerBytes } = header
  const weights = header.weightBytes || header.fileBytes
  const cache = cacheBytesOfToken(header, kv) * context * parallel
  // A causal model that pools computes the logits of every token, and copies them (llama_context::output_reserve).
  const logits = header.pooling === undefined ? 1 : header.causal ? 2 : 0
  // For each token of a batch: logits, a handful of rows of the widest layer, and its row of the attention mask.
  const buffers = batch * (4 * (logits * vocabulary + 16 * embedding) + 2 * context * parallel)
  const share = Math.min(gpuLayers / Math.max(1, layers), 1)
  // The embeddings stay on the CPU, even if the output uses the same weights.
  const output = gpuLayers > layers ? weights - layerBytes : 0
  return {
    machine: {
      weights: weights - share * layerBytes + adapterBytes,
      cache: (1 - share) * cache,
      prompts: promptCache,
      work: processBytes + buffers,
    },
    device: {
      weights: share * layerBytes + output,
      cache: share * cache,
      prompts: 0,
      work: gpuLayers > 0 ? buffers : 0,
    },
  }
}

export function totalOf({ weights, cache, prompts, work }: MemoryNeed): number {
  return weights + cache + prompts + work
}

export function shownBytes(bytes: number): string {
  if (bytes >= 1024 * mebi) return `${(bytes / (1024 * mebi)).toFixed(1)} GiB`
  if (bytes >= mebi) return `${(bytes / mebi).toFixed(0)} MiB`
  return `${Math.ceil(bytes / 1024)} KiB`
}
