import { type ModelPlan, usualKvTypes } from '../../packages/engine/index.ts'

/** How a small model is run unless a test or a benchmark specifies more: on one thread, without a prompt cache. */
export function plainPlan(file: string, said: Partial<ModelPlan> = {}): ModelPlan {
  return {
    file,
    source: file,
    names: ['random'],
    context: 1024,
    parallel: 4,
    threads: 1,
    gpu: false,
    gpuLayers: 0,
    device: 'cpu',
    batch: 256,
    queue: 16,
    priority: false,
    drafts: true,
    task: 'answers',
    promptCache: 0,
    kv: usualKvTypes,
    flashAttention: 'auto',
    adapters: [],
    adapterBytes: 0,
    ...said,
  }
}
