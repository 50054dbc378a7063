/**
 * A request to a model that pools: one vector for each text, or one score for each pair of a query and a document.
 * Plain values, like everything that is sent to an engine.
 */
export interface PoolingRequest {
  inputs: readonly PoolingInput[]
  /** The field of the request that has the input, or the list of inputs. */
  field: string
  isList: boolean
  truncate?: Truncation
  /** Lower runs earlier; 0 unless priorities are switched on. */
  priority: number
  /** Who sent the request: tenants take turns, and none takes all slots of the queue. */
  tenant: string
}

/** `addSpecial` adds the tokens that the model wants around a text; they are always added around a pair. */
export type PoolingInput =
  | { text: string; addSpecial: boolean }
  | { tokens: number[] }
  | { query: string; document: string }

/** A request to a model, wherever it runs. */
export interface PoolingAsked extends PoolingRequest {
  /** The length to which vectors are cut; absent: their full length. */
  dimensions?: number
  /** The caller's own end user, for a server elsewhere that wants to know. */
  user?: string
  /** The span that such a server continues. */
  traceparent?: string
}

export interface Truncation {
  /** At most so many tokens are read; -1 as many as the model reads, or as the context leaves next to an answer. */
  tokens: number
  /** The end that is cut off. For a pair it is always the end of the document. */
  side: 'left' | 'right'
}

/** One input that has been read. */
export interface Pooled {
  /** Its index among the inputs. */
  input: number
  /** A vector of length 1, or one score: the higher, the better the document fits. */
  values: Float32Array
  /** The number of tokens that were read. */
  tokens: number
}
