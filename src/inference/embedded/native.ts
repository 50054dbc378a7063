import { type GgufMetadata, readGgufFileInfo } from 'node-llama-cpp'
import { namesPattern } from '../../../packages/chat-format/index.ts'
import { controlTokensOf, type Vocabulary } from '../../../packages/constraints/index.ts'
import { createYieldToLoop } from '../../domain/yielding.ts'
import { typeNumbers, usualKvTypes } from '../models/kv-types.ts'
import type { Truncation } from '../pooling.ts'
import { isPlainCostly } from './attention.ts'
import { type AddonContext, type AddonLora, type AddonModel, type Binding, bindingOf } from './binding.ts'
import { openBuild } from './build.ts'
import { createLogitsReader } from './logits-reader.ts'
import { openPoolingContext, type PoolingOptions } from './pooling/context.ts'
import { inspectCheckpoints, saveState } from './prompt-cache/states.ts'
import type { Adapter, EngineOptions, GpuBuild } from './protocol.ts'
import { endOfText, hiddenParts, startOfText, type TextPart, textPieces } from './text-pieces.ts'
import { BYTE_PAIRS, isSpecial, tokenBytes, WORD_PIECES } from './token-bytes.ts'

export type NativeModel = Awaited<ReturnType<typeof loadModel>>

interface ContextOptions extends Partial<Pick<EngineOptions, 'kv' | 'flashAttention' | 'adapters'>> {
  /** Tokens of one sequence. */
  context: number
  sequences: number
  /** The most tokens of one batch. */
  batch: number
  threads: number
  /** Whether the state of sequences is to be kept outside of the context. */
  keeps?: boolean
}

export type NativeContext = NonNullable<Awaited<ReturnType<typeof openContext>>>

/**
 * Loads a model. It must only be given token ids of its vocabulary: others end the process. Progress goes from 0 to 1.
 * The process must have a single libuv thread: the native library spins, each thread that enters it brings its own team
 * of spinning threads, and samplers are shared because calls run one at a time.
 */
export async function loadModel(
  file: string,
  onProgress: (share: number) => void,
  { gpu, gpuLayers }: { gpu: GpuBuild | false; gpuLayers: number } = { gpu: false, gpuLayers: 0 },
) {
  if (process.env.UV_THREADPOOL_SIZE !== '1') {
    throw new Error('the engine needs UV_THREADPOOL_SIZE=1 in the environment of its process')
  }
  const { metadata } = await readGgufFileInfo(file, { readTensorInfo: false, logWarnings: false })
  let complaint = ''
  const llama = await openBuild(gpu, (message) => {
    complaint ||= message
  })
  const binding = bindingOf(llama)
  const engine = `${llama.llamaCppRelease.release} ${llama.systemInfo}`
  const addon = new binding.AddonModel(file, {
    addonExports: binding,
    gpuLayers,
    useMmap: true,
    onLoadProgress: onProgress,
  })
  if (!(await addon.init())) throw new Error(complaint || 'llama.cpp cannot load it')
  const { vocabulary, maxTokenSize } = readVocabulary(addon, metadata.tokenizer.ggml.tokens.length)
  const names = Array.from(controlTokensOf(vocabulary).keys())
  const findNames = namesPattern(names)
  const nameOf = (token: number) => (token < 0 ? '' : (addon.getTokenString(token) ?? ''))
  const bos = addon.tokenBos()
  const eos = addon.tokenEos()
  const sep = addon.sepToken()
  const isWordPieces = addon.getVocabularyType() === WORD_PIECES
  const some = (token: number) => (token < 0 ? [] : [token])
  /** The tokens that the model wants around a text; encoders with word pieces always want them. */
  const around = {
    begin: isWordPieces || addon.shouldPrependBosToken() ? some(bos) : [],
    end: isWordPieces ? some(sep) : addon.shouldAppendEosToken() ? some(eos) : [],
  }

  function whole(tokens: number[]): number[] {
    const [begin] = around.begin
    const [end] = around.end
    if (begin !== undefined && tokens[0] !== begin) tokens.unshift(begin)
    if (end !== undefined && tokens.at(-1) !== end) tokens.push(end)
    return tokens
  }

  function partsOf(text: string, special: boolean, mark: string | undefined): Iterable<TextPart> {
    return mark !== undefined && text.includes(mark)
      ? hiddenParts(text, mark, findNames)
      : [{ text, special }]
  }

  return {
    /** The build of llama.cpp, and the processor features that it uses. */
    engine,
    vocabulary,
    /** The most bytes that one token stands for. */
    maxTokenSize,
    template: metadata.tokenizer.chat_template,
    tokens: { bos: nameOf(bos), eos: nameOf(eos) },
    controlTokens: names.slice(0, maxControlTokens),
    around,
    /** By name; each a list of one, or empty if the model has no such token. */
    ends: { bos: some(bos), eos: some(eos), sep: some(sep) },
    /** How a query and a document are combined into one text. */
    pairTemplate: metadata.tokenizer['chat_template.rerank'],
    architecture: metadata.general.architecture,
    dimensions: addon.getEmbeddingVectorSize(),
    parameters: addon.getTotalParameters(),
    bytes: addon.getTotalSize(),
    /**
     * Text to tokens. `special` also reads the names of special tokens; `add` puts the tokens that the model wants
     * around the text. What is beyond `truncation` may not be read. No name is read across `mark`.
     */
    tokenize(text: string, { special, add, mark }: TextOptions, truncation = everything): number[] {
      for (let size = lettersOfToken * Math.max(1, truncation.tokens); ; size *= 2) {
        const read = truncation.side === 'left' ? endOfText(text, size) : startOfText(text, size)
        const tokens = Array.from(tokenPieces(addon, partsOf(read, special, mark))).flat()
        // If a text without words was cut, a few tokens may differ from those of the whole.
        if (read.length < text.length && tokens.length < truncation.tokens + uncertainTokens) continue
        return add ? whole(tokens) : tokens
      }
    },
    /** The same for texts that may be longer than any prompt: yields to the event loop in between. */
    async tokenizeInTurns(text: string, { special, add, mark }: TextOptions): Promise<number[]> {
      const yieldToLoop = createYieldToLoop()
      const pieces: number[][] = []
      for (const piece of tokenPieces(addon, partsOf(text, special, mark))) {
        pieces.push(piece)
        const pause = yieldToLoop()
        if (pause) await pause
      }
      return add ? whole(pieces.flat()) : pieces.flat()
    },
    detokenize: (tokens: number[], { special }: { special: boolean }) =>
      addon.detokenize(Uint32Array.from(tokens), special),
    async openPooling(options: Omit<PoolingOptions, 'flashAttention'>) {
      const { context, batch } = options
      const flashAttention = isPlainCostly({ ...headsOf(metadata), context, batch, sequences: 1 }) && 'auto'
      const opened = await openPoolingContext(binding, addon, { ...options, flashAttention })
      if (opened !== undefined) return opened
      throw new Error(
        `llama.cpp has no room for texts of ${context} tokens: ${complaint || 'no reason given'}`,
      )
    },
    async openContext(options: ContextOptions) {
      const context = await openContext(binding, addon, vocabulary.size, headsOf(metadata), options)
      if (context !== undefined) return context
      const { sequences, context: length } = options
      throw new Error(
        `llama.cpp has no room for ${sequences} sequences of ${length} tokens: ${complaint || 'no reason given'}`,
      )
    },
  }
}

