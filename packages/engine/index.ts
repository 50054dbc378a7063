/** The engine: its interface, the process that runs a model, and how a model is found and planned. See README.md. */

export {
  type Backend,
  type BackendStatus,
  type Candidate,
  type DiskCacheLoad,
  type Ending,
  type FinishReason,
  type Generation,
  type GenerationEvent,
  type InfillTokens,
  type Lane,
  type ModelTask,
  type PredictionCounts,
  type PromptCacheLoad,
  type PromptLogprobs,
  plainSampling,
  type Run,
  type Sampling,
  type ServedModel,
  type TokenLogprob,
} from './backend.ts'
export type { ContinuedField } from './constraint.ts'
export { EngineError } from './errors.ts'
export { commonLength } from './loop/sequences.ts'
export { reportedEvery } from './models/download.ts'
export {
  builtinFolder,
  builtinModels,
  type FindWatch,
  findModel,
  type LocalSource,
  type ModelLocations,
  modelHere,
  modelsFolder,
  sourceOf,
  storedModels,
} from './models/find.ts'
export { type GgufHeader, readGgufHeader } from './models/gguf-header.ts'
export { kvChoices, usualKvTypes } from './models/kv-types.ts'
export { inspectMachine } from './models/machine.ts'
export { memoryNeed, shownBytes, totalOf } from './models/memory.ts'
export { ModelError, reasonOf, withoutFolders } from './models/model-error.ts'
export {
  checkAdapters,
  type DeviceSearch,
  type ModelPlan,
  type ModelSettings,
  prepareModel,
} from './models/plan.ts'
export { roomOn } from './models/sizes.ts'
export { quantizationOf } from './models/tensor-types.ts'
export { type Device, findDevice, installedBuilds } from './native/device.ts'
export { createEmbeddedBackend, type EmbeddedBackend } from './owner/backend.ts'
export type { EngineLogger } from './owner/engine-log.ts'
export { type Supervision, usualSupervision, whyNotReady } from './owner/supervision.ts'
export type { Pooled, PoolingAsked, PoolingInput, PoolingRequest, Truncation } from './pooling/request.ts'
export { promptGroupOf } from './prompt-group.ts'
export type { ReadLogits } from './sampling/logits.ts'

/** The pieces of the engine's process, for engines that run in the caller's own. They take about 10 MB. */
export const loadInProcess = () => import('./in-process.ts')
