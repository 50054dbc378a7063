/**
 * The shape of the internal binding of node-llama-cpp, as far as we use it. Its public classes plan batches themselves,
 * in a way that starves new requests and loses a third of the speed, so the batches are planned here and go to the native
 * context directly. Nothing outside of native.ts imports this.
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
      /** Cells of all sequences together. */
      contextSize: number
      batchSize: number
      sequences: number
      threads: number
      flashAttention: 'auto' | boolean
      swaFullCache: boolean
      /** Numbers of `ggml_type`; 16-bit numbers where absent. */
      kvCacheKeyType?: number
      kvCacheValueType?: number
      /** Vectors in place of logits. */
      embeddings?: boolean
      /** One number for each label of the model in place of a vector. */
      ranking?: boolean
    },
  ) => AddonContext
  AddonSampler: new (model: AddonModel) => AddonSampler
  AddonContextSequenceCheckpoint: new () => AddonCheckpoint
  AddonModelLora: new (model: AddonModel, path: string) => AddonLora
}

export interface AddonModel {
  /** False when the file is no model that can be loaded; the log has the reason. */
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
  /** Aborts the process when there is no such token; so do the next two. */
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
  /** Also empties it. */
  initBatch(size: number): void
  /** `wanted` are the places in `tokens` whose logits are wanted; answers where these will be. */
  addToBatch(sequence: number, position: number, tokens: Uint32Array, wanted: Uint32Array): Uint32Array
  decodeBatch(): Promise<void>
  sampleToken(place: number, sampler: AddonSampler): Promise<number>
  sampleToken(
    place: number,
    sampler: AddonSampler,
    probabilities: false,
    confidence: false,
    logits: boolean | LogitsFilter,
    totalLogitWeight?: boolean,
  ): Promise<Sampled>
  /** False when the memory of this kind of model cannot forget a part. */
  removeTokenCellsFromSequence(sequence: number, from: number, to: number): boolean
  copySequenceStateFromOtherSequence(target: number, source: number): Promise<number>
  /** For all batches from now on. */
  setLoras(loras: AddonLora[], scales: number[]): void
  /** Answers the bytes of the file. */
  saveSequenceStateToFile(path: string, sequence: number, tokens: Uint32Array): Promise<number>
  /** Answers the tokens; rejects when it is not what was saved, or longer than the context. */
  loadSequenceStateFromFile(path: string, sequence: number, mostTokens: number): Promise<Uint32Array>
  /** False where what is there now is not what was kept, up to that position. */
  restoreCheckpoint(checkpoint: AddonCheckpoint, lastPosition: number, sequence: number): Promise<boolean>
  /** What the last batch made of sequence 0, for a context of embeddings. */
  getEmbedding(tokens: number): Float64Array
  dispose(): Promise<void>
}

/**
 * A copy of what a sequence remembers, in memory. Of models that remember in several ways, the parts that cannot forget a few
 * tokens alone: sliding windows, recurrent states (`LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY`). Of all others everything.
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

/** The binding behind what `getLlama` answers; throws when it is not the one that we know. */
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
    throw new Error(
      `the binding of node-llama-cpp has another shape than that of version 3.22.1: no ${missing}`,
    )
  }
  return binding
}
