import type { AnswerFormat, Conversation, GivenTool, Parser, Part } from '../../packages/chat-format/index.ts'
import type {
  BackendStatus,
  Generation,
  GenerationEvent,
  Pooled,
  PoolingAsked,
  PredictionCounts,
  ServedModel,
  TokenLogprob,
} from '../../packages/engine/index.ts'
import type { CompileQuestion } from './constraints/constraint.ts'
import type { Decide } from './decisions/decision.ts'

/**
 * A model that answers requests: run by the engine of this server, or by a server with the API of OpenAI or Anthropic. The operations
 * see nothing else of inference. Requests and events are plain values.
 */
export interface Model {
  status(): BackendStatus
  /** Undefined until the model is loaded. */
  served(): ServedModel | undefined
  /** How it writes thoughts and calls with its own template; undefined until it is loaded, and if it has no template. */
  format(): Promise<AnswerFormat | undefined>
  /**
   * Resolves when the whole request has been checked and is running or queued; rejects with a refusal of the catalogue
   * otherwise. From then on, everything is reported as events. When the signal aborts, its sequences are free again
   * within one batch.
   */
  answer(request: AnswerRequest, signal: AbortSignal): Promise<Answering>
  /**
   * Vectors of texts, or scores of documents, depending on the inputs. `each` is called for every input that has been
   * read. Resolves when all have been read, with the number of tokens if it is only known for all together; if one
   * input cannot be read, rejects before the first.
   */
  pool(asked: PoolingAsked, each: (pooled: Pooled) => void, signal: AbortSignal): Promise<{ tokens?: number }>
  /** Answers questions about one input with probabilities, without writing anything. */
  decide: Decide
  /** The tokens that an answer to this input would have as its prompt. */
  tokenize(input: Input, tenant: string, signal: AbortSignal): Promise<number[]>
  /** Their number, from a server that counts them without saying which they are. */
  count?(input: Input, tenant: string, signal: AbortSignal): Promise<number>
  detokenize(
    tokens: number[],
    options: { special: boolean; tenant: string },
    signal: AbortSignal,
  ): Promise<string>
  /** For a model that is loaded on demand: loads it and returns what is known then. */
  load?(tenant: string, signal: AbortSignal): Promise<ServedModel>
  /** Names of models that answer instead when it fails before its answer has begun. */
  readonly fallbacks?: readonly string[]
  /** Of a model on a server elsewhere; the same object for all models of that server. */
  readonly upstream?: UpstreamLoad
  close(): Promise<void>
}

/** The addresses of a server elsewhere, and what became of the requests that were sent there. */
export interface UpstreamLoad {
  readonly addresses: readonly {
    /** Without what may be a secret. */
    readonly shown: string
    /** Why it is not used; undefined while it works. */
    readonly fault: string | undefined
    readonly counts: Readonly<Record<string, number>>
  }[]
  /** How often a request was sent again, by the reason. */
  readonly resent: Readonly<Record<string, number>>
  /** How often it was not, because too many were. */
  readonly withheld: Readonly<Record<string, number>>
}

/** What an answer continues. `addSpecial` adds the tokens that the model wants around a text. */
export type Input = { conversation: Conversation; addSpecial: boolean } | TextInput | { tokens: number[] }

export interface TextInput {
  text: string
  addSpecial: boolean
  suffix?: TextAfterGap
}

export interface TextAfterGap {
  text: string
  /** What refusals call it; by default `suffix`. */
  field?: string
  /** Whether this text and that before the gap are cut to what fits. */
  isCut: boolean
  /** What the gap begins with. */
  opening?: string
  /** Read before everything else, as far as they fit. */
  files?: readonly { name: string; text: string }[]
}

export interface AnswerRequest extends Omit<Generation, 'prompt' | 'constraint' | 'tenant'> {
  /** Each is answered with `choices` choices. They are queued in their order. */
  inputs: readonly Input[]
  /** What each answer has to fit. */
  constraint?: CompileQuestion
  /** Present if the answer is a turn of a conversation, in which thoughts and tool calls are told apart. */
  turn?: TurnAsked
  /** The caller: tenants take turns, and none takes all slots of a queue. */
  tenant: string
  /** The span that a server elsewhere continues, as W3C Trace Context writes it. */
  traceparent?: string
  /**
   * The fields of the request as its client gave them, under the names of chat completions. An engine of this machine
   * needs none of them: all that they mean is above. A server elsewhere has its own defaults for fields that are
   * absent.
   */
  body?: Readonly<Record<string, unknown>>
  /** Refuses fields that would have no effect, before anything is sent or computed. Absent if they are only named. */
  refuseIgnored?: (fields: readonly string[]) => void
}

export interface TurnAsked {
  /** Tools that the answer may or must call. */
  calls?: CallsAsked
  /**
   * The most tokens of a thought. Refused where thoughts cannot be limited, unless it is optional: for clients that cannot
   * leave it out.
   */
  thinkingBudget?: { tokens: number; field: string; isOptional?: boolean }
}

export interface CallsAsked {
  tools: readonly AskedTool[]
  choice: CallChoice
  /** If false, the answer ends after its first call. */
  isParallel: boolean
  /** The field of the request that has the tools. */
  field: string
}

interface AskedTool extends GivenTool {
  /** The field of the request that has the schema of its arguments. */
  field: string
}

/** Whether the answer may call a tool, must call one, or must call this one. */
export type CallChoice = 'auto' | 'required' | { name: string }

export interface Answering {
  /**
   * The tokens of each input as the model sees them, after truncation. For a server elsewhere they are filled in before
   * the `prefilled` of the input, if it returns them.
   */
  prompts: readonly number[][]
  /** The prompts that are texts, as they were rendered; absent if that happened elsewhere. */
  promptTexts?: readonly string[]
  /**
   * In groups of everything that has arrived since the last one, so that a slow reader gets few large groups instead of
   * many small ones. Ends after the last choice's `finished`. Throws a refusal when the engine fails in between. Can be
   * read only once.
   */
  events: AsyncIterable<AnswerEvent[]>
  /** Tells the parts of the text of one choice apart; if absent, all of the text is content. */
  createParser?: () => Parser
  /**
   * What could not be kept in the schemas of tools and was widened: the tool, the path in its parameters and the
   * keyword.
   */
  widened?: readonly string[]
  /** Fields of the request that have no effect on this model, and that its client could not leave out. */
  ignored?: readonly string[]
  /** Names in schemas that look like a misspelt keyword. */
  notes?: readonly string[]
  /**
   * Resolves when the answer has begun, or takes long to; rejects if it fails before. Absent if it is already known
   * that it will answer.
   */
  underWay?: Promise<unknown> | undefined
  /** The server's own counts so far; final when the answer has ended. Absent if tokens are counted here. */
  usage?: () => ReportedUsage
}

export interface ReportedUsage {
  prompt: number
  cached: number
  completion: number
  /** Tokens of thoughts among those of `completion`. */
  reasoning: number
  /** Present if it reports them. */
  prediction?: PredictionCounts
  /** In dollars, as OpenRouter reports it. */
  cost?: number
}

/** Choices are counted over all inputs: choice i of input k is k times `choices` plus i. */
export type AnswerEvent =
  | (Extract<GenerationEvent, { kind: 'prefilled' }> & { input: number })
  | Exclude<GenerationEvent, { kind: 'prefilled' }>
  /** Output of a server elsewhere, which has told the parts apart already. Of its tokens it may report only the number. */
  | {
      kind: 'said'
      choice: number
      deltas: Part[]
      tokens: number[]
      count: number
      logprobs?: TokenLogprob[]
    }
