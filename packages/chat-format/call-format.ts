/**
 * How a model writes tool calls: literals with holes. Plain data, derived from a chat template, so that one description
 * serves both for the grammar that constrains the model and for reading its text.
 *
 *     calls = open NAME mid ARGUMENTS (gap NAME mid ARGUMENTS)* close
 *
 * The name of a control token inside a literal means that token if the vocabulary has it.
 */
export interface CallFormat {
  /** The beginning of an answer's calls, up to the first name. */
  open: Literal
  /** From a name to its arguments. */
  mid: Literal
  arguments: JsonArguments | TaggedArguments | PythonArguments | ElementArguments
  /** From the arguments of one call to the name of the next; absent if a turn has only one call. */
  gap?: Literal
  /** After the arguments of the last call. */
  close: Literal
  /** The number in the first counter hole, and whether calls are counted over the whole conversation or in each turn. */
  counter?: { from: number; over: 'conversation' | 'turn' }
  /** The ids that the template accepts: any, or nine letters and digits. */
  ids: 'any' | 'nine'
  /**
   * `open` is not a mark, but text that an answer may contain for other reasons. It begins calls only at the very start
   * of the answer.
   */
  isAnchored: boolean
}

/**
 * Texts, with holes for what differs from call to call: the call's id or its number. In a gap it is that of the call
 * before the gap, unless `of` says that it is the next one's.
 */
export type Literal = readonly (string | Hole)[]

export interface Hole {
  hole: 'id' | 'counter'
  of?: 'next'
}

/** The arguments are a JSON object, or the text of one as a JSON string. */
interface JsonArguments {
  kind: 'json'
  isQuoted: boolean
}

/** Each argument has its own marks: `head (argument (between argument)*)? tail`. Keys are written unchanged. */
export interface TaggedArguments {
  kind: 'tagged'
  head: string
  between: string
  tail: string
  /** Set if `head` and `tail` differ when there are no arguments. */
  empty?: string
  /** By the type of the value. */
  values: Record<ValueType, TaggedValue>
  /** The quote around texts in values that are written `quoted`. */
  quote?: string
  /** Set if a flag or none as a whole value is `True`, `False` or `None`; inside objects and lists they are JSON. */
  words?: 'python'
}

export type ValueType = 'string' | 'number' | 'boolean' | 'null' | 'object' | 'array'

export interface TaggedValue {
  /** Before the key, between key and value, and after the value. */
  before: string
  mid: string
  after: string
  /**
   * The plain characters up to `after`; JSON; or JSON in which keys have no quotes, and texts have no escapes between
   * the quotes of the arguments.
   */
  written: 'raw' | 'json' | 'quoted'
  /** Surrounds a text that contains what could be mistaken for a mark. */
  wrap?: { open: string; close: string }
}

/**
 * Each argument is an element, and the content of an object or a list consists of elements again: `prefix <KEY> VALUE
 * prefix </KEY>`, without the spaces.
 */
export interface ElementArguments {
  kind: 'elements'
  prefix: string
  /** The name of the items of a list. */
  item: string
}

/** `name='text', count=1, flag=True`, as Python writes keyword arguments. */
interface PythonArguments {
  kind: 'python'
  /** How true, false and null are written. */
  words: 'python' | 'json'
}

/** The format that nearly every model has seen, and that is used if the template shows no calls. */
export const hermes: CallFormat = {
  open: ['<tool_call>\n{"name": "'],
  mid: ['", "arguments": '],
  arguments: { kind: 'json', isQuoted: false },
  gap: ['}\n</tool_call>\n<tool_call>\n{"name": "'],
  close: ['}\n</tool_call>'],
  ids: 'any',
  isAnchored: false,
}
