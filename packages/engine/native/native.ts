import { namesPattern } from '../../chat-format/index.ts'
import { controlTokensOf, type Vocabulary } from '../../constraints/index.ts'
import { createYieldToLoop } from '../../waiting/index.ts'
import { openLlamaContext } from '../llama/context.ts'
import { type LoadedModel, loadLlamaModel } from '../llama/model.ts'
import { typeNumbers, usualKvTypes } from '../models/kv-types.ts'
import { openPoolingContext, type PoolingOptions } from '../pooling/context.ts'
import type { Truncation } from '../pooling/request.ts'
import { inspectCheckpoints, saveState } from '../prompt-cache/states.ts'
import type { Adapter, EngineOptions, GpuBuild } from '../protocol.ts'
import type { ReadLogits } from '../sampling/logits.ts'
import { isPlainCostly } from './attention.ts'
import { type Build, openBuild } from './build.ts'
import { infillOf } from './infill-tokens.ts'
import { endOfText, hiddenParts, startOfText, type TextPart, textPieces } from './text-pieces.ts'
import { BYTE_PAIRS, isControl, isSpecial, isUnknown, tokenBytes, WORD_PIECES } from './token-bytes.ts'

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
 * The process must have a single libuv thread: calls of the native library run one at a time.
 */
export async function loadModel(
  file: string,
  onProgress: (share: number) => void,
  { gpu, gpuLayers }: { gpu: GpuBuild | false; gpuLayers: number } = { gpu: false, gpuLayers: 0 },
) {
  if (process.env.UV_THREADPOOL_SIZE !== '1') {
    throw new Error('the engine needs UV_THREADPOOL_SIZE=1 in the environment of its process')
  }
  let complaint = ''
  const build = await openBuild(gpu, (message) => {
    complaint ||= message
  })
  const llama = await loadLlamaModel(build, file, { gpuLayers, onProgress })
  if (llama === undefined) throw new Error(complaint || 'llama.cpp cannot load it')
  const { vocabulary, maxTokenSize } = readVocabulary(llama)
  const names = Array.from(controlTokensOf(vocabulary).keys())
  const findNames = namesPattern(names)
  const isWordPieces = llama.kind === WORD_PIECES
  const some = (token: number, isMeant: (attributes: number) => boolean) =>
    token >= 0 && isMeant(llama.attributes(token)) ? [token] : []
  /** By name; each a list of one, or empty if the model has no such token. */
  const ends = {
    bos: some(llama.bos, isControl),
    eos: some(llama.eos, isControl),
    sep: some(llama.sep, (attributes) => !isUnknown(attributes)),
  }
  const nameOf = ([token]: number[]) => (token === undefined ? '' : llama.written(token))
  /** The tokens that the model wants around a text; encoders with word pieces always want them. */
  const around = {
    begin: isWordPieces || llama.wantsBos ? ends.bos : [],
    end: isWordPieces ? ends.sep : llama.wantsEos ? ends.eos : [],
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
    engine: build.engine,
    vocabulary,
    /** The most bytes that one token stands for. */
    maxTokenSize,
    template: llama.metadata('tokenizer.chat_template'),
    tokens: { bos: nameOf(ends.bos), eos: nameOf(ends.eos) },
    controlTokens: names.slice(0, maxControlTokens),
    infill: infillOf(llama.metadata, (name) => llama.tokenize(name, true)),
    around,
    ends,
    /** How a query and a document are combined into one text. */
    pairTemplate: llama.metadata('tokenizer.chat_template.rerank'),
    architecture: llama.architecture,
    dimensions: llama.dimensions,
    parameters: llama.parameters,
    bytes: llama.bytes,
    /**
     * Text to tokens. `special` also reads the names of special tokens; `add` puts the tokens that the model wants
     * around the text. What is beyond `truncation` may not be read. No name is read across `mark`.
     */
    tokenize(text: string, { special, add, mark }: TextOptions, truncation = everything): number[] {
      for (let size = lettersOfToken * Math.max(1, truncation.tokens); ; size *= 2) {
        const read = truncation.side === 'left' ? endOfText(text, size) : startOfText(text, size)
        const tokens = Array.from(tokenPieces(llama, partsOf(read, special, mark))).flat()
        // If a text without words was cut, a few tokens may differ from those of the whole.
        if (read.length < text.length && tokens.length < truncation.tokens + uncertainTokens) continue
        return add ? whole(tokens) : tokens
      }
    },
    /** The same for texts that may be longer than any prompt: yields to the event loop in between. */
    async tokenizeInTurns(text: string, { special, add, mark }: TextOptions): Promise<number[]> {
      const yieldToLoop = createYieldToLoop()
      const pieces: number[][] = []
      for (const piece of tokenPieces(llama, partsOf(text, special, mark))) {
        pieces.push(piece)
        const pause = yieldToLoop()
        if (pause) await pause
      }
      return add ? whole(pieces.flat()) : pieces.flat()
    },
    detokenize: (tokens: number[], { special }: { special: boolean }) =>
      llama.detokenize(tokens, special).toString(),
    async openPooling(options: Omit<PoolingOptions, 'flashAttention'>) {
      const { context, batch } = options
      const flashAttention = isPlainCostly({ ...llama.heads, context, batch, sequences: 1 }) && 'auto'
      const opened = await openPoolingContext(build, llama, { ...options, flashAttention })
      if (opened !== undefined) return opened
      throw new Error(
        `llama.cpp has no room for texts of ${context} tokens: ${complaint || 'no reason given'}`,
      )
    },
    async openContext(options: ContextOptions) {
      const context = await openContext(build, llama, options)
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
function* tokenPieces(llama: LoadedModel, texts: Iterable<TextPart>): Generator<number[]> {
  const isByWords = [BYTE_PAIRS, WORD_PIECES].includes(llama.kind)
  for (const { text, special } of texts) {
    const pieces = isByWords ? textPieces(text) : [text]
    for (const piece of pieces) yield llama.tokenize(piece, special)
  }
}

function readVocabulary(llama: LoadedModel): { vocabulary: Vocabulary; maxTokenSize: number } {
  const { size, kind, eos } = llama
  const texts: Uint8Array[] = []
  const specials = new Set<number>()
  const ends: number[] = []
  let maxTokenSize = 1
  for (let token = 0; token < size; token++) {
    const attributes = llama.attributes(token)
    const bytes =
      tokenBytes(llama.written(token), attributes, kind) ?? Buffer.from(llama.detokenize([token], true))
    texts.push(bytes)
    maxTokenSize = Math.max(maxTokenSize, bytes.length)
    if (isSpecial(attributes)) specials.add(token)
    if (llama.isEnd(token)) ends.push(token)
  }
  return {
    maxTokenSize,
    vocabulary: {
      size,
      eos: eos >= 0 && isControl(llama.attributes(eos)) ? eos : undefined,
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

/** llama.cpp rounds up to this by itself; done here so that each sequence has at least the requested size. */
const cellsInRow = 256

async function loadAdapters(llama: LoadedModel, adapters: readonly Adapter[]) {
  const loras = new Map<string, bigint>()
  for (const { name, file } of adapters) {
    const lora = await llama.loadAdapter(file)
    if (lora === undefined) throw new Error(`llama.cpp cannot use the adapter ${file}`)
    loras.set(name, lora)
  }
  return loras
}

/** The context: the KV cache of the sequences, and the operations on it, one batch after the other. */
async function openContext(
  build: Build,
  llama: LoadedModel,
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
  const isCostly = isPlainCostly({ ...llama.heads, context, batch, sequences })
  const usual = kv.values.startsWith('q') || (isCostly && 'auto')
  const usesFlash = flashAttention === 'auto' ? usual : flashAttention === 'on'
  const native = await openLlamaContext(build, llama, {
    cells,
    sequences,
    batch: Math.max(batch, sequences),
    threads,
    flashAttention: usesFlash,
    kvTypes: [typeNumbers[kv.keys], typeNumbers[kv.values]],
  })
  if (native === undefined) return undefined
  const loras = await loadAdapters(llama, adapters)
  let adapted: string | undefined
  const checkpoints = keeps ? await inspectCheckpoints(native) : undefined
  let latest = Promise.resolve(true)
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
    save: native.save,
    /**
     * Gives the sequence the state in such a file, at most so many tokens. The file must be complete: others can end
     * the process.
     */
    load: native.load,
    /** A copy of the state of a sequence. */
    keep: (sequence: number) => saveState(native, sequence),
    /** Starts a batch. */
    begin: (_size: number) => native.begin(),
    /**
     * Adds these tokens to the sequence at this position. Sequences that are added in ascending order, one after the
     * other, are computed together: see additionOrder. Returns the rows where the wanted logits will be.
     */
    add: native.add,
    /** Uses this adapter, or none, for all batches from now on. */
    adapt(name: string | undefined) {
      if (name === adapted) return
      const lora = name === undefined ? undefined : loras.get(name)
      if (name !== undefined && lora === undefined) throw new Error(`there is no adapter ${name}`)
      native.adapt(lora === undefined ? [] : [lora])
      adapted = name
    },
    /** False when the batch was stopped: what its sequences hold of it must be removed. */
    decode(): Promise<boolean> {
      const decoding = native.decode()
      latest = decoding
      return decoding
    },
    /** Stops the batch that is being computed. */
    stop: native.stop,
    /**
     * Of a row that `add` returned, where the native library has them, until the next batch is decoded. What is asked
     * during the batch is answered after it.
     */
    logits(row: number): ReadLogits {
      const batch = latest
      return async () => {
        if (!(await batch)) throw new Error('the batch was stopped')
        if (latest !== batch) throw new Error('the row is of an earlier batch')
        return native.logits(row)
      }
    },
    /** Removes what the sequence has from this position on; false when it can only remove everything. */
    forget: native.forget,
    /** Copies the memory of one sequence to another. */
    copy: native.copy,
    close: native.close,
  }
}
