import koffi from 'koffi'
import type { Build } from '../native/build.ts'
import { createBatch, createStopFlag, startThreads } from './computing.ts'
import type { LoadedModel } from './model.ts'
import type { contextParams, Values } from './structs.ts'

interface LlamaContextOptions {
  /** Cells of the KV cache, for all sequences together. */
  cells: number
  sequences: number
  /** The most tokens of one batch. */
  batch: number
  threads: number
  flashAttention: 'auto' | boolean
  /** Numbers of `ggml_type`, for keys and values; 16-bit floats where absent. */
  kvTypes?: readonly [number, number]
  /** Vectors of texts instead of logits, or scores. */
  pools?: 'vectors' | 'scores'
}

export type LlamaContext = NonNullable<Awaited<ReturnType<typeof openLlamaContext>>>

/** `LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY`: of models with several kinds of memory, only what cannot lose single tokens. */
const PARTIAL = 1
/** `llama_pooling_type` */
const POOLING_NONE = 0
const POOLING_RANK = 4

/** `llama_flash_attn_type` */
const AUTO = -1
/** `ggml_type` */
const F16 = 1

/** What `llama_decode` returns. */
const NO_ROOM = 1
const STOPPED = 2

/**
 * A context of llama.cpp. All calls are made one after the other; those that take long run beside JavaScript. Undefined
 * when there is no room for it; the log has the reason.
 */
export async function openLlamaContext(
  build: Build,
  { model, vocab }: Pick<LoadedModel, 'model' | 'vocab'>,
  {
    cells,
    sequences,
    batch: size,
    threads,
    flashAttention,
    kvTypes: [keys, values] = [F16, F16],
    pools,
  }: LlamaContextOptions,
) {
  const { call, later, isGpu } = build
  const chosen: Values<typeof contextParams> = {
    n_ctx: cells,
    n_seq_max: sequences,
    n_batch: size,
    n_ubatch: size,
    n_threads: threads,
    n_threads_batch: threads,
    flash_attn_type: flashAttention === 'auto' ? AUTO : Number(flashAttention),
    type_k: keys,
    type_v: values,
    // Otherwise a model with a sliding window of a few thousand tokens would drop what a later prompt could share.
    swa_full: true,
    embeddings: pools !== undefined,
    ...(pools === 'scores' && { pooling_type: POOLING_RANK }),
  }
  const params = { ...call.llama_context_default_params(), ...chosen }
  const context = await later.llama_init_from_model(model, params)
  if (context === null) return undefined
  const room = call.llama_n_ctx(context)
  if (room < cells) throw new Error(`asked for ${cells} cells, llama.cpp gave ${room}`)
  const memory = call.llama_get_memory(context)
  const batch = createBatch(size)
  const flag = createStopFlag(build, context)
  const team = threads > 1 ? startThreads(build, threads) : undefined
  if (team !== undefined) call.llama_attach_threadpool(context, team.pool, null)
  const vocabulary = call.llama_vocab_n_tokens(vocab)
  /** By address: V8 counts the bytes of each view as its own, and collects all its garbage when they are many. */
  const views = new Map<bigint, Float32Array>()
  const lastPosition = (sequence: number) => call.llama_memory_seq_pos_max(memory, sequence)
  const forget = (sequence: number, from: number) => call.llama_memory_seq_rm(memory, sequence, from, -1)

  return {
    begin: batch.clear,
    add: batch.add,
    /** Computes the batch. False when it was stopped: what its sequences hold of it must be removed. */
    async decode(): Promise<boolean> {
      flag.lower()
      const result = await later.llama_decode(context, batch.struct)
      if (result === STOPPED) return false
      if (result === NO_ROOM) throw new Error('llama.cpp found no room for the batch among its cells')
      if (result !== 0) throw new Error(`llama.cpp could not compute the batch (${result})`)
      // On a CPU all is done by now.
      if (isGpu) await later.llama_synchronize(context)
      return true
    },
    /** Stops the batch that is being computed, within milliseconds on a CPU. */
    stop: flag.raise,
    /** A view of the logits of a row of the last batch. */
    logits(row: number): Float32Array {
      const numbers = call.llama_get_logits_ith(context, row)
      if (numbers === null) throw new Error(`the last batch has no logits for row ${row}`)
      const known = views.get(numbers)
      if (known !== undefined) return known
      if (views.size === size) views.clear()
      const view = new Float32Array(koffi.view(numbers, 4 * vocabulary))
      views.set(numbers, view)
      return view
    },
    /** The vector of sequence 0 from the last batch, or the scores of its labels. */
    embedding(): Float64Array {
      const pooling = call.llama_pooling_type(context)
      const size =
        pooling === POOLING_RANK ? call.llama_model_n_cls_out(model) : call.llama_model_n_embd_out(model)
      const pooled = pooling === POOLING_NONE ? null : call.llama_get_embeddings_seq(context, 0)
      const numbers = pooled ?? call.llama_get_embeddings_ith(context, -1)
      if (numbers === null || size === 0) throw new Error('the model made no vector')
      return Float64Array.from(new Float32Array(koffi.view(numbers, 4 * size)))
    },
    /** False when this kind of model cannot remove a part of a sequence from its memory. */
    forget,
    copy(from: number, to: number): void {
      if (lastPosition(from) < 0) call.llama_memory_seq_rm(memory, to, -1, -1)
      else call.llama_memory_seq_cp(memory, from, to, -1, -1)
    },
    /** Uses these adapters from now on. */
    adapt(adapters: readonly bigint[]): void {
      const scales = new Float32Array(adapters.length).fill(1)
      const result = call.llama_set_adapters_lora(context, adapters, adapters.length, scales)
      if (result !== 0) throw new Error(`llama.cpp refuses the adapter (${result})`)
    },
    /** Returns the bytes of the file. */
    async save(path: string, sequence: number, tokens: Uint32Array): Promise<number> {
      const ids = Int32Array.from(tokens)
      const bytes = await later.llama_state_seq_save_file(context, path, sequence, ids, ids.length)
      if (bytes === 0) throw new Error('llama.cpp could not write the file')
      return bytes
    },
    /** Reads at most so many tokens. The file must be complete: others can end the process. */
    async load(path: string, sequence: number, maxTokens: number): Promise<Uint32Array> {
      const ids = new Int32Array(maxTokens)
      const count = new BigUint64Array(1)
      const bytes = await later.llama_state_seq_load_file(context, path, sequence, ids, maxTokens, count)
      if (bytes === 0) throw new Error('llama.cpp could not read the file, or it is longer than a sequence')
      return Uint32Array.from(ids.subarray(0, Number(count[0])))
    },
    /** A copy of the state of a sequence: see PARTIAL. */
    async state(sequence: number): Promise<Uint8Array<ArrayBuffer>> {
      const bytes = new Uint8Array(call.llama_state_seq_get_size_ext(context, sequence, PARTIAL))
      const copied = await later.llama_state_seq_get_data_ext(context, bytes, bytes.length, sequence, PARTIAL)
      if (copied !== bytes.length || copied === 0) throw new Error('llama.cpp did not copy the whole state')
      return bytes
    },
    /** Gives the sequence the first `count` tokens of such a copy. False when it has no such state afterwards. */
    async restore(bytes: Uint8Array, sequence: number, count: number): Promise<boolean> {
      const read = await later.llama_state_seq_set_data_ext(context, bytes, bytes.length, sequence, PARTIAL)
      return read === bytes.length && forget(sequence, count) && lastPosition(sequence) === count - 1
    },
    async close(): Promise<void> {
      await later.llama_free(context)
      team?.end()
      flag.free()
      batch.free()
    },
  }
}
