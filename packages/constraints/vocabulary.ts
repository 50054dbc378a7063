/** The tokens of a model. */
export interface Vocabulary {
  readonly size: number
  /** The token that ends a text, if the model has one. */
  readonly eos: number | undefined
  /** Every token that ends an answer: of a text, of a turn, of a message; `eos` is one of them. */
  readonly ends: readonly number[]
  /** The bytes that a token stands for; for a special token those of its name. They need not be whole characters. */
  bytes(token: number): Uint8Array
  /** Control tokens, which no text can contain. */
  isSpecial(token: number): boolean
}
