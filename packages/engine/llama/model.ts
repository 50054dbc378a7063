import koffi from 'koffi'
import type { Build } from '../native/build.ts'

export type LoadedModel = NonNullable<Awaited<ReturnType<typeof loadLlamaModel>>>

/** `LLAMA_LOAD_MODE_MMAP` */
const MAPPED = 1

/** Numbers of a head, if the model does not say how many heads it has. */
const usualHeadLength = 128

/** A model in memory. Undefined when the file cannot be loaded as one; the log has the reason. */
export async function loadLlamaModel(
  { call, later }: Build,
  file: string,
  { gpuLayers, onProgress }: { gpuLayers: number; onProgress: (share: number) => void },
) {
  const heard = koffi.register((share: number) => {
    onProgress(share)
    return true
  }, 'llama_progress_callback *')
  const model = await later.llama_model_load_from_file(file, {
    ...call.llama_model_default_params(),
    n_gpu_layers: gpuLayers,
    load_mode: MAPPED,
    progress_callback: heard,
  })
  koffi.unregister(heard)
  if (model === null) return undefined
  const vocab = call.llama_model_get_vocab(model)

  /** A text or number of the file's metadata. */
  function metadata(key: string): string | undefined {
    const length = call.llama_model_meta_val_str(model, key, Buffer.alloc(1), 1)
    if (length < 0) return undefined
    const text = Buffer.alloc(length + 1)
    call.llama_model_meta_val_str(model, key, text, text.length)
    return text.toString('utf8', 0, length)
  }

  const architecture = metadata('general.architecture') ?? ''
  const embedding = call.llama_model_n_embd(model)
  const heads = call.llama_model_n_head(model) || Math.ceil(embedding / usualHeadLength)

  return {
    model,
    vocab,
    metadata,
    architecture,
    heads: {
      heads,
      headLength: Number(metadata(`${architecture}.attention.key_length`) ?? embedding / heads),
    },
    dimensions: call.llama_model_n_embd_out(model),
    parameters: call.llama_model_n_params(model),
    bytes: call.llama_model_size(model),
    kind: call.llama_vocab_type(vocab),
    size: call.llama_vocab_n_tokens(vocab),
    /** -1 where there is none. */
    bos: call.llama_vocab_bos(vocab),
    eos: call.llama_vocab_eos(vocab),
    sep: call.llama_vocab_sep(vocab),
    wantsBos: call.llama_vocab_get_add_bos(vocab),
    wantsEos: call.llama_vocab_get_add_eos(vocab),
    /** These three end the process when the token does not exist. */
    written: (token: number) => call.llama_vocab_get_text(vocab, token) ?? '',
    attributes: (token: number) => call.llama_vocab_get_attr(vocab, token),
    isEnd: (token: number) => call.llama_vocab_is_eog(vocab, token),
    tokenize(text: string, special: boolean): number[] {
      const bytes = Buffer.from(text)
      const read = (tokens: Int32Array) =>
        call.llama_tokenize(vocab, bytes, bytes.length, tokens, tokens.length, false, special)
      let tokens = new Int32Array(bytes.length)
      let count = read(tokens)
      if (count < 0) {
        tokens = new Int32Array(-count)
        count = read(tokens)
      }
      return Array.from(tokens.subarray(0, count))
    },
    detokenize(tokens: ArrayLike<number>, special: boolean): Buffer {
      const ids = Int32Array.from(tokens)
      const write = (text: Buffer) =>
        call.llama_detokenize(vocab, ids, ids.length, text, text.length, false, special)
      let text = Buffer.alloc(8 * ids.length)
      let length = write(text)
      if (length < 0) {
        text = Buffer.alloc(-length)
        length = write(text)
      }
      return text.subarray(0, length)
    },
    /** Undefined when the file does not fit the model; the log has the reason. */
    loadAdapter: async (path: string) => (await later.llama_adapter_lora_init(model, path)) ?? undefined,
  }
}
