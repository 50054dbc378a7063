import type { ReadLogits } from '../../packages/engine/index.ts'

export type ScriptedLogits = ReadLogits & {
  /** How often they were read. */
  reads: number
}

/** The logits of a position, and how often they were read. */
export function scriptedLogits(values: ArrayLike<number>): ScriptedLogits {
  const logits = Float32Array.from(values)
  const read = async () => {
    read.reads++
    return logits
  }
  read.reads = 0
  return read
}
