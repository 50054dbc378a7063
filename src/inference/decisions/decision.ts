/**
 * Questions about one input, each answered with the probabilities of its options. Plain values, in whatever API they
 * came.
 */
export interface DecisionAsked {
  /** What the caller tells the model in addition, as system messages. */
  instructions: readonly string[]
  input: string
  questions: readonly DecisionQuestion[]
  /** In how many orders the options of a choice are shown; the probabilities are averaged. */
  orders: number
  /** How many tokens the model may think about each question, in each order; absent: its thought is closed. */
  thinking?: number
  tenant: string
  promptGroup?: string
  salt?: string
  priority: number
  /** Present if nobody waits for the answers. */
  lane?: 'background'
  adapter?: string
  /** The span that a server elsewhere continues. */
  traceparent?: string
  /** The request in the form of OpenAI, for a server that answers it itself. */
  body: Readonly<Record<string, unknown>>
  /** The field that only such a server can read, if there is one, and what is there. */
  needsServer?: { field: string; value: string }
  /** With it: the state as it came, its files, and whether no other API can say it. */
  systemOne?: { state: unknown; files: readonly string[]; isOnly: boolean }
}

export interface DecisionQuestion {
  kind: 'predicate' | 'choice' | 'score'
  /** Its path in the request. */
  field: string
  text: string
  /** A predicate has two, for yes and for no. The levels of a score are in ascending order. */
  options: readonly DecisionOption[]
}

export interface DecisionOption {
  name: string
  description?: string | undefined
}

/** Of one question; the model refuses to answer if there are no probabilities. */
export interface DecisionAnswer {
  /** Of its options, in their order; their sum is 1. */
  probabilities: readonly number[] | undefined
  /** What the model gives all labels together: how much of what it would write is an answer at all. */
  mass?: number
  /** Whether the likeliest beginning of its answer is one of a label. */
  isLikeliest?: boolean
  /** How much the probability of an option differs between two orders, at most. */
  spread?: number
}

export interface DecisionTokens {
  prompt: number
  cached: number
  /** Of a thought. */
  written?: number
}

/** The answers in the order of the questions. `read` is called as prompts are read. */
export type Decide = (
  asked: DecisionAsked,
  read: (tokens: DecisionTokens) => void,
  signal: AbortSignal,
) => Promise<DecisionAnswer[]>
