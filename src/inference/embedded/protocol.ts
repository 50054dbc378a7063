import type { RefusalCode, RefusalValues } from '../../domain/refusals.ts'
import type { Generation, GenerationEvent, ServedModel } from '../backend.ts'

/** In order of preference. */
export const gpuBuilds = ['cuda', 'vulkan', 'metal'] as const

/** A build of llama.cpp for GPUs. */
export type GpuBuild = (typeof gpuBuilds)[number]

/** What the engine process has to know before it can load: values, so that it knows nothing of settings. */
export interface EngineOptions {
  file: string
  /** Tokens of one sequence, prompt and answer together. */
  context: number
  /** Sequences at once. */
  parallel: number
  threads: number
  /** The build of llama.cpp; false is the one for the CPU. */
  gpu: GpuBuild | false
  /** Layers on the GPU, the output layer included. */
  gpuLayers: number
  /** The most tokens of one batch. */
  batch: number
  /** Requests that may wait for a sequence. */
  queue: number
}

/** What only the engine process can say about the model. */
type LoadedModel = Pick<
  ServedModel,
  'vocabulary' | 'controlTokens' | 'parameters' | 'bytes' | 'template' | 'tokens'
>

/** From the server to the engine. `id` is the server's number for what it asks. */
export type Question =
  | { kind: 'load'; options: EngineOptions }
  | { kind: 'ping' }
  | { kind: 'tokenize'; id: number; text: string; special: boolean; add: boolean; mark?: string }
  | { kind: 'detokenize'; id: number; tokens: number[]; special: boolean }
  | { kind: 'generate'; id: number; generation: Generation }
  /** The client has disconnected. */
  | { kind: 'leave'; id: number }
  /** The end: what runs is given up, the process ends. */
  | { kind: 'close' }

/** From the engine to the server. */
export type Answer =
  | { kind: 'loading'; share: number }
  /** `longestToken` is the most bytes that one token stands for. */
  | { kind: 'loaded'; model: LoadedModel; longestToken: number }
  /** The process ends after it. */
  | { kind: 'unloadable'; reason: string }
  | {
      kind: 'pong'
      load: Load
      /** Memory of the process. */
      bytes: number
    }
  | { kind: 'tokens'; id: number; tokens: number[] }
  | { kind: 'text'; id: number; text: string }
  /** A generation is checked, and runs or is queued. */
  | { kind: 'accepted'; id: number; promptTokens: number[] }
  /** Before `accepted` or after it: either way the last that is said about this id. */
  | { kind: 'refused'; id: number; code: RefusalCode; values: RefusalValues }
  /** All that one batch brought, for all requests. */
  | { kind: 'happened'; events: [id: number, event: GenerationEvent][]; load: Load }

/** How busy it is. */
export interface Load {
  running: number
  waiting: number
  /** How long the batch that is being worked on has taken so far, in milliseconds; 0 between batches. */
  batchMs: number
}
