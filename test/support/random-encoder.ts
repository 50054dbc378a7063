import { type GgufTensor, type GgufValue, writeGguf } from './gguf.ts'

/** The shape of a random encoder. */
export interface RandomEncoderShape {
  hidden: number
  heads: number
  layers: number
  ffn: number
  context: number
  /** With llama.cpp's names. */
  pooling: 'mean' | 'cls' | 'rank'
  seed: number
}

const poolings = { mean: 1, cls: 2, rank: 4 }

const usual: RandomEncoderShape = {
  hidden: 64,
  heads: 2,
  layers: 2,
  ffn: 128,
  context: 128,
  pooling: 'mean',
  seed: 1,
}

const names = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']
const letters = Array.from('abcdefghijklmnopqrstuvwxyz0123456789.,!?-[]')
const words = ['the', 'cat', 'sat', 'on', 'mat', 'heddle', 'lifts', 'thread', 'loom', 'weave']

/** Words and letters begin with the mark of a word; pieces after them do not. */
const vocabulary = [...names, ...[...letters, ...words].map((word) => `▁${word}`), ...letters]

export const encoderTokens = {
  cls: names.indexOf('[CLS]'),
  sep: names.indexOf('[SEP]'),
  size: vocabulary.length,
}

/** Writes a BERT with random weights to the path, where no file may exist yet. It has few words, and loads in milliseconds. */
export async function writeRandomEncoder(
  path: string,
  given: Partial<RandomEncoderShape> = {},
): Promise<void> {
  const shape = { ...usual, ...given }
  await writeGguf(path, metadata(shape), tensors(shape))
}

function metadata({
  hidden,
  heads,
  layers,
  ffn,
  context,
  pooling,
}: RandomEncoderShape): Record<string, GgufValue> {
  return {
    'general.architecture': { text: 'bert' },
    'general.name': { text: 'random encoder' },
    'bert.context_length': { u32: context },
    'bert.embedding_length': { u32: hidden },
    'bert.block_count': { u32: layers },
    'bert.feed_forward_length': { u32: ffn },
    'bert.attention.head_count': { u32: heads },
    'bert.attention.layer_norm_epsilon': { f32: 1e-12 },
    'bert.attention.causal': { bool: false },
    'bert.pooling_type': { u32: poolings[pooling] },
    'tokenizer.ggml.model': { text: 'bert' },
    'tokenizer.ggml.pre': { text: 'default' },
    'tokenizer.ggml.token_type_count': { u32: 2 },
    'tokenizer.ggml.tokens': { texts: vocabulary },
    'tokenizer.ggml.token_type': { i32s: vocabulary.map((_, token) => (token < names.length ? 3 : 1)) },
    'tokenizer.ggml.bos_token_id': { u32: names.indexOf('[CLS]') },
    'tokenizer.ggml.cls_token_id': { u32: names.indexOf('[CLS]') },
    'tokenizer.ggml.seperator_token_id': { u32: names.indexOf('[SEP]') },
    'tokenizer.ggml.unknown_token_id': { u32: names.indexOf('[UNK]') },
    'tokenizer.ggml.padding_token_id': { u32: names.indexOf('[PAD]') },
    'tokenizer.ggml.mask_token_id': { u32: names.indexOf('[MASK]') },
  }
}

function tensors({ hidden, layers, ffn, context, pooling, seed }: RandomEncoderShape): GgufTensor[] {
  const random = randomNumbers(seed)
  const filled = (name: string, shape: number[], number: () => number): GgufTensor => ({
    name,
    shape,
    type: 'f32',
    bytes: () => {
      const length = shape.reduce((product, one) => product * one, 1)
      return new Uint8Array(Float32Array.from({ length }, number).buffer)
    },
  })
  const matrix = (name: string, columns: number, rows: number, spread = columns ** -0.5) =>
    filled(`${name}.weight`, [columns, rows], () => spread * random())
  const linear = (name: string, columns: number, rows: number) => [
    matrix(name, columns, rows),
    filled(`${name}.bias`, [rows], () => 0.1 * random()),
  ]
  const norm = (name: string) => [
    filled(`${name}.weight`, [hidden], () => 1),
    filled(`${name}.bias`, [hidden], () => 0.1 * random()),
  ]
  const blocks = Array.from({ length: layers }, (_, layer) => `blk.${layer}`).flatMap((block) => [
    ...linear(`${block}.attn_q`, hidden, hidden),
    ...linear(`${block}.attn_k`, hidden, hidden),
    ...linear(`${block}.attn_v`, hidden, hidden),
    ...linear(`${block}.attn_output`, hidden, hidden),
    ...norm(`${block}.attn_output_norm`),
    ...linear(`${block}.ffn_up`, hidden, ffn),
    ...linear(`${block}.ffn_down`, ffn, hidden),
    ...norm(`${block}.layer_output_norm`),
  ])
  const head = [...linear('cls', hidden, hidden), ...linear('cls.output', hidden, 1)]
  return [
    matrix('token_embd', hidden, vocabulary.length, 1),
    matrix('position_embd', hidden, context, 0.5),
    matrix('token_types', hidden, 2, 0.1),
    ...norm('token_embd_norm'),
    ...blocks,
    ...(pooling === 'rank' ? head : []),
  ]
}

/**
 * Evenly distributed from -√3 to √3, so that their standard deviation is 1 (Marsaglia's xorshift:
 * https://doi.org/10.18637/jss.v008.i14).
 */
function randomNumbers(seed: number): () => number {
  let state = seed | 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state / 2 ** 31) * 3 ** 0.5
  }
}
