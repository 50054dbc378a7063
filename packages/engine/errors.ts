/** Why a request cannot be done, with what its message is made of. */
interface EngineErrors {
  /** A field with a value that this model or these settings do not allow. */
  invalid_value: { field: string; received: string; accepted: string }
  /** Fields that do not go together. */
  not_available: { field: string; received: string; accepted: string }
  prompt_empty: { field: string }
  context_length_exceeded: { limit: number; prompt: string; answer: string | number }
  /** An input of a model that pools. */
  input_too_long: { field: string; limit: number; received: number }
  /** The constraint, the banned words and the other fields leave no token. */
  no_token_possible: { field: string; fields: string; tokens: number }
  constraint_too_large: { field: string; why: string }
  /** The answer continues a text that the constraint does not allow. */
  continued_text_unfit: { field: string; constraint: string; received: string; at: number; accepted: string }
  engine_queue_full: { limit: number }
  /** The tenant has its share of the queue. */
  engine_share_full: { own: number }
  model_not_ready: { why: string }
  engine_failed: { why: string }
  stopping: Record<never, never>
}

export type EngineErrorCode = keyof EngineErrors

export type EngineErrorValues = Readonly<Record<string, string | number>>

/** A request that the engine does not take, or breaks off. It says in codes and values what a server says in words. */
export class EngineError extends Error {
  override readonly name = 'EngineError'
  readonly code: EngineErrorCode
  readonly values: EngineErrorValues

  constructor(code: EngineErrorCode, values: EngineErrorValues) {
    super(`${code} ${JSON.stringify(values)}`)
    this.code = code
    this.values = values
  }
}

export function engineError<Code extends EngineErrorCode>(
  code: Code,
  values: EngineErrors[Code],
): EngineError {
  return new EngineError(code, values)
}
