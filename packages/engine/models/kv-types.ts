import type { GgufHeader } from './gguf-header.ts'
import { ModelError } from './model-error.ts'
import type { EngineSettings } from './settings.ts'
import { bytesOfTensor } from './tensor-types.ts'

/** The number types in which sequences may store the keys and values of each token, as llama.cpp names them. */
const kvTypes = ['f32', 'f16', 'bf16', 'q8_0', 'q5_1', 'q5_0', 'q4_1', 'q4_0'] as const

/** As a setting may give it. */
export const kvChoices = [...kvTypes, 'auto'] as const

type KvType = (typeof kvTypes)[number]

export interface KvTypes {
  keys: KvType
  values: KvType
}

/** `ggml_type` in ggml.h. */
export const typeNumbers: Record<KvType, number> = {
  f32: 0,
  f16: 1,
  bf16: 30,
  q8_0: 8,
  q5_1: 7,
  q5_0: 6,
  q4_1: 3,
  q4_0: 2,
}

export const usualKvTypes: KvTypes = { keys: 'f16', values: 'f16' }

/**
 * The heads of the built-in model have 32 numbers, which llama.cpp multiplies faster in these types on x64: plain
 * attention of 256 tokens takes 14.5 ms instead of 18.5, and the results are no further from f32 than those of f16
 * (decision 45).
 */
const ofBuiltin: KvTypes = { keys: 'q8_0', values: 'bf16' }
/** Much larger batches use flash attention, which is slow with these types. */
const largestBatch = 512

/** The types for a model whose settings are `auto`. */
export function chosenKvTypes(
  { model, batch, flash_attention }: Pick<EngineSettings, 'batch' | 'flash_attention'> & { model: string },
  isOnCpu: boolean,
  arch: string = process.arch,
): KvTypes {
  const isPlain = flash_attention !== 'on' && batch <= largestBatch
  return model === 'builtin' && isOnCpu && isPlain && arch === 'x64' ? ofBuiltin : usualKvTypes
}

export function bytesOfValues(type: KvType, values: number): number {
  return bytesOfTensor(typeNumbers[type], values)
}

/** The values of a quantized block, which share a scale. */
const blockLength = 32

const isQuantized = (type: KvType) => type.startsWith('q')

/** Refuses combinations that llama.cpp cannot compute, with a better message than its own. */
export function checkKvTypes(
  shownName: string,
  { keyLength, valueLength }: Pick<GgufHeader, 'keyLength' | 'valueLength'>,
  { keys, values }: KvTypes,
  flashAttention: EngineSettings['flash_attention'],
): void {
  if (isQuantized(values) && flashAttention === 'off') {
    throw new ModelError(
      `HEDDLE_KV_VALUES: given ${values} with HEDDLE_FLASH_ATTENTION=off; accepted: f32, f16, bf16, or flash attention, which quantized values need.`,
    )
  }
  for (const [setting, type, length] of [
    ['HEDDLE_KV_KEYS', keys, keyLength],
    ['HEDDLE_KV_VALUES', values, valueLength],
  ] as const) {
    if (!isQuantized(type) || length % blockLength === 0) continue
    throw new ModelError(
      `${setting}: given ${type}, whose blocks have ${blockLength} values, and the heads of ${shownName} have ${length}; accepted: f32, f16, bf16.`,
    )
  }
}
