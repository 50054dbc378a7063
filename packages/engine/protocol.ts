import type { DraftCounts, Generation, ModelTask, PromptCacheLoad, ServedModel } from './backend.ts'
import type { EngineErrorCode, EngineErrorValues } from './errors.ts'
import type { SentEvent } from './events/sent-events.ts'
import type { KvTypes } from './models/kv-types.ts'
import type { Pooled, PoolingRequest } from './pooling/request.ts'

/** In order of preference. */
export const gpuBuilds = ['cuda', 'vulkan', 'metal'] as const

/** A build of llama.cpp for GPUs. */
export type GpuBuild = (typeof gpuBuilds)[number]

export interface Adapter {
  name: string
  file: string
}

/** What the engine process needs before it can load: plain values, so that it does not depend on settings. */
export interface EngineOptions {
  file: string
  /** Tokens of one sequence, prompt and answer together. */
  context: number
  /** Sequences at once. */
  parallel: number
  threads: number
  /** The build of llama.cpp; false is the one for the CPU. */
  gpu: GpuBuild | false
  /** Layers on the GPU, including the output layer. */
  gpuLayers: number
  /** Most tokens of one batch. */
  batch: number
  /** Whether tokens are guessed ahead, where that changes no answer. */
  drafts: boolean
  /** Bytes for prompts that are kept when their sequences are overwritten. */
  promptCache: number
  /** Where they are kept across restarts of the engine; nowhere if absent. */
  promptDisk?: { folder: string; bound: number }
  /** LoRA files, by the names under which they are served. */
  adapters: readonly Adapter[]
  kv: KvTypes
  flashAttention: 'auto' | 'on' | 'off'
  /** Requests that may wait for a sequence. */
  queue: number
  /** What the model is for. */
  task: ModelTask
}

/** What only the engine process knows about the model. */
type LoadedModel = Pick<
  ServedModel,
  'vocabulary' | 'controlTokens' | 'parameters' | 'bytes' | 'dimensions' | 'template' | 'tokens' | 'infill'
>

/** When the engine stops, prompts to be kept on disk are written within this time. */
export const keepAtEndMs = 5_000

/** From the server to the engine. `id` is the server's number for the question. */
export type Question =
  | { kind: 'load'; options: EngineOptions }
  | { kind: 'ping' }
  | { kind: 'tokenize'; id: number; text: string; special: boolean; add: boolean; mark?: string }
  | { kind: 'detokenize'; id: number; tokens: number[]; special: boolean }
  | { kind: 'generate'; id: number; generation: Generation }
  | { kind: 'pool'; id: number; request: PoolingRequest }
  /** The client has disconnected. */
  | { kind: 'leave'; id: number }
  /** The end: running requests are dropped and the process exits. */
  | { kind: 'close' }

/** From the engine to the server. */
export type Answer =
  | { kind: 'loading'; share: number }
  /** `maxTokenSize` is the most bytes that one token stands for. */
  | { kind: 'loaded'; model: LoadedModel; maxTokenSize: number }
  /** The process exits after it. */
  | { kind: 'unloadable'; reason: string }
  | {
      kind: 'pong'
      load: Load
      /** Memory of the process. */
      bytes: number
    }
  | { kind: 'tokens'; id: number; tokens: number[] }
  | { kind: 'text'; id: number; text: string }
  /** A generation has been checked, and runs or is queued. */
  | { kind: 'accepted'; id: number; promptTokens: number[] }
  /** Before or after `accepted`; in either case the last message about this id. */
  | { kind: 'refused'; id: number; code: EngineErrorCode; values: EngineErrorValues }
  /** An input has been read. */
  | { kind: 'pooled'; id: number; pooled: Pooled; isLast: boolean; load: Load }
  /** All events of one batch, for all requests. */
  | { kind: 'happened'; events: [id: number, event: SentEvent][]; load: Load }

/** How busy the engine is. */
export interface Load {
  running: number
  waiting: number
  /** How long the current batch has taken so far, in milliseconds; 0 between batches. */
  batchMs: number
  /** For a model that generates text. */
  promptCache?: PromptCacheLoad
  drafts?: DraftCounts
}
