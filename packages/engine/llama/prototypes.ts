/**
 * The functions of llama.cpp that Heddle calls, as its headers declare them; a test compares them with those of the
 * pinned release. By library, in the order in which the libraries are loaded.
 */
export const prototypes = {
  'ggml-base': [
    'bool ggml_is_empty(ggml_tensor *tensor)',
    'ggml_threadpool_params ggml_threadpool_params_default(int n_threads)',
    'void *ggml_backend_reg_get_proc_address(ggml_backend_reg_t reg, char *name)',
    'char *ggml_backend_reg_name(ggml_backend_reg_t reg)',
    'char *ggml_backend_dev_description(ggml_backend_dev_t device)',
    'void ggml_backend_dev_memory(ggml_backend_dev_t device, size_t *free, size_t *total)',
    'ggml_backend_dev_type ggml_backend_dev_type(ggml_backend_dev_t device)',
    'ggml_backend_reg_t ggml_backend_dev_backend_reg(ggml_backend_dev_t device)',
  ],
  ggml: [
    'void ggml_backend_load_all_from_path(char *dir_path)',
    'size_t ggml_backend_dev_count()',
    'ggml_backend_dev_t ggml_backend_dev_get(size_t index)',
    'ggml_backend_reg_t ggml_backend_reg_by_name(char *name)',
  ],
  llama: [
    'char *llama_version()',
    'char *llama_print_system_info()',
    'void llama_log_set(ggml_log_callback log_callback, void *user_data)',
    'void llama_backend_init()',
    'llama_model_params llama_model_default_params()',
    'llama_context_params llama_context_default_params()',
    'llama_model *llama_model_load_from_file(char *path_model, llama_model_params params)',
    'int32_t llama_model_meta_val_str(llama_model *model, char *key, char *buf, size_t buf_size)',
    'llama_vocab *llama_model_get_vocab(llama_model *model)',
    'int32_t llama_model_n_head(llama_model *model)',
    'int32_t llama_model_n_embd(llama_model *model)',
    'int32_t llama_model_n_embd_out(llama_model *model)',
    'uint32_t llama_model_n_cls_out(llama_model *model)',
    'uint64_t llama_model_n_params(llama_model *model)',
    'uint64_t llama_model_size(llama_model *model)',
    'llama_vocab_type llama_vocab_type(llama_vocab *vocab)',
    'int32_t llama_vocab_n_tokens(llama_vocab *vocab)',
    'char *llama_vocab_get_text(llama_vocab *vocab, llama_token token)',
    'llama_token_attr llama_vocab_get_attr(llama_vocab *vocab, llama_token token)',
    'bool llama_vocab_is_eog(llama_vocab *vocab, llama_token token)',
    'llama_token llama_vocab_bos(llama_vocab *vocab)',
    'llama_token llama_vocab_eos(llama_vocab *vocab)',
    'llama_token llama_vocab_sep(llama_vocab *vocab)',
    'bool llama_vocab_get_add_bos(llama_vocab *vocab)',
    'bool llama_vocab_get_add_eos(llama_vocab *vocab)',
    'int32_t llama_tokenize(llama_vocab *vocab, char *text, int32_t text_len, llama_token *tokens, int32_t n_tokens_max, bool add_special, bool parse_special)',
    'int32_t llama_detokenize(llama_vocab *vocab, llama_token *tokens, int32_t n_tokens, char *text, int32_t text_len_max, bool remove_special, bool unparse_special)',
    'llama_adapter_lora *llama_adapter_lora_init(llama_model *model, char *path_lora)',
    'int32_t llama_set_adapters_lora(llama_context *ctx, llama_adapter_lora **adapters, size_t n_adapters, float *scales)',
    'llama_context *llama_init_from_model(llama_model *model, llama_context_params params)',
    'void llama_free(llama_context *ctx)',
    'uint32_t llama_n_ctx(llama_context *ctx)',
    'llama_memory_t llama_get_memory(llama_context *ctx)',
    'llama_pooling_type llama_pooling_type(llama_context *ctx)',
    'void llama_attach_threadpool(llama_context *ctx, ggml_threadpool_t threadpool, ggml_threadpool_t threadpool_batch)',
    'void llama_set_abort_callback(llama_context *ctx, ggml_abort_callback abort_callback, void *abort_callback_data)',
    'int32_t llama_decode(llama_context *ctx, llama_batch batch)',
    'void llama_synchronize(llama_context *ctx)',
    'float *llama_get_logits_ith(llama_context *ctx, int32_t i)',
    'float *llama_get_embeddings_ith(llama_context *ctx, int32_t i)',
    'float *llama_get_embeddings_seq(llama_context *ctx, llama_seq_id seq_id)',
    'bool llama_memory_seq_rm(llama_memory_t mem, llama_seq_id seq_id, llama_pos p0, llama_pos p1)',
    'void llama_memory_seq_cp(llama_memory_t mem, llama_seq_id seq_id_src, llama_seq_id seq_id_dst, llama_pos p0, llama_pos p1)',
    'llama_pos llama_memory_seq_pos_max(llama_memory_t mem, llama_seq_id seq_id)',
    'size_t llama_state_seq_save_file(llama_context *ctx, char *filepath, llama_seq_id seq_id, llama_token *tokens, size_t n_token_count)',
    'size_t llama_state_seq_load_file(llama_context *ctx, char *filepath, llama_seq_id dest_seq_id, llama_token *tokens_out, size_t n_token_capacity, size_t *n_token_count_out)',
    'size_t llama_state_seq_get_size_ext(llama_context *ctx, llama_seq_id seq_id, llama_state_seq_flags flags)',
    'size_t llama_state_seq_get_data_ext(llama_context *ctx, uint8_t *dst, size_t size, llama_seq_id seq_id, llama_state_seq_flags flags)',
    'size_t llama_state_seq_set_data_ext(llama_context *ctx, uint8_t *src, size_t size, llama_seq_id dest_seq_id, llama_state_seq_flags flags)',
  ],
} as const

