import type { Device } from '../native/device.ts'
import type { GgufHeader } from './gguf-header.ts'
import { checkKvTypes, chosenKvTypes, type KvTypes, usualKvTypes } from './kv-types.ts'
import type { Machine } from './machine.ts'
import {
  cacheBytesOfToken,
  layersOf,
  type MemoryNeed,
  mebi,
  memoryNeed,
  type Sizes,
  shownBytes,
  totalOf,
} from './memory.ts'
import { ModelError } from './model-error.ts'
import type { EngineSettings } from './settings.ts'
import { readsInPieces } from './task.ts'

/** 0 means: chosen from model and machine. */
export type SizesGiven = Pick<
  EngineSettings,
  'context' | 'parallel' | 'threads' | 'batch' | 'gpu_layers' | 'memory_check'
> &
  Partial<Pick<EngineSettings, 'model' | 'prompt_cache' | 'kv_keys' | 'kv_values' | 'flash_attention'>>

/**
 * Models below this run faster on one thread: several threads would spend more time waiting for each other than
 * computing.
 */
const tinyParameters = 30_000_000

const usualBatch = 512

/** In order of preference. */
const wishes: [parallel: number, context: number][] = [
  [8, 16_384],
  [8, 8192],
  [4, 8192],
  [4, 4096],
  [2, 4096],
  [1, 4096],
  [1, 2048],
  [1, 1024],
  [1, 512],
]

/** A model that pools reads one text after the other, and most read each of them at once: the batch is the context. */
const poolingWishes: typeof wishes = [
  [1, 8192],
  [1, 4096],
  [1, 2048],
  [1, 1024],
  [1, 512],
]

/** Nothing else runs meanwhile: a longer text would take most of a minute on a CPU. */
const maxOnCpu = 2048

/** Chooses how a model is run on this machine; refuses what does not fit. */
export function chooseSizes(
  shownName: string,
  header: GgufHeader,
  asked: SizesGiven,
  machine: Machine,
  adapterBytes = 0,
): Sizes & { threads: number } {
  if (asked.context > header.context) {
    throw new ModelError(
      `HEDDLE_CONTEXT: given ${asked.context}; ${shownName} was trained for ${header.context} tokens; accepted: at most that.`,
    )
  }
  const pools = header.pooling !== undefined
  const { model = '', prompt_cache = 'auto', flash_attention = 'auto' } = asked
  const kv = kvOf(asked, chosenKvTypes({ ...asked, model, flash_attention }, machine.device === undefined))
  checkKvTypes(shownName, header, kv, flash_attention)
  const readsAtOnce = pools && !readsInPieces(header)
  const candidates = (pools ? poolingWishes : wishes).map(([parallel, length]) => {
    const context = asked.context || Math.min(length, header.context)
    const sizes = {
      parallel: pools ? parallel : asked.parallel || parallel,
      context,
      batch: readsAtOnce ? context : asked.batch || usualBatch,
      promptCache: pools || prompt_cache === 'auto' ? 0 : prompt_cache,
      kv,
      adapterBytes,
    }
    return { ...sizes, gpuLayers: gpuLayersOf(header, asked, sizes, machine.device) }
  })
  const room = roomForCache(header, machine)
  const perToken = cacheBytesOfToken(header, kv)
  const isGood = (sizes: Sizes) =>
    perToken * sizes.parallel * sizes.context <= room && shortages(header, sizes, machine).length === 0
  const isOnGpu = ({ gpuLayers }: Sizes) => gpuLayers === layersOf(header)
  const sizes =
    // A shorter context on the GPU is much faster than a longer one that leaves layers to the CPU.
    candidates.find((fit) => isOnGpu(fit) && isGood(fit)) ??
    candidates.find((fit) => isGood(fit) && !(readsAtOnce && !asked.context && fit.context > maxOnCpu)) ??
    (candidates.at(-1) as Sizes)
  const [shortage] = asked.memory_check ? shortages(header, sizes, machine) : []
  if (shortage !== undefined) throw doesNotFit(shownName, sizes, shortage)
  const threads = header.parameters < tinyParameters || isOnGpu(sizes) ? 1 : machine.cores
  const promptCache =
    pools || prompt_cache !== 'auto' ? sizes.promptCache : usualPromptCache(header, sizes, machine)
  return { ...sizes, promptCache, threads: asked.threads || threads }
}