/** Those with a meaning come first; there can be thousands of reserved ones. */
const maxControlTokens = 16_384

interface TextOptions {
  special: boolean
  add: boolean
  mark?: string
}

/** Tokens of most texts have fewer letters. */
const lettersOfToken = 8
const uncertainTokens = 64
const everything: Truncation = { tokens: Number.POSITIVE_INFINITY, side: 'left' }

/** Only vocabularies of byte pairs and of word pieces are tokenized word by word; others may depend on the whole text. */
function* tokenPieces(addon: AddonModel, texts: Iterable<TextPart>): Generator<number[]> {
  for (const { text, special } of texts) {
    const isByWords = [BYTE_PAIRS, WORD_PIECES].includes(addon.getVocabularyType())
    const pieces = isByWords ? textPieces(text) : [text]
    for (const piece of pieces) yield Array.from(addon.tokenize(piece, special))
  }
}

function readVocabulary(addon: AddonModel, size: number): { vocabulary: Vocabulary; maxTokenSize: number } {
  const kind = addon.getVocabularyType()
  const texts: Uint8Array[] = []
  const specials = new Set<number>()
  const ends: number[] = []
  let maxTokenSize = 1
  for (let token = 0; token < size; token++) {
    const attributes = addon.getTokenAttributes(token)
    const bytes =
      tokenBytes(addon.getTokenString(token) ?? '', attributes, kind) ??
      Buffer.from(addon.detokenize(Uint32Array.of(token), true))
    texts.push(bytes)
    maxTokenSize = Math.max(maxTokenSize, bytes.length)
    if (isSpecial(attributes)) specials.add(token)
    if (addon.isEogToken(token)) ends.push(token)
  }
  const eos = addon.tokenEos()
  return {
    maxTokenSize,
    vocabulary: {
      size,
      eos: eos < 0 ? undefined : eos,
      ends,
      bytes(token) {
        const bytes = texts[token]
        if (bytes === undefined) throw new RangeError(`there is no token ${token}`)
        return bytes
      },
      isSpecial: (token) => specials.has(token),
    },
  }
}