/** Functions of the part for processors, which is a library of its own; it names their addresses. */
export const threadPrototypes = {
  ggml_threadpool_new: 'ggml_threadpool_t ggml_threadpool_new(ggml_threadpool_params *params)',
  ggml_threadpool_free: 'void ggml_threadpool_free(ggml_threadpool_t threadpool)',
} as const

/** Structs whose insides are llama.cpp's own. */
export const opaque = [
  'llama_model',
  'llama_vocab',
  'llama_context',
  'llama_adapter_lora',
  'ggml_tensor',
] as const

export const aliases = {
  llama_token: 'int32_t',
  llama_pos: 'int32_t',
  llama_seq_id: 'int32_t',
  llama_state_seq_flags: 'uint32_t',
  llama_memory_t: 'void *',
  ggml_threadpool_t: 'void *',
  ggml_abort_callback: 'void *',
  ggml_backend_reg_t: 'void *',
  ggml_backend_dev_t: 'void *',
  ggml_backend_dev_type: 'int32_t',
  llama_vocab_type: 'int32_t',
  llama_token_attr: 'int32_t',
  llama_pooling_type: 'int32_t',
} as const

type Prototype = (typeof prototypes)[keyof typeof prototypes][number]

type NameIn<Text> = Text extends `${string} *${infer Name}(${string}`
  ? Name
  : Text extends `${string} ${infer Name}(${string}`
    ? Name
    : never

type ResultIn<Text> = Text extends `char *${string}`
  ? string | null
  : Text extends `${string} *${string}(${string}`
    ? bigint | null
    : Text extends `void ${string}`
      ? undefined
      : Text extends `bool ${string}`
        ? boolean
        : Text extends
              | `llama_memory_t ${string}`
              | `ggml_backend_reg_t ${string}`
              | `ggml_backend_dev_t ${string}`
          ? bigint
          : Text extends `${string}_params ${string}`
            ? Record<string, unknown>
            : number

type Argument = number | boolean | bigint | string | null | ArrayBufferView | object

export type FunctionName = NameIn<Prototype>

/** Calls return in the thread of JavaScript; `later` calls run in the thread of the pool. */
export type Calls = { [Text in Prototype as NameIn<Text>]: (...values: Argument[]) => ResultIn<Text> }
export type LaterCalls = {
  [Text in Prototype as NameIn<Text>]: (...values: Argument[]) => Promise<ResultIn<Text>>
}
