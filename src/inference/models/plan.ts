/** A model that is there and fits, and how it is to be run: all that an engine needs to know. */
export interface ModelPlan {
  /** Where the GGUF lies. */
  file: string
  /** As the setting said it: `builtin`, a path, `hf:…`. */
  source: string
  /** The first is the name that answers carry, the others are accepted too. */
  names: string[]
  /** Tokens of one sequence. */
  context: number
  /** Sequences at once. */
  parallel: number
  threads: number
  /** Tokens of one step of the engine. */
  batch: number
  /** Requests that may wait. */
  queue: number
  /** Whether requests may say which of them goes first. */
  priority: boolean
}
