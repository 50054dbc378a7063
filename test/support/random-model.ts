import { type GgufTensor, type GgufValue, sizeOf, writeGguf } from './gguf.ts'

/** The shape of a random model. Rows of a quantized model have a multiple of 32 values. */
export interface RandomModelShape {
  layers: number
  hidden: number
  heads: number
  kvHeads: number
  ffn: number
  /** At least 260: the 256 bytes and four control tokens. Further tokens are pieces of two and four letters. */
  vocabulary: number
  context: number
  weights: 'f16' | 'q8_0'
  chatTemplate: string
  /** How texts are split into words before they become tokens, by llama.cpp's name for it. */
  words: string
  /** Whether a text begins with a token of its own, if that is requested. */
  addBos: boolean
  /** The llama.cpp id of the way in which the model pools a text into one vector; 0 for a model that generates. */
  pooling: number
  /** Whether its file names tokens for gaps: those of the beginning, of a turn, and of padding. */
  infills: boolean
  seed: number
}

const chatTemplate = `{%- for message in messages -%}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}`

/** Loads in milliseconds; what it generates makes no sense. */
export const smallShape: RandomModelShape = {
  layers: 1,
  hidden: 32,
  heads: 2,
  kvHeads: 1,
  ffn: 64,
  vocabulary: 260,
  context: 8192,
  weights: 'f16',
  chatTemplate,
  words: 'smollm',
  addBos: false,
  pooling: 0,
  infills: false,
  seed: 1,
}

/** The shape of a real small model of about 135 million parameters, 145 MB: for measuring. */
export const benchmarkShape: RandomModelShape = {
  ...smallShape,
  layers: 30,
  hidden: 576,
  heads: 9,
  kvHeads: 3,
  ffn: 1536,
  vocabulary: 49_152,
  weights: 'q8_0',
}

/**
 * Writes a llama model with random weights to the path, where no file may exist yet. Its tokenizer accepts any UTF-8 and
 * reproduces it; the same shape and seed give the same bytes.
 */
export async function writeRandomModel(path: string, shape: Partial<RandomModelShape> = {}): Promise<void> {
  const whole = { ...smallShape, ...shape }
  await writeGguf(path, metadata(whole), tensors(whole))
}

function metadata(shape: RandomModelShape): Record<string, GgufValue> {
  const { tokens, merges } = vocabulary(shape.vocabulary)
  const special = tokens.length - specials.length
  return {
    'general.architecture': { text: 'llama' },
    'general.name': { text: 'random' },
    'llama.vocab_size': { u32: tokens.length },
    'llama.context_length': { u32: shape.context },
    'llama.embedding_length': { u32: shape.hidden },
    'llama.block_count': { u32: shape.layers },
    'llama.feed_forward_length': { u32: shape.ffn },
    'llama.attention.head_count': { u32: shape.heads },
    'llama.attention.head_count_kv': { u32: shape.kvHeads },
    'llama.attention.layer_norm_rms_epsilon': { f32: 1e-5 },
    'llama.rope.dimension_count': { u32: shape.hidden / shape.heads },
    'llama.rope.freq_base': { f32: 10_000 },
    'tokenizer.ggml.model': { text: 'gpt2' },
    // With gpt-2 llama.cpp drops the space before punctuation when it turns tokens back into text.
    'tokenizer.ggml.pre': { text: shape.words },
    'tokenizer.ggml.tokens': { texts: tokens },
    'tokenizer.ggml.token_type': { i32s: tokens.map((_, id) => (id < special ? NORMAL : CONTROL)) },
    'tokenizer.ggml.merges': { texts: merges },
    'tokenizer.ggml.bos_token_id': { u32: special },
    'tokenizer.ggml.eos_token_id': { u32: special + specials.indexOf('<|im_end|>') },
    'tokenizer.ggml.padding_token_id': { u32: special + specials.indexOf('<|pad|>') },
    'tokenizer.ggml.add_bos_token': { bool: shape.addBos },
    'tokenizer.chat_template': { text: shape.chatTemplate },
    ...(shape.infills && {
      'tokenizer.ggml.fim_pre_token_id': { u32: special },
      'tokenizer.ggml.fim_suf_token_id': { u32: special + 1 },
      'tokenizer.ggml.fim_mid_token_id': { u32: special + 3 },
    }),
    ...(shape.pooling > 0 && {
      'llama.pooling_type': { u32: shape.pooling },
      'tokenizer.ggml.add_eos_token': { bool: true },
    }),
  }
}

const NORMAL = 1
const CONTROL = 3
const specials = ['<|bos|>', '<|im_start|>', '<|im_end|>', '<|pad|>']

function vocabulary(size: number): { tokens: string[]; merges: string[] } {
  const most = 256 + 26 ** 2 + 26 ** 4 + specials.length
  if (size < 256 + specials.length || size > most) {
    throw new RangeError(`A vocabulary has ${256 + specials.length} to ${most} tokens, not ${size}`)
  }
  const merges = Array.from(letterPieces().take(size - 256 - specials.length))
  const pieces = merges.map((merge) => merge.replace(' ', ''))
  return { tokens: [...byteSymbols(), ...pieces, ...specials], merges }
}

