import type { GivenConstraint } from './constraints/constraint.ts'
import type { Pooled, PoolingRequest } from './pooling.ts'

/**
 * What turns the tokens of a prompt into those of an answer: the embedded engine or, in tests, a script. Operations do not see
 * it: they ask a `Model`, which compiles constraints and renders conversations first.
 */
export interface Backend {
  status(): BackendStatus
  /** Undefined until a model is there. */
  model(): ServedModel | undefined
  /**
   * Text to tokens. `special` also reads the names of special tokens as these tokens; `add` puts those before and after that the
   * model wants around a text. `mark` is a character that is taken out, and no name is read across it.
   */
  tokenize(
    text: string,
    options: { special: boolean; add: boolean; mark?: string },
    signal: AbortSignal,
  ): Promise<number[]>
  detokenize(tokens: number[], options: { special: boolean }, signal: AbortSignal): Promise<string>
  /**
   * Resolves when the whole request has been checked and is running or queued; rejects with a
   * refusal of the catalogue otherwise. From then on what happens arrives as events. When the signal aborts, its
   * sequences are free again within one batch.
   */
  generate(request: Generation, signal: AbortSignal): Promise<Run>
  /**
   * Of a model that pools. `each` hears of every input as soon as it has been read; resolves when all have been, and rejects
   * before the first where one of them cannot be. When the signal aborts, no further input is read.
   */
  pool(request: PoolingRequest, each: (pooled: Pooled) => void, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** `starting` also covers downloads and every restart; `failed` is a model that cannot be served at all, with the reason, which callers may read. */
export type BackendStatus =
  | { state: 'starting'; doing: string }
  /** It is loaded when somebody asks it. */
  | { state: 'unloaded' }
  | {
      state: 'ready'
      running: number
      waiting: number
      /** Memory of its engine, where that is known. */
      bytes?: number
      /** Where it keeps prompts outside of its sequences, or could. */
      promptCache?: PromptCacheLoad
      drafts?: DraftCounts
    }
  | { state: 'failed'; reason: string }

export interface DraftCounts {
  checked: number
  right: number
}

/** What was read of prompts and is kept outside of the sequences. The counts begin with the engine. */
export interface PromptCacheLoad {
  prompts: number
  bytes: number
  /** Bytes that it may have; 0 where nothing is kept. */
  bound: number
  kept: number
  /** How often a prompt went on from one that was kept. */
  restored: number
  /** The room was needed for others. */
  dropped: number
  /** Not kept: it would have taken too long beside others, or all of the room. */
  skipped: number
  /** Where it is kept on disk, too. */
  disk?: DiskCacheLoad
}

export interface DiskCacheLoad {
  prompts: number
  bytes: number
  bound: number
  written: number
  restored: number
  /** The room was needed for others. */
  removed: number
  /** It could not be written. */
  failed: number
}

/** What a model can be asked for: texts, the vectors of texts, or how well documents fit a question. */
export type ModelTask = 'answers' | 'embeddings' | 'ranking'

export interface ServedModel {
  /** Absent: answers alone. */
  tasks?: readonly ModelTask[]
  /** The first is the name that answers carry, the others are accepted too. */
  names: string[]
  /** The names of its adapters, each served as a model of its own. */
  adapters?: readonly string[]
  /** Of an adapter: the name of the model that it changes. */
  parent?: string
  /** Seconds since the epoch when it was loaded. */
  created: number
  /** Where it came from, as the setting said it: `builtin`, a path, `hf:…`. */
  source: string
  /** Tokens that fit into one sequence, prompt and answer together. */
  context: number
  /** Sequences that run at once. */
  parallel: number
  threads: number
  /** Where it runs: `cpu`, or the GPU with the number of layers on it. */
  device: string
  vocabulary: number
  /** The names of its control tokens, which no text can contain; of very many, the first. */
  controlTokens: readonly string[]
  parameters: number
  bytes: number
  /** Numbers of one of its vectors; absent where it makes none, and where only its server knows. */
  dimensions?: number
  /** Shorter lengths that its vectors may be cut to: any, or these; none where absent. */
  shorter?: 'any' | readonly number[]
  /** The model's own Jinja template, if it has one. */
  template: string | undefined
  /** As templates want to see them. */
  tokens: { bos: string; eos: string }
}

export interface Generation {
  /** The rendered prompt, or tokens as they are. The options are those of `tokenize`. */
  prompt: { text: string; special: boolean; add: boolean; mark?: string } | { tokens: number[] }
  /** Keeps the last so many tokens of the prompt; -1 as many as the context leaves beside the answer. */
  truncate?: number
  /** How many independent answers; each draws with its own seed. */
  choices: number
  sampling: Sampling
  ending: Ending
  /** The answer is a text of this grammar, which a constraint was compiled to, or the beginning of one when its length ends it. */
  constraint?: GivenConstraint
  /** So many candidates beside the drawn token, 0 to 20; nothing when absent. */
  logprobs?: number
  promptLogprobs?: number
  /**
   * What text is made of the tokens. `markers` are names of control tokens: the text shows the one of index i as the lone low
   * surrogate U+DC00+i, whatever `skipSpecial` says, and the constraint takes it where it goes on with that.
   */
  text: { skipSpecial: boolean; spaceSpecial: boolean; markers?: readonly string[] }
  /**
   * Present where the thought has a most length: after so many tokens of it those of `close` come, whatever the model would
   * say. `open` and `close` are as the answer's text shows them, with markers as their units; white space around them does not
   * count where they are looked for.
   */
  thinking?: {
    budget: number
    open: string
    close: string
    /** The prompt ends in the thought. */
    isOpen: boolean
    /** Other texts with which a thought ends: calls may begin in the middle of it. */
    calls?: readonly string[]
  }
  /** A text that the answer is said to be like. It is guessed from and changes nothing. No beam search has one. */
  prediction?: string
  /** One of the adapters of the model. */
  adapter?: string
  /** Prompts share what is remembered only with prompts of the same salt. */
  salt?: string
  /** Lower runs earlier; 0 unless priorities are switched on. */
  priority: number
  /** Who sent the request: tenants take turns, and none takes all slots of the queue. Absent where there is one only. */
  tenant?: string
  /** Present where nobody waits for the answer: see `Lane`. */
  lane?: Lane
  /** Present: a beam search as wide as `choices`, and `sampling` but for its temperature plays no part. */
  beam?: { lengthPenalty: number }
}

/**
 * Background work stays behind the callers. It begins when a sequence is free that no caller waits for, and gives it up at once
 * when one does; what it has written stays, and it goes on later. Beside callers it gets a twenty-fifth of the time. It has a
 * queue of its own, and is counted nowhere else. A beam search cannot be one.
 */
export type Lane = 'background'

/** All of them set: nothing here means "default". Their order of effect is that of vLLM's sampler. */
export interface Sampling {
  /** 0 takes the likeliest token. */
  temperature: number
  /** 1 is off. */
  topP: number
  /** 0 is off. */
  topK: number
  /** 0 is off. */
  minP: number
  /** Choice i draws with seed + i; absent draws a different seed each time. */
  seed?: bigint
  /** Over the answer's tokens. 0 is off. */
  frequencyPenalty: number
  presencePenalty: number
  /** Over the prompt's and the answer's tokens. 1 is off. */
  repetitionPenalty: number
  /** Pairs of a token and what is added to its logit. */
  bias: [token: number, bias: number][]
  /** Only these can be drawn. */
  allowed?: number[]
  /** Texts that the answer must not contain as these tokens. */
  badWords: string[]
}

export interface Ending {
  /** Absent: as many as the context leaves. */
  maxTokens?: number
  /** More than the context leaves counts as what it leaves, instead of being refused. */
  isClipped?: boolean
  minTokens: number
  stop: string[]
  stopTokens: number[]
  ignoreEos: boolean
  /** The stop string, or the text of the stop token, stays in the answer. */
  includeStop: boolean
  repetition?: { minPattern: number; maxPattern: number; count: number }
}

export interface Run {
  /** After truncation; the ids that the model sees. */
  promptTokens: number[]
  /** As those of `Answering`; a choice's `finished` comes together with its last tokens. */
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
  /** `text` may lack what is still held back, or be empty; `tokens` and `logprobs` are what was drawn since the last event of this choice. */
  | {
      kind: 'tokens'
      choice: number
      text: string
      tokens: number[]
      logprobs?: TokenLogprob[]
      /** Where the text of each token ends, in an event that was put together of several. */
      ends?: number[]
    }
  | {
      kind: 'finished'
      choice: number
      reason: FinishReason
      stop: string | number | null
      /** Where there was one. */
      prediction?: PredictionCounts
    }

/** Tokens of a prediction that came in the answer when they were to come next, and all others. */
export interface PredictionCounts {
  accepted: number
  rejected: number
}

/** `content_filter` comes from servers elsewhere alone. */
export type FinishReason = 'stop' | 'length' | 'repetition' | 'content_filter'

export interface Candidate {
  token: number
  /** The true bytes of the token's text. */
  bytes: Uint8Array
  /** Natural logarithm of the probability before any sampling setting; never below -9999. */
  logprob: number
}

export interface TokenLogprob extends Candidate {
  /** The likeliest candidates first, as many as were asked for. */
  top: Candidate[]
}

/** One entry for each token of the prompt; the first has no probability. */
export type PromptLogprobs = (null | (Candidate & { rank: number })[])[]
