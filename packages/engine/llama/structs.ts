/**
 * The structs of llama.cpp that pass between it and Heddle: of each field, in the order of the header, its type and what
 * the library's own function for defaults returns. A library with other fields would read ours as something else, so
 * the defaults are compared when it is opened (see library.ts), and a test compares the fields with the headers of the
 * pinned release.
 */
type Fields = Record<string, readonly [type: string, usual: number | boolean | null]>

const pointer = ['void *', null] as const
const off = ['bool', false] as const
const on = ['bool', true] as const
const int = (usual: number) => ['int32_t', usual] as const
const uint = (usual: number) => ['uint32_t', usual] as const
const float = (usual: number) => ['float', usual] as const

export const modelParams = {
  devices: pointer,
  tensor_buft_overrides: pointer,
  n_gpu_layers: int(-1),
  split_mode: int(1),
  load_mode: int(-1),
  lazy_mode: int(1),
  main_gpu: int(0),
  tensor_split: pointer,
  progress_callback: pointer,
  progress_callback_user_data: pointer,
  kv_overrides: pointer,
  vocab_only: off,
  check_tensors: off,
  use_extra_bufts: on,
  no_host: off,
  no_alloc: off,
  load_mtp: off,
} satisfies Fields

export const contextParams = {
  n_ctx: uint(512),
  n_batch: uint(2048),
  n_ubatch: uint(512),
  n_seq_max: uint(1),
  n_rs_seq: uint(0),
  n_outputs_max: uint(0),
  n_outputs_max_per_seq: uint(1),
  n_threads: int(4),
  n_threads_batch: int(4),
  ctx_type: int(0),
  rope_scaling_type: int(-1),
  pooling_type: int(-1),
  attention_type: int(-1),
  flash_attn_type: int(-1),
  rope_freq_base: float(0),
  rope_freq_scale: float(0),
  yarn_ext_factor: float(-1),
  yarn_attn_factor: float(-1),
  yarn_beta_fast: float(-1),
  yarn_beta_slow: float(-1),
  yarn_orig_ctx: uint(0),
  defrag_thold: float(-1),
  cb_eval: pointer,
  cb_eval_user_data: pointer,
  type_k: int(1),
  type_v: int(1),
  abort_callback: pointer,
  abort_callback_data: pointer,
  embeddings: off,
  offload_kqv: on,
  no_perf: on,
  op_offload: on,
  swa_full: on,
  kv_unified: off,
  samplers: pointer,
  n_samplers: ['size_t', 0],
  ctx_other: pointer,
} satisfies Fields

/** Of a pool of so many threads as `poolThreads`. */
export const poolThreads = 3
export const poolParams = {
  cpumask: ['bool[512]', null],
  n_threads: int(poolThreads),
  prio: int(0),
  poll: uint(50),
  strict_cpu: off,
  paused: off,
} satisfies Fields

/** Has no defaults; its arrays have a place for each token. */
export const batch = {
  n_tokens: int(0),
  token: pointer,
  embd: pointer,
  pos: pointer,
  n_seq_id: pointer,
  seq_id: pointer,
  logits: pointer,
} satisfies Fields

/** The values of a struct that are not the usual ones. */
export type Values<Of extends Fields> = { [Name in keyof Of]?: number | boolean | bigint | null }

/** Names the fields whose values are not the usual ones. */
export function unusual(fields: Fields, values: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(fields)
    .filter(([name, [type, usual]]) => !type.endsWith(']') && values[name] !== usual)
    .map(([name]) => name)
}
