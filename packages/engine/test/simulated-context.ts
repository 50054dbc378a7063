import assert from 'node:assert/strict'

export interface SimulatedContextOptions {
  vocabulary: number
  sequences: number
  /** Tokens that a sequence has room for. */
  context: number
  hasPlainAttention?: boolean
  /** It can drop the end of what it has read. */
  canForget?: boolean
  /** How much likelier a token is that followed the last two tokens before. */
  follows?: number
  /** How long a batch takes; no time if absent. */
  batchMs?: number
  /** Called for each row whose logits are requested. */
  asked?: () => void
  /** Called with the rows of each sequence in each batch. */
  decoded?: (rows: number[]) => void
}

/**
 * A context without a model, which predicts by the last tokens of a sequence, and often what followed them before. It
 * records what each sequence has read and fails if the loop assumes something else: tokens that were guessed wrongly must
 * be removed before anything is read after them.
 */
export function simulatedContext(options: SimulatedContextOptions) {
  const { vocabulary, sequences, context, canForget = true } = options
  const memories = Array.from({ length: sequences }, (): number[] => [])
  let rows: (() => Float32Array)[] = []
  let decoding = Promise.resolve()
  let batch: number[] = []
  let announced = 0
  let added = 0

  function logitsAfter(text: readonly number[]): Float32Array {
    const last = text.at(-1) ?? 0
    const values = Float32Array.from({ length: vocabulary }, (_, token) =>
      noise(last, text.at(-2) ?? 0, token),
    )
    // What followed the same two tokens is likely to follow again.
    for (let at = text.length - 2; at > 0; at--) {
      if (text[at] !== last || text[at - 1] !== text.at(-2)) continue
      const again = text[at + 1] as number
      values[again] = (values[again] as number) + (options.follows ?? 3)
      break
    }
    return values
  }

  return {
    hasPlainAttention: options.hasPlainAttention ?? true,
    readsTiles: false,
    bytesOfToken: undefined,
    adapt() {},
    async keep(): Promise<never> {
      throw new Error('nothing is kept where no bytes are told')
    },
    begin(size: number) {
      rows = []
      batch = []
      announced = size
      added = 0
    },
    add(sequence: number, position: number, tokens: Uint32Array, wanted: Uint32Array) {
      const memory = memories[sequence] as number[]
      assert.equal(position, memory.length, `sequence ${sequence} holds as many tokens as the loop believes`)
      assert.ok(
        position + tokens.length <= context,
        `sequence ${sequence} has room for ${tokens.length} more`,
      )
      for (const token of tokens) memory.push(token)
      const read = memory.slice()
      added += tokens.length
      batch.push(tokens.length)
      return Uint32Array.from(wanted, (at) => {
        const text = read.slice(0, position + at + 1)
        options.asked?.()
        return rows.push(() => logitsAfter(text)) - 1
      })
    },
    async decode() {
      assert.equal(added, announced, 'a batch is as large as was said')
      const { batchMs } = options
      decoding = new Promise((resolve) => {
        if (batchMs) setTimeout(resolve, batchMs)
        else setImmediate(resolve)
      })
      await decoding
      options.decoded?.(batch)
      return true
    },
    stop() {},
    logits(row: number) {
      const values = rows[row]
      assert.ok(values, `the logits of row ${row} were wanted`)
      const logits = values()
      return async () => {
        await decoding
        return logits
      }
    },
    forget(sequence: number, from: number): boolean {
      const memory = memories[sequence] as number[]
      if (!canForget && from > 0 && from < memory.length) return false
      memory.length = Math.min(memory.length, from)
      return true
    },
    async copy(from: number, to: number) {
      memories[to] = (memories[from] as number[]).slice()
      return 0
    },
  }
}

/** From 0 to 4, the same for the same numbers. */
function noise(one: number, two: number, three: number): number {
  let mixed =
    Math.imul(one + 1, 0x9e3779b1) ^ Math.imul(two + 7, 0x85ebca6b) ^ Math.imul(three + 3, 0xc2b2ae35)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d)
  return ((mixed ^ (mixed >>> 13)) >>> 0) / 2 ** 30
}
