/**
 * The part of node-llama-cpp's internal binding that we use. Its public classes plan batches themselves, in a way that
 * starves new requests and loses a third of the speed, so batches are planned here and go to the native context
 * directly. Only native.ts imports this.
 */
export interface Binding {
  AddonModel: new (
    path: string,
    options: {
      addonExports: Binding
      gpuLayers: number
      useMmap: boolean
      onLoadProgress?: (share: number) => void
    },
  ) => AddonModel
  AddonContext: new (
    model: AddonModel,
    options: {
      /** Cells of the KV cache, for all sequences together. */
      contextSize: number
      batchSize: number
      sequences: number
      threads: number
      flashAttention: 'auto' | boolean
      swaFullCache: boolean
      /** Numbers of `ggml_type`; 16-bit floats where absent. */
      kvCacheKeyType?: number
      kvCacheValueType?: number
      /** Vectors instead of logits. */
      embeddings?: boolean
      /** One number per label of the model instead of a vector. */
      ranking?: boolean
    },
  ) => AddonContext
  AddonSampler: new (model: AddonModel) => AddonSampler
  AddonContextSequenceCheckpoint: new () => AddonCheckpoint
  AddonModelLora: new (model: AddonModel, path: string) => AddonLora
}

export interface AddonModel {
  /** False when the file cannot be loaded as a model; the log has the reason. */
  init(): Promise<boolean>
  /** Rejects when the file does not fit the model; the log has the reason. */
  loadLora(lora: AddonLora): Promise<void>
  tokenize(text: string, special: boolean): Uint32Array
  detokenize(tokens: Uint32Array, special: boolean): string
  getEmbeddingVectorSize(): number
  getTotalParameters(): number
  getTotalSize(): number
  /** -1 when there is none. */
  tokenBos(): number
  tokenEos(): number
  sepToken(): number
  /** Aborts the process when the token does not exist; so do the next two. */
  getTokenString(token: number): string | undefined
  getTokenAttributes(token: number): number
  isEogToken(token: number): boolean
  getVocabularyType(): number
  shouldPrependBosToken(): boolean
  shouldAppendEosToken(): boolean
}

export interface AddonContext {
  init(): Promise<boolean>
  getContextSize(): number
  /** Also empties the batch. */
  initBatch(size: number): void
  /** `wanted` are the positions in `tokens` whose logits are wanted; returns the rows where these will be. */
  addToBatch(sequence: number, position: number, tokens: Uint32Array, wanted: Uint32Array): Uint32Array
  decodeBatch(): Promise<void>
  sampleToken(row: number, sampler: AddonSampler): Promise<number>
  sampleToken(
    row: number,
    sampler: AddonSampler,
    probabilities: false,
    confidence: false,
    logits: boolean | LogitsFilter,
    totalLogitWeight?: boolean,
  ): Promise<Sampled>
  /** False when this kind of model cannot remove a part of a sequence from its memory. */
  removeTokenCellsFromSequence(sequence: number, from: number, to: number): boolean
  copySequenceStateFromOtherSequence(target: number, source: number): Promise<number>
  /** For all batches from now on. */
  setLoras(loras: AddonLora[], scales: number[]): void
  /** Returns the bytes of the file. */
  saveSequenceStateToFile(path: string, sequence: number, tokens: Uint32Array): Promise<number>
  /** Returns the tokens; rejects when the file is not what was saved, or is longer than the context. */
  loadSequenceStateFromFile(path: string, sequence: number, maxTokens: number): Promise<Uint32Array>
  /** False when the sequence's present state does not match the checkpoint up to that position. */
  restoreCheckpoint(checkpoint: AddonCheckpoint, lastPosition: number, sequence: number): Promise<boolean>
  /** The vector of sequence 0 from the last batch, in a context of embeddings. */
  getEmbedding(tokens: number): Float64Array
  dispose(): Promise<void>
}

/**
 * A copy of the state of a sequence, in memory. For models with several kinds of memory it has only the parts that
 * cannot remove single tokens: sliding windows, recurrent states (`LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY`). For all others
 * it has everything.
 */
interface AddonCheckpoint {
  init(context: AddonContext, sequence: number): Promise<void>
  dispose(): void
  readonly size: number
}

export interface AddonLora {
  dispose(): Promise<void>
}

export type LogitsFilter = [
  tokens: readonly number[],
  includeMax: false,
  includeMin: false,
  includeSelected: boolean,
  includeTop: number,
]

type Sampled = [
  token: number,
  probabilities: undefined,
  confidence: number | undefined,
  /** Token, logit, token, logit … */
  logits: number[] | undefined,
  /** The sum over all candidates of exp(logit - largest logit). */
  totalLogitWeight: number | undefined,
]

export interface AddonSampler {
  applyConfig(config: {
    temperature: number
    topK?: number
    seed?: number
    tokenBiasKeys?: Uint32Array
    tokenBiasValues?: Float32Array
  }): void
  dispose(): void
}

const shape = {
  AddonModel: [
    'init',
    'loadLora',
    'tokenize',
    'detokenize',
    'getEmbeddingVectorSize',
    'getTotalParameters',
    'getTotalSize',
    'tokenBos',
    'tokenEos',
    'sepToken',
    'getTokenString',
    'getTokenAttributes',
    'isEogToken',
    'getVocabularyType',
    'shouldPrependBosToken',
    'shouldAppendEosToken',
  ],
  AddonContext: [
    'init',
    'getContextSize',
    'initBatch',
    'addToBatch',
    'decodeBatch',
    'sampleToken',
    'getEmbedding',
    'removeTokenCellsFromSequence',
    'copySequenceStateFromOtherSequence',
    'setLoras',
    'saveSequenceStateToFile',
    'loadSequenceStateFromFile',
    'restoreCheckpoint',
    'dispose',
  ],
  AddonSampler: ['applyConfig', 'dispose'],
  AddonContextSequenceCheckpoint: ['init', 'dispose'],
  AddonModelLora: ['dispose'],
} as const satisfies { [Class in keyof Binding]: (keyof InstanceType<Binding[Class]>)[] }

/** The binding inside the result of `getLlama`; throws when it is not the one that we know. */
export function bindingOf(llama: object): Binding {
  const binding: Binding & Record<string, { prototype: Record<string, unknown> } | undefined> =
    Reflect.get(llama, '_bindings') ?? {}
  const missing = Object.entries(shape).flatMap(([name, methods]) => {
    const prototype = binding[name]?.prototype
    return methods
      .filter((method) => typeof prototype?.[method] !== 'function')
      .map((method) => `${name}.${method}`)
  })
  if (missing.length > 0) {
    throw new Error(`the binding of node-llama-cpp differs from that of version 3.22.1: it has no ${missing}`)
  }
  return binding
}