function kvOf({ kv_keys: keys = 'auto', kv_values: values = 'auto' }: SizesGiven, chosen: KvTypes): KvTypes {
  // If only one is set, the other is the usual one: chosen types were measured only together.
  const usual = keys === 'auto' && values === 'auto' ? chosen : usualKvTypes
  return { keys: keys === 'auto' ? usual.keys : keys, values: values === 'auto' ? usual.values : values }
}

/** This many times the size of the sequences, but at most this share of the remaining memory. */
const timesSequences = 2
const shareOfLeft = 0.25

function usualPromptCache(header: GgufHeader, sizes: Sizes, { freeMemory, device }: Machine): number {
  const need = memoryNeed(header, sizes)
  const taken = totalOf(need.machine) + (device?.unified ? totalOf(need.device) : 0)
  const ofSequences = cacheBytesOfToken(header, sizes.kv) * sizes.context * sizes.parallel
  return Math.max(0, Math.floor(Math.min(timesSequences * ofSequences, shareOfLeft * (freeMemory - taken))))
}

/** Some video memory is left for the display and for errors of the estimate: as much as node-llama-cpp leaves. */
export function roomOn({ freeMemory, totalMemory }: Device): number {
  return freeMemory - Math.min(0.06 * totalMemory, 1024 * mebi)
}

function gpuLayersOf(
  header: GgufHeader,
  { gpu_layers }: SizesGiven,
  sizes: Omit<Sizes, 'gpuLayers'>,
  device: Device | undefined,
): number {
  if (device === undefined) return 0
  const all = layersOf(header)
  if (gpu_layers === 'all') return all
  if (gpu_layers !== 'auto') return Math.min(gpu_layers, all)
  const room = roomOn(device)
  const needOf = (gpuLayers: number) => memoryNeed(header, { ...sizes, gpuLayers }).device
  if (totalOf(needOf(all)) <= room) return all
  const { weights, cache, work } = needOf(header.layers)
  const fitting = Math.floor((header.layers * (room - work)) / (weights + cache))
  return Math.max(0, Math.min(fitting, header.layers))
}

/** A share of the free memory, limited in proportion to the model. */
function roomForCache(header: GgufHeader, { freeMemory, device }: Machine): number {
  const free = freeMemory + (device === undefined || device.unified ? 0 : device.freeMemory)
  return Math.min(free / 4, Math.max(1024 * mebi, header.weightBytes))
}

interface Shortage {
  need: MemoryNeed
  /** The owner of the memory. */
  owner: string
  free: number
  accepted: string
}

function shortages(header: GgufHeader, sizes: Sizes, { freeMemory, boundBy, device }: Machine): Shortage[] {
  const need = memoryNeed(header, sizes)
  const found: Shortage[] = []
  if (device !== undefined && totalOf(need.device) > roomOn(device)) {
    const owner = device.names.join(', ')
    found.push({ need: need.device, owner, free: roomOn(device), accepted: 'fewer HEDDLE_GPU_LAYERS' })
  }
  const machine = device?.unified
    ? {
        weights: need.machine.weights + need.device.weights,
        cache: need.machine.cache + need.device.cache,
        prompts: need.machine.prompts,
        work: need.machine.work + need.device.work,
      }
    : need.machine
  if (totalOf(machine) > freeMemory) {
    const accepted = 'a smaller model or quantization'
    found.push({ need: machine, owner: boundBy, free: freeMemory, accepted })
  }
  return found
}

function doesNotFit(shownName: string, { context, parallel, gpuLayers }: Sizes, shortage: Shortage) {
  const { need, owner, free, accepted } = shortage
  const prompts = need.prompts > 0 ? `prompt cache ${shownBytes(need.prompts)}, ` : ''
  const layers = gpuLayers > 0 ? ` with ${gpuLayers} layers on the GPU` : ''
  return new ModelError(
    `${shownName} does not fit${layers}: it needs about ${shownBytes(totalOf(need))} (weights ${shownBytes(need.weights)}, ` +
      `${parallel} × ${context} tokens of context ${shownBytes(need.cache)}, ${prompts}work space ${shownBytes(need.work)}) and ` +
      `${owner} has ${shownBytes(free)} free; accepted: ${accepted}, or ` +
      `less ${need.prompts > 0 ? 'HEDDLE_PROMPT_CACHE, ' : ''}HEDDLE_CONTEXT, HEDDLE_PARALLEL or HEDDLE_BATCH (HEDDLE_MEMORY_CHECK=off tries anyway).`,
    { isTemporary: true },
  )
}
