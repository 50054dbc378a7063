import type { GgufHeader } from './gguf-header.ts'
import type { Machine } from './machine.ts'
import { cacheBytesOfToken, mebi, memoryNeed, type Sizes, shownBytes, totalOf } from './memory.ts'
import { ModelError } from './model-error.ts'

/** As the settings give them; 0 means: chosen from model and machine. */
export interface SizesGiven {
  context: number
  parallel: number
  threads: number
  batch: number
  memory_check: boolean
}

/** Models below this run faster on one thread: several would wait for each other longer than they calculate. */
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

/** How a model is run on this machine; refuses what does not fit. */
export function chooseSizes(
  shownName: string,
  header: GgufHeader,
  given: SizesGiven,
  machine: Machine,
): Sizes & { threads: number } {
  if (given.context > header.context) {
    throw new ModelError(
      `HEDDLE_CONTEXT: given ${given.context}; ${shownName} was trained for ${header.context} tokens; accepted: at most that.`,
    )
  }
  const threads = given.threads || (header.parameters < tinyParameters ? 1 : machine.cores)
  const batch = given.batch || usualBatch
  const candidates = wishes.map(
    ([parallel, context]): Sizes => ({
      parallel: given.parallel || parallel,
      context: given.context || Math.min(context, header.context),
      batch,
    }),
  )
  const room = roomForCache(header, machine)
  const perToken = cacheBytesOfToken(header)
  const fits = (sizes: Sizes) =>
    perToken * sizes.parallel * sizes.context <= room &&
    totalOf(memoryNeed(header, sizes)) <= machine.freeMemory
  const sizes = candidates.find(fits) ?? (candidates.at(-1) as Sizes)
  if (given.memory_check) checkMemory(shownName, header, sizes, machine)
  return { ...sizes, threads }
}

/** A share of the free memory, and no more than is in proportion to the model. */
function roomForCache(header: GgufHeader, { freeMemory }: Machine): number {
  return Math.min(freeMemory / 4, Math.max(1024 * mebi, header.weightBytes))
}

function checkMemory(shownName: string, header: GgufHeader, sizes: Sizes, machine: Machine): void {
  const need = memoryNeed(header, sizes)
  if (totalOf(need) <= machine.freeMemory) return
  const { context, parallel } = sizes
  throw new ModelError(
    `${shownName} does not fit: it needs about ${shownBytes(totalOf(need))} (weights ${shownBytes(need.weights)}, ` +
      `${parallel} × ${context} tokens of context ${shownBytes(need.cache)}, work space ${shownBytes(need.work)}) and ` +
      `${machine.boundBy} has ${shownBytes(machine.freeMemory)} free; accepted: a smaller model or quantization, or ` +
      'less HEDDLE_CONTEXT, HEDDLE_PARALLEL or HEDDLE_BATCH (HEDDLE_MEMORY_CHECK=off tries anyway).',
    { mayPass: true },
  )
}
