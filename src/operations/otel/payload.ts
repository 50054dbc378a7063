import type { Value } from './span.ts'

/** The input or the output of a span. */
export interface Payload {
  name: string
  value: Value
  /** The attributes of the span that it was made of. */
  taken: readonly string[]
}
