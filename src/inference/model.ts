import type { AnswerFormat } from './answer-format.ts'
import type {
  BackendStatus,
  Generation,
  GenerationEvent,
  PredictionCounts,
  ServedModel,
  TokenLogprob,
} from './backend.ts'
import type { CompileQuestion } from './constraints/constraint.ts'
import type { Parser, Part } from './parts.ts'
import type { Pooled, PoolingAsked } from './pooling.ts'
import type { Conversation, GivenTool } from './prompt/chat-prompt.ts'

/**
 * A model that can be asked, whatever stands behind it: the engine beside this process, or a server that speaks the wire of
 * OpenAI. It is all that the operations see of inference. Requests and events are plain values.
 */
export interface Model {
  status(): BackendStatus
  /** Undefined until the model is loaded. */
  served(): ServedModel | undefined
  /** How it writes thoughts and calls with its own template; undefined until it is loaded, and where it has none. */
  format(): Promise<AnswerFormat | undefined>
  /**
   * Resolves when the whole request has been checked and is running or queued; rejects with a refusal of the catalogue
   * otherwise. From then on what happens arrives as events. When the signal aborts, its sequences are free again within one
   * batch.
   */
  answer(request: AnswerRequest, signal: AbortSignal): Promise<Answering>
  /**
   * Vectors of texts, or scores of documents, by what the inputs are. `each` hears of every input when it has been read. Resolves
   * when all have been, with the tokens of all where they are told together; rejects before the first where one cannot be.
   */
  pool(asked: PoolingAsked, each: (pooled: Pooled) => void, signal: AbortSignal): Promise<{ tokens?: number }>
  /** What an answer to this input would count as its prompt. */
  tokenize(input: Input, tenant: string, signal: AbortSignal): Promise<number[]>
  detokenize(tokens: number[], options: { special: boolean }, signal: AbortSignal): Promise<string>
  /** Loads it where that is done when it is asked, and says what is known then. */
  load?(tenant: string, signal: AbortSignal): Promise<ServedModel>
  /** Names of models that answer in its place when it fails before its answer has begun. */
  readonly fallbacks?: readonly string[]
  close(): Promise<void>
}

/** What an answer continues. `addSpecial` adds the tokens that the model wants around a text. */
export type Input =
  | { conversation: Conversation; addSpecial: boolean }
  | { text: string; addSpecial: boolean }
  | { tokens: number[] }

export interface AnswerRequest extends Omit<Generation, 'prompt' | 'constraint' | 'tenant'> {
  /** Each is answered with as many choices as `choices` says. They are queued in their order. */
  inputs: readonly Input[]
  /** What each answer has to be. */
  constraint?: CompileQuestion
  /** Present where the answer is a turn of a conversation, in which thoughts and calls of tools are told apart. */
  turn?: TurnAsked
  /** Who asks: tenants take turns, and none takes all slots of a queue. */
  tenant: string
  /**
   * The fields of the request as its client gave them, under the names of chat completions. An engine of this machine needs
   * none of them: all that they mean is above. A server elsewhere has defaults of its own for what is not given.
   */
  given?: Readonly<Record<string, unknown>>
}

export interface TurnAsked {
  /** Tools that the answer may or has to call. */
  calls?: CallsAsked
  /** The most tokens of a thought. With a field it is refused where the template shows no thoughts. */
  thinkingBudget?: { tokens: number; field?: string }
}

export interface CallsAsked {
  tools: readonly AskedTool[]
  choice: CallChoice
  /** Without it the answer is over after its first call. */
  isParallel: boolean
  /** Where the request has the tools. */
  field: string
}

interface AskedTool extends GivenTool {
  /** Where the request has the schema of its arguments. */
  field: string
}

/** Whether the answer calls a tool is its own choice, or it has to call one, or this one. */
export type CallChoice = 'auto' | 'required' | { name: string }

export interface Answering {
  /**
   * The tokens of each input as the model sees them, after truncation. Of a server elsewhere they are filled in before the
   * `prefilled` of the input, where it tells them.
   */
  prompts: readonly number[][]
  /**
   * In groups: everything that has come when one is asked for, so that a slow reader gets few large groups instead of many
   * small ones. Ends after the last choice's `finished`. Throws a refusal when the engine fails in the middle. Read once.
   */
  events: AsyncIterable<AnswerEvent[]>
  /** Tells the parts of the text of one choice apart; without it all of the text is content. */
  createParser?: () => Parser
  /** What of the schemas of tools cannot be kept and was widened: the tool, the path in its parameters and the keyword. */
  widened?: readonly string[]
  /** Names in schemas that are nearly a keyword. */
  notes?: readonly string[]
  /**
   * Resolves when the answer has something to say, or takes long to; rejects where it fails before. Absent where it is known
   * already that it will answer.
   */
  underWay?: Promise<unknown> | undefined
  /** What a server elsewhere has counted so far; final when the answer has ended. Absent where tokens are counted here. */
  usage?: () => ToldUsage
}

export interface ToldUsage {
  prompt: number
  cached: number
  completion: number
  /** Of these, tokens of thoughts. */
  reasoning: number
  /** Where it tells of one. */
  prediction?: PredictionCounts
}

/** Choices are counted over all inputs: choice i of input k is k times `choices` plus i. */
export type AnswerEvent =
  | (Extract<GenerationEvent, { kind: 'prefilled' }> & { input: number })
  | Exclude<GenerationEvent, { kind: 'prefilled' }>
  /** What a server elsewhere says. It has told the parts apart already; of its tokens it may tell no more than their number. */
  | {
      kind: 'said'
      choice: number
      parts: Part[]
      tokens: number[]
      count: number
      logprobs?: TokenLogprob[]
    }
