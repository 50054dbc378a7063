/**
 * What a model that pools is asked: one vector for each text, or one score for each pair of a query and a document. Plain
 * values, as everything that goes to an engine.
 */
export interface PoolingRequest {
  inputs: readonly PoolingInput[]
  /** Where the request has the one input, or the list of them. */
  field: string
  isList: boolean
  truncate?: Truncation
  /** Lower runs earlier; 0 unless priorities are switched on. */
  priority: number
  /** Who sent the request: tenants take turns, and none takes all places of the queue. */
  tenant: string
}

/** `addSpecial` adds the tokens that the model wants around a text; around a pair they always are. */
export type PoolingInput =
  | { text: string; addSpecial: boolean }
  | { tokens: number[] }
  | { query: string; document: string }

/** What is asked of a model, wherever it runs. */
export interface PoolingAsked extends PoolingRequest {
  /** Numbers that a vector is cut to; absent: as many as it has. */
  dimensions?: number
  /** Who the caller's own user is, for a server elsewhere that wants to know. */
  user?: string
}

export interface Truncation {
  /** Of each input so many tokens are read at most; -1 as many as the model reads. */
  tokens: number
  /** The end that is left out. Of a pair it is the end of the document, whatever this says. */
  side: 'left' | 'right'
}

/** One input that has been read. */
export interface Pooled {
  /** Its place among the inputs. */
  input: number
  /** A vector of length 1, or one score: the more, the better the document fits. */
  values: Float32Array
  /** As many as were read. */
  tokens: number
}
