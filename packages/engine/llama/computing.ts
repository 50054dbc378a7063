import koffi from 'koffi'
import type { Llama } from './library.ts'
import { threadPrototypes } from './prototypes.ts'
import type { batch, Values } from './structs.ts'

/** A `llama_batch` with room for so many tokens, in memory that stays where it is while the library reads it. */
export function createBatch(size: number) {
  // Pointers come first, so that all are aligned.
  const memory: bigint = koffi.alloc('uint8_t', size * 32)
  const bytes = koffi.view(memory, size * 32)
  const start = (offset: number) => memory + BigInt(size * offset)
  const sequencePointers = new BigUint64Array(bytes, 0, size)
  const token = new Int32Array(bytes, size * 8, size)
  const position = new Int32Array(bytes, size * 12, size)
  const sequenceCounts = new Int32Array(bytes, size * 16, size)
  const sequences = new Int32Array(bytes, size * 20, size)
  const wants = new Int8Array(bytes, size * 24, size)
  for (let row = 0; row < size; row++) sequencePointers[row] = start(20) + BigInt(row * 4)
  sequenceCounts.fill(1)
  let length = 0

  return {
    clear(): void {
      length = 0
    },
    /** Returns the rows of the wanted tokens: positions in the list, in ascending order. */
    add(sequence: number, from: number, tokens: Uint32Array, wanted: Uint32Array): Uint32Array {
      if (length + tokens.length > size) {
        throw new RangeError(`a batch has room for ${size} tokens, not for ${length + tokens.length}`)
      }
      token.set(tokens, length)
      sequences.fill(sequence, length, length + tokens.length)
      wants.fill(0, length, length + tokens.length)
      for (let index = 0; index < tokens.length; index++) position[length + index] = from + index
      const rows = wanted.map((index) => length + index)
      for (const row of rows) wants[row] = 1
      length += tokens.length
      return rows
    },
    get struct(): Values<typeof batch> {
      return {
        n_tokens: length,
        token: start(8),
        embd: null,
        pos: start(12),
        n_seq_id: start(16),
        seq_id: start(0),
        logits: start(24),
      }
    },
    free: () => koffi.free(memory),
  }
}

/** More than a `ggml_tensor` has before its name. */
const flagBytes = 512

/**
 * Stops a batch between two of its operations. llama.cpp asks a function, in its own threads, where no JavaScript can
 * run: so it is given `ggml_is_empty`, which looks for a 0 among the four sizes of what it believes to be a tensor, and
 * memory that JavaScript fills with zeros.
 */
export function createStopFlag({ call, addressOf }: Llama, context: bigint) {
  const memory: bigint = koffi.alloc('uint8_t', flagBytes)
  const numbers = new BigInt64Array(koffi.view(memory, flagBytes))
  numbers.fill(1n)
  call.llama_set_abort_callback(context, addressOf('ggml_is_empty'), memory)
  return {
    lower(): void {
      numbers.fill(1n)
    },
    raise(): void {
      numbers.fill(0n)
    },
    free: () => koffi.free(memory),
  }
}

/**
 * Threads that stay from batch to batch: llama.cpp would start and end them with each. They sleep in between, because
 * the processor is needed for the tokens of the last batch then.
 */
export function startThreads({ call }: Llama, count: number) {
  const { ggml_threadpool_new: start, ggml_threadpool_free: end } = threadFunctions(call)
  const pool = start({ ...call.ggml_threadpool_params_default(count), poll: 0 })
  if (typeof pool !== 'bigint') throw new Error(`llama.cpp cannot start ${count} threads`)
  return { pool, end: () => end(pool) }
}

let functions: Record<keyof typeof threadPrototypes, (...values: unknown[]) => unknown> | undefined

function threadFunctions(call: Llama['call']) {
  const registry = call.ggml_backend_reg_by_name('CPU')
  const named = (name: keyof typeof threadPrototypes) => {
    const address = call.ggml_backend_reg_get_proc_address(registry, name)
    if (address === null) throw new Error(`the processor part of llama.cpp has no ${name}`)
    return koffi.decode(address, koffi.proto(threadPrototypes[name]))
  }
  functions ??= {
    ggml_threadpool_new: named('ggml_threadpool_new'),
    ggml_threadpool_free: named('ggml_threadpool_free'),
  }
  return functions
}
