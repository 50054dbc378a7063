/**
 * How a model writes calls of tools: literals with holes. Plain data, read off a chat template, so that one description is
 * both the grammar that the model is held to and what its text is read back by.
 *
 *     calls = open NAME mid ARGUMENTS (gap NAME mid ARGUMENTS)* close
 *
 * The name of a control token inside a literal means that token wherever the vocabulary has it.
 */
export interface CallFormat {
  /** What begins the calls of an answer, up to the first name. */
  open: Literal
  /** From a name to its arguments. */
  mid: Literal
  arguments: JsonArguments | TaggedArguments | PythonArguments | ElementArguments
  /** From the arguments of one call to the name of the next; absent where a turn has one call. */
  gap?: Literal
  /** Behind the arguments of the last call. */
  close: Literal
  /** What the first counter hole holds, and whether calls are counted over the whole conversation or in each turn. */
  counter?: { from: number; over: 'conversation' | 'turn' }
  /** The ids that the template accepts: any, or nine letters and digits. */
  ids: 'any' | 'nine'
  /**
   * `open` is no mark, but text that an answer may hold for another reason. It begins calls only at the very start of what is
   * said.
   */
  isAnchored: boolean
}

/**
 * Texts, and between them what differs from call to call: the id of the call, or its number. In a gap that is the call which
 * ends there, unless `of` says that it is the next one.
 */
export type Literal = readonly (string | Hole)[]

export interface Hole {
  hole: 'id' | 'counter'
  of?: 'next'
}

/** The arguments are a JSON object, or the JSON text of one as a JSON string. */
interface JsonArguments {
  kind: 'json'
  isQuoted: boolean
}

/**
 * Each argument has marks of its own: `head (argument (between argument)*)? tail`. Keys are written as they are.
 */
export interface TaggedArguments {
  kind: 'tagged'
  head: string
  between: string
  tail: string
  /** Where `head` and `tail` are others when there are no arguments. */
  empty?: string
  /** By the type of the value. */
  values: Record<ValueType, TaggedValue>
  /** What stands around texts in values that are written `quoted`. */
  quote?: string
}

export type ValueType = 'string' | 'number' | 'boolean' | 'null' | 'object' | 'array'

export interface TaggedValue {
  /** Before the key, between key and value, and behind the value. */
  before: string
  mid: string
  after: string
  /**
   * The characters themselves, up to what stands behind them; JSON; or JSON but for keys without quotes, and for texts without escapes
   * between the quotes of the arguments.
   */
  written: 'raw' | 'json' | 'quoted'
  /** A text that holds what could be taken for a mark stands between these. */
  wrap?: { open: string; close: string }
}

/**
 * Each argument is an element, and what an object or a list holds are elements again:
 * `prefix <KEY> VALUE prefix </KEY>`, without the spaces.
 */
export interface ElementArguments {
  kind: 'elements'
  prefix: string
  /** What the items of a list are called. */
  item: string
}

/** `name='text', count=1, flag=True`, as Python writes keyword arguments. */
interface PythonArguments {
  kind: 'python'
  /** How true, false and null are written. */
  words: 'python' | 'json'
}

/** What nearly every model has seen, and what those get whose template shows no call. */
export const hermes: CallFormat = {
  open: ['<tool_call>\n{"name": "'],
  mid: ['", "arguments": '],
  arguments: { kind: 'json', isQuoted: false },
  gap: ['}\n</tool_call>\n<tool_call>\n{"name": "'],
  close: ['}\n</tool_call>'],
  ids: 'any',
  isAnchored: false,
}
