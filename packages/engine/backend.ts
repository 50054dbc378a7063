import type { CompiledConstraint } from './constraint.ts'
import type { Pooled, PoolingRequest, Truncation } from './pooling/request.ts'

/**
 * Turns the tokens of a prompt into those of an answer: the embedded engine or, in tests, a script. Operations do not
 * use it directly: they use a `Model`, which first compiles constraints and renders conversations.
 */
export interface Backend {
  status(): BackendStatus
  /** Undefined until a model is loaded. */
  model(): ServedModel | undefined
  /** The most bytes that one token stands for; absent if it is not known. */
  maxTokenSize?(): number
  /**
   * Text to tokens. `special` also reads the names of special tokens as these tokens; `add` adds the tokens that the
   * model wants before and after a text. `mark` is a character that is removed, and no name is read across it.
   */
  tokenize(
    text: string,
    options: { special: boolean; add: boolean; mark?: string },
    signal: AbortSignal,
  ): Promise<number[]>
  detokenize(tokens: number[], options: { special: boolean }, signal: AbortSignal): Promise<string>
  /**
   * Resolves when the whole request has been checked and is running or queued; rejects with a refusal of the catalogue
   * otherwise. From then on, everything is reported as events. When the signal aborts, its sequences are free again
   * within one batch.
   */
  generate(request: Generation, signal: AbortSignal): Promise<Run>
  /**
   * For a model that pools. `each` is called for every input as soon as it has been read. Resolves when all have been
   * read; if one cannot be, rejects before the first. When the signal aborts, no further input is read.
   */
  pool(request: PoolingRequest, each: (pooled: Pooled) => void, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/**
 * `starting` also covers downloads and every restart; `failed` is a model that cannot be served at all, with the
 * reason, which callers may read.
 */
export type BackendStatus =
  | { state: 'starting'; doing: string }
  /** It is loaded by the first request for it. */
  | { state: 'unloaded' }
  | {
      state: 'ready'
      running: number
      waiting: number
      /** Memory of its engine, if known. */
      bytes?: number
      /** Present if it keeps prompts outside of its sequences, or could. */
      promptCache?: PromptCacheLoad
      drafts?: DraftCounts
    }
  | { state: 'failed'; reason: string }

export interface DraftCounts {
  checked: number
  right: number
}

/** Prompts that were read and are kept outside of the sequences. The counts start with the engine. */
export interface PromptCacheLoad {
  prompts: number
  bytes: number
  /** The most bytes it may use; 0 if nothing is kept. */
  bound: number
  saved: number
  /** How often a prompt continued from a kept one. */
  restored: number
  /** Dropped to make room for others. */
  dropped: number
  /** Not kept: it would have delayed others too long, or taken all of the room. */
  skipped: number
  /** Present if prompts are also kept on disk. */
  disk?: DiskCacheLoad
}

export interface DiskCacheLoad {
  prompts: number
  bytes: number
  bound: number
  written: number
  restored: number
  /** Removed to make room for others. */
  removed: number
  /** Could not be written. */
  failed: number
}

/** What a model does: generate text, make vectors of texts, or score how well documents fit a query. */
export type ModelTask = 'answers' | 'embeddings' | 'ranking'

/** The control tokens with which a model fills gaps, by id. */
export interface InfillTokens {
  prefix: number
  suffix: number
  middle: number
  /** Between files, and after the name of a project. */
  file?: number
  project?: number
  /** Tokens that end what fills the gap, besides the end token. */
  ends: readonly number[]
}

export interface ServedModel {
  /** Absent: answers only. */
  tasks?: readonly ModelTask[]
  /** The first is the name that answers carry; the others are accepted too. */
  names: string[]
  /** The names of its adapters, each served as its own model. */
  adapters?: readonly string[]
  /** For an adapter: the name of the model that it changes. */
  parent?: string
  /** Of the weights, and of those of each adapter; absent for a model elsewhere. */
  digest?: string
  adapterDigests?: readonly string[]
  /** Seconds since the epoch when it was loaded. */
  created: number
  /** Where it came from, as given in the setting: `builtin`, a path, `hf:…`. */
  source: string
  /** Tokens of one sequence, prompt and answer together. */
  context: number
  /** Sequences that run at once. */
  parallel: number
  threads: number
  /** Where it runs: `cpu`, or the GPU with the number of layers on it. */
  device: string
  vocabulary: number
  /** The names of its control tokens, which no text can contain; only the first if there are very many. */
  controlTokens: readonly string[]
  parameters: number
  /** As its file says, such as `qwen3` and `Q4_K_M`; absent for a model elsewhere. */
  architecture?: string
  quantization?: string
  /** The tokens around the text before and after a gap, and before what fills it; absent if it has none. */
  infill?: InfillTokens
  bytes: number
  /** The length of its vectors; absent if it makes none, or if only its server knows. */
  dimensions?: number
  /** Shorter lengths to which its vectors may be cut: any, or these; absent if none. */
  shorter?: 'any' | readonly number[]
  /** The model's own Jinja template, if it has one. */
  template: string | undefined
  /** Pictures in messages are passed on to its server, which may refuse them. */
  passesPictures?: boolean
  /** In the form that templates expect. */
  tokens: { bos: string; eos: string }
}

export interface Generation {
  /** The rendered prompt, or its tokens. The options are those of `tokenize`. */
  prompt: { text: string; special: boolean; add: boolean; mark?: string } | { tokens: number[] }
  truncate?: Truncation
  /** The number of independent answers; each draws with its own seed. */
  choices: number
  sampling: Sampling
  ending: Ending
  /**
   * The answer is a text of this grammar, which was compiled from a constraint, or the beginning of one if its length
   * ends it.
   */
  constraint?: CompiledConstraint
  /** The number of candidates listed with each drawn token, 0 to 20; no logprobs if absent. */
  logprobs?: number
  /** Lists these and the drawn token instead of the likeliest, if there are logprobs. Each is named once. */
  logprobTokens?: readonly number[]
  promptLogprobs?: number
  /**
   * How the tokens become text. `markers` are names of control tokens: the text shows the one with index i as the lone
   * low surrogate U+DC00+i, whatever `skipSpecial` says, and the constraint accepts it where it continues with that.
   */
  text: { skipSpecial: boolean; spaceSpecial: boolean; markers?: readonly string[] }
  /**
   * Present if the length of the thought is limited: after `budget` tokens of it those of `close` follow, whatever the
   * model says. `open` and `close` are as in the answer's text, with markers as code units; white space around them is
   * ignored when they are searched for.
   */
  thinking?: {
    budget: number
    open: string
    close: string
    /** The prompt ends inside the thought. */
    isOpen: boolean
    /** Other texts that end a thought: calls may begin in the middle of it. */
    calls?: readonly string[]
  }
  /**
   * A text that the answer is expected to resemble. It is used for guesses and changes nothing. Absent for beam
   * searches.
   */
  prediction?: string
  /** One of the adapters of the model. */
  adapter?: string
  /** Prompts share cached tokens only with prompts of the same salt, in the same group. */
  salt?: string
  /** Tenants that share cached tokens have the same; absent: the tenant shares them with nobody. */
  promptGroup?: string
  /** Lower runs earlier; 0 unless priorities are switched on. */
  priority: number
  /** Who sent the request: tenants take turns, and none takes all slots of the queue. Absent if there is only one. */
  tenant?: string
  /** Present if nobody waits for the answer: see `Lane`. */
  lane?: Lane
  /** Present for a beam search with `choices` beams; of `sampling`, only the temperature applies. */
  beam?: { lengthPenalty: number }
}

/**
 * Background work stays behind the callers. It begins when a sequence is free that no caller waits for, and loses it at
 * once when one does. What it has written is kept, and it resumes later. Alongside callers it gets a twenty-fifth of
 * the time. It has its own queue, and is counted nowhere else. A beam search cannot be background work.
 */
export type Lane = 'background'

/** All of them set: nothing here means "default". They are applied in the order of vLLM's sampler. */
export interface Sampling {
  /** 0 takes the likeliest token. */
  temperature: number
  topP: number
  topK: number
  minP: number
  /** Choice i draws with seed + i; if absent, the seed differs each time. */
  seed?: bigint
  /** Over the answer's tokens. */
  frequencyPenalty: number
  presencePenalty: number
  /** Over the prompt's and the answer's tokens. */
  repetitionPenalty: number
  /** Pairs of a token and the number that is added to its logit. */
  bias: [token: number, bias: number][]
  /** Only these tokens can be drawn. */
  allowed?: number[]
  /** Texts that the answer must not contain in the form of their tokens. */
  badWords: string[]
}

/** Draws from the model's own distribution: each setting is off. */
export const plainSampling: Sampling = {
  ...{ temperature: 1, topP: 1, topK: 0, minP: 0, bias: [], badWords: [] },
  ...{ frequencyPenalty: 0, presencePenalty: 0, repetitionPenalty: 1 },
}

export interface Ending {
  /** Absent: as many as the context leaves. */
  maxTokens?: number
  /** A larger `maxTokens` than the context leaves is reduced to that instead of being refused. */
  isClipped?: boolean
  minTokens: number
  stop: string[]
  stopTokens: number[]
  ignoreEos: boolean
  /** The stop string, or the text of the stop token, is kept in the answer. */
  includeStop: boolean
  repetition?: { minPattern: number; maxPattern: number; count: number }
}

export interface Run {
  /** After truncation; the ids that the model sees. */
  promptTokens: number[]
  /** Grouped like those of `Answering`; a choice's `finished` comes together with its last tokens. */
  events: AsyncIterable<GenerationEvent[]>
}

export type GenerationEvent =
  /** The prompt has been read; comes once, before any token. */
  | {
      kind: 'prefilled'
      cachedTokens: number
      promptLogprobs?: PromptLogprobs
      /** How long the request had waited when the engine began to read it. */
      queuedMs?: number
    }
  /**
   * `text` may be incomplete while some is held back, or empty; `tokens` and `logprobs` are those drawn since the last
   * event of this choice.
   */
  | {
      kind: 'tokens'
      choice: number
      text: string
      tokens: number[]
      logprobs?: TokenLogprob[]
      /** Where the text of each token ends, in an event that was merged from several. */
      ends?: number[]
    }
  | {
      kind: 'finished'
      choice: number
      reason: FinishReason
      stop: string | number | null
      /** Present if the request had one. */
      prediction?: PredictionCounts
    }

/** Tokens of a prediction that came in the answer when they were predicted next, and all others. */
export interface PredictionCounts {
  accepted: number
  rejected: number
}

/** Only servers elsewhere return `content_filter`. */
export type FinishReason = 'stop' | 'length' | 'repetition' | 'content_filter'

export interface Candidate {
  token: number
  /** The exact bytes of the token's text. */
  bytes: Uint8Array
  /** Natural logarithm of the probability before any sampling setting; never below -9999. */
  logprob: number
}

export interface TokenLogprob extends Candidate {
  /** The likeliest candidates first, as many as requested, or those of `logprobTokens` with the drawn token. */
  top: Candidate[]
}

/** One entry for each token of the prompt; the first has no probability. */
export type PromptLogprobs = (null | (Candidate & { rank: number })[])[]