function headsOf({ general, ...others }: GgufMetadata) {
  const architecture = others[general.architecture]
  const attention = { head_count: undefined, key_length: undefined, ...architecture?.attention }
  const count = attention.head_count
  const heads = Array.isArray(count) ? Math.max(...count) : (count ?? 1)
  return { heads, headLength: attention.key_length ?? (architecture?.embedding_length ?? 0) / heads }
}

/** llama.cpp rounds up to this by itself; done here so that each sequence has at least the requested size. */
const cellsInRow = 256

async function loadAdapters(binding: Binding, model: AddonModel, adapters: readonly Adapter[]) {
  const loras = new Map<string, AddonLora>()
  for (const { name, file } of adapters) {
    const lora = new binding.AddonModelLora(model, file)
    await model.loadLora(lora)
    loras.set(name, lora)
  }
  return loras
}

/** The context: the KV cache of the sequences, and the operations on it, one batch after the other. */
async function openContext(
  binding: Binding,
  model: AddonModel,
  vocabulary: number,
  heads: ReturnType<typeof headsOf>,
  {
    context,
    sequences,
    batch,
    threads,
    keeps,
    kv = usualKvTypes,
    flashAttention = 'auto',
    adapters = [],
  }: ContextOptions,
) {
  const cells = Math.ceil(context / cellsInRow) * cellsInRow * sequences
  const usual =
    kv.values.startsWith('q') || (isPlainCostly({ ...heads, context, batch, sequences }) && 'auto')
  const usesFlash = flashAttention === 'auto' ? usual : flashAttention === 'on'
  const addon: AddonContext = new binding.AddonContext(model, {
    contextSize: cells,
    batchSize: Math.max(batch, sequences),
    sequences,
    threads,
    flashAttention: usesFlash,
    kvCacheKeyType: typeNumbers[kv.keys],
    kvCacheValueType: typeNumbers[kv.values],
    // Otherwise a model with a sliding window of a few thousand tokens would drop what a later prompt could share.
    swaFullCache: true,
  })
  if (!(await addon.init())) return undefined
  if (addon.getContextSize() < cells) {
    throw new Error(`asked for ${cells} cells, llama.cpp gave ${addon.getContextSize()}`)
  }
  const reading = createLogitsReader(binding, addon, model, { vocabulary, sequences })
  const loras = await loadAdapters(binding, model, adapters)
  let adapted: string | undefined
  const checkpoints = keeps ? await inspectCheckpoints(binding, addon) : undefined
  return {
    hasPlainAttention: !usesFlash,
    /**
     * Flash attention computes prompts in tiles, and anything shorter row by row. With other types than these it always
     * computes row by row.
     */
    readsTiles: usesFlash && [kv.keys, kv.values].every((type) => type === 'f16' || type === 'f32'),
    /** Undefined when state cannot be, or is not to be, kept outside of the context. */
    bytesOfToken: checkpoints?.areWhole ? checkpoints.bytesOfToken : undefined,
    /** Writes the state of a sequence to a file; returns its bytes. */
    save: (path: string, sequence: number, tokens: Uint32Array) =>
      addon.saveSequenceStateToFile(path, sequence, tokens),
    /**
     * Gives the sequence the state in such a file, at most `most` tokens. The file must be complete: others can end the
     * process.
     */
    load: (path: string, sequence: number, most: number) =>
      addon.loadSequenceStateFromFile(path, sequence, most),
    /** A copy of the state of a sequence. */
    keep: (sequence: number) => saveState(binding, addon, sequence),
    /** Starts a batch of `size` tokens. */
    begin: (size: number) => addon.initBatch(size),
    /**
     * Adds these tokens to the sequence at this position. Sequences that are added in ascending order, one after the
     * other, are computed together: see additionOrder. Returns the rows where the wanted logits will be.
     */
    add: (sequence: number, position: number, tokens: Uint32Array, wanted: Uint32Array) =>
      addon.addToBatch(sequence, position, tokens, wanted),
    /** Uses this adapter, or none, for all batches from now on. */
    adapt(name: string | undefined) {
      if (name === adapted) return
      const lora = name === undefined ? undefined : loras.get(name)
      if (name !== undefined && lora === undefined) throw new Error(`there is no adapter ${name}`)
      addon.setLoras(lora ? [lora] : [], lora ? [1] : [])
      adapted = name
    },
    decode: () => addon.decodeBatch(),
    /** Of a row that `add` returned, until the next batch is decoded. */
    logits: reading,
    /** Removes what the sequence has from this position on; false when it can only remove everything. */
    forget: (sequence: number, from: number) => addon.removeTokenCellsFromSequence(sequence, from, -1),
    /** Copies the memory of one sequence to another. */
    copy: (from: number, to: number) => addon.copySequenceStateFromOtherSequence(to, from),
    close: () => addon.dispose(),
  }
}