/** The printable characters by which GPT-2's tokenizer writes the 256 bytes. */
function byteSymbols(): string[] {
  let moved = 0
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad)
    return String.fromCodePoint(printable ? byte : 0x100 + moved++)
  })
}

/** Merges of two letters, then merges of two of those. */
function* letterPieces(): IteratorObject<string, undefined> {
  const letters = Array.from('etaoinshrdlucmwfygpbvkxjqz')
  const pairs = letters.flatMap((first) => letters.map((second) => `${first} ${second}`))
  yield* pairs
  const joined = pairs.map((pair) => pair.replace(' ', ''))
  for (const first of joined) for (const second of joined) yield `${first} ${second}`
}

function tensors(shape: RandomModelShape): GgufTensor[] {
  const { hidden, ffn, layers } = shape
  const key = (hidden / shape.heads) * shape.kvHeads
  const random = randomIntegers(shape.seed)
  const matrix = (name: string, columns: number, rows: number, spread: number): GgufTensor => ({
    name: `${name}.weight`,
    shape: [columns, rows],
    type: shape.weights,
    bytes: () =>
      fills[shape.weights](sizeOf({ shape: [columns, rows], type: shape.weights }), spread, random),
  })
  const norm = (name: string, value: number): GgufTensor => ({
    name: `${name}.weight`,
    shape: [hidden],
    type: 'f32',
    bytes: () => new Uint8Array(new Float32Array(hidden).fill(value).buffer),
  })
  // Embeddings much smaller than what the blocks add, or a tied model only repeats its last token; the last norm makes up
  // for it, so that the logits differ by a few units.
  const embedding = 0.02
  const blocks = Array.from({ length: layers }, (_, layer) => [
    norm(`blk.${layer}.attn_norm`, 1),
    matrix(`blk.${layer}.attn_q`, hidden, hidden, hidden ** -0.5),
    matrix(`blk.${layer}.attn_k`, hidden, key, hidden ** -0.5),
    matrix(`blk.${layer}.attn_v`, hidden, key, hidden ** -0.5),
    matrix(`blk.${layer}.attn_output`, hidden, hidden, hidden ** -0.5),
    norm(`blk.${layer}.ffn_norm`, 1),
    matrix(`blk.${layer}.ffn_gate`, hidden, ffn, hidden ** -0.5),
    matrix(`blk.${layer}.ffn_up`, hidden, ffn, hidden ** -0.5),
    matrix(`blk.${layer}.ffn_down`, ffn, hidden, ffn ** -0.5),
  ])
  return [
    matrix('token_embd', hidden, shape.vocabulary, embedding),
    norm('output_norm', 3 / (embedding * hidden ** 0.5)),
    ...blocks.flat(),
  ]
}

type Fill = (length: number, spread: number, random: (into: Uint32Array) => void) => Uint8Array

/** Evenly distributed weights whose standard deviation is the spread. */
const fills: Record<RandomModelShape['weights'], Fill> = {
  f16(length, spread, random) {
    const integers = new Uint32Array(length / 2)
    random(integers)
    const widest = spread * 3 ** 0.5
    const halves = Uint16Array.from(integers, (integer) => halfBits((integer / 2 ** 31 - 1) * widest))
    return new Uint8Array(halves.buffer)
  },
  q8_0(length, spread, random) {
    const integers = new Uint32Array(Math.ceil(length / 4))
    random(integers)
    const bytes = new Uint8Array(integers.buffer, 0, length)
    const view = new DataView(bytes.buffer)
    const scale = halfBits((spread * 3 ** 0.5) / 128)
    for (let block = 0; block < length; block += 34) view.setUint16(block, scale, true)
    return bytes
  },
}

const single = new Float32Array(1)
const singleBits = new Uint32Array(single.buffer)

/** The bits of the half-precision number with the same magnitude or the next smaller one; what is too small for one is zero. */
function halfBits(value: number): number {
  single[0] = value
  const bits = singleBits[0] ?? 0
  const exponent = ((bits >>> 23) & 0xff) - 112
  const sign = (bits >>> 16) & 0x8000
  if (exponent > 30) throw new RangeError(`${value} is too large for half precision`)
  return exponent > 0 ? sign | (exponent << 10) | ((bits >>> 13) & 0x3ff) : sign
}

/** Marsaglia's xorshift: https://doi.org/10.18637/jss.v008.i14 */
function randomIntegers(seed: number): (into: Uint32Array) => void {
  let state = seed | 0 || 1
  return (into) => {
    for (let index = 0; index < into.length; index++) {
      state ^= state << 13
      state ^= state >>> 17
      state ^= state << 5
      into[index] = state
    }
  }
}
