import type { GpuBuild } from '../protocol.ts'
import type { kvChoices } from './kv-types.ts'

/** How a model is found and run. 0 and `auto` mean: chosen from model and machine. */
export interface EngineSettings {
  /** `builtin`, a path, or `hf:…`. */
  model: string
  /** The names under which it is served. */
  model_name: string[]
  context: number
  parallel: number
  threads: number
  batch: number
  gpu: 'auto' | 'off' | GpuBuild
  gpu_layers: number | 'auto' | 'all'
  /** Refuses a model that is larger than the free memory. */
  memory_check: boolean
  /** Bytes. */
  prompt_cache: number | 'auto'
  prompt_cache_disk: number
  kv_keys: (typeof kvChoices)[number]
  kv_values: (typeof kvChoices)[number]
  flash_attention: 'auto' | 'on' | 'off'
  /** Requests that may wait. */
  queue: number
  /** Whether requests may set their priority. */
  priority: boolean
  /** Lengths to which vectors may be cut. */
  dimensions?: 'any' | readonly number[]
  lora: readonly { name: string; path: string }[]
  speculation: boolean
  /** The folder of downloads and kept prompts. */
  data: string
  hf_endpoint: string
  hf_token: string
}
