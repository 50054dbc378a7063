import type { TokenMask } from '../../constraints/index.ts'
import type { LlamaContext } from '../llama/context.ts'
import type { Candidates, Logits, PositionLogits } from '../sampling/logits.ts'
import { logSum, tokenAt } from '../sampling/weights.ts'

/**
 * Reads a row of logits in the memory of the native library, which the next batch overwrites. A request during the batch
 * is answered after it. Microseconds on one core with a vocabulary of 50 k: best 120, the 64 likeliest 150, the sum 180,
 * a draw 300; a mask takes 100 more for each row.
 */
export function createLogitsReader(
  { logits }: Pick<LlamaContext, 'logits'>,
  vocabulary: number,
  latestBatch: () => Promise<boolean>,
): (row: number) => PositionLogits {
  return (row) => {
    const batch = latestBatch()
    const values = async () => {
      if (!(await batch)) throw new Error('the batch was stopped')
      if (latestBatch() !== batch) throw new Error('the row is of an earlier batch')
      return logits(row)
    }
    return {
      ...logitsOf(values),
      vocabulary,
      masked(mask) {
        let masked: Promise<Float32Array> | undefined
        return {
          ...logitsOf(() => {
            masked ??= values().then((all) => onlyIn(mask, all))
            return masked
          }),
          vocabulary: mask.count,
        }
      },
    }
  }
}

function logitsOf(values: () => Promise<Float32Array>): Omit<Logits, 'vocabulary'> {
  return {
    async best() {
      return best(await values())
    },
    async top(count) {
      return likeliest(await values(), count)
    },
    async of(tokens) {
      const all = await values()
      return Float32Array.from(tokens, (token) => all[token] as number)
    },
    async logTotal(temperature) {
      return logSum(await values(), temperature)
    },
    async tokenAt(share, temperature, adjustments) {
      return tokenAt(await values(), temperature, share, adjustments)
    },
  }
}

function onlyIn({ bits }: TokenMask, all: Float32Array): Float32Array {
  const masked = new Float32Array(all.length).fill(-Infinity)
  for (const [index, word] of bits.entries()) {
    for (let left = word; left !== 0; left &= left - 1) {
      const token = 32 * index + 31 - Math.clz32(left & -left)
      masked[token] = all[token] as number
    }
  }
  return masked
}

function best(values: Float32Array): number {
  let token = 0
  let largest = values[0] as number
  for (let i = 1; i < values.length; i++) {
    const value = values[i] as number
    if (value > largest) {
      largest = value
      token = i
    }
  }
  return token
}

/** Numbers up to 2 ** 21 stand for tokens in a number with the logit before them. */
const tokenRange = 2 ** 21

/** Largest logit first; of equal ones the lower token. */
function likeliest(values: Float32Array, count: number): Candidates {
  const most = Math.min(count, values.length)
  // Sorted now and then, and cut to the likeliest: with a few thousand tokens too many nothing is looked for.
  const found = new Float64Array(Math.min(values.length, Math.max(2 * most, 64)))
  const bits = new Int32Array(values.buffer, values.byteOffset, values.length)
  let length = 0
  let bound = -Infinity
  const cut = () => {
    found.subarray(0, length).sort().reverse()
    length = Math.min(length, most)
    bound = length === most ? (values[tokenIn(found[length - 1] as number)] as number) : bound
  }
  for (let token = 0; token < values.length; token++) {
    if (!((values[token] as number) > bound) && length >= most) continue
    if (length === found.length) cut()
    found[length++] = order(bits[token] as number) * tokenRange + (tokenRange - 1 - token)
  }
  cut()
  const tokens = Uint32Array.from(found.subarray(0, length), tokenIn)
  return { tokens, logits: Float32Array.from(tokens, (token) => values[token] as number) }
}

const tokenIn = (entry: number) => tokenRange - 1 - (entry % tokenRange)

/** The bits of a float as a number from 0 to 2 ** 32 that is larger when the float is. */
function order(bits: number): number {
  return bits < 0 ? -1 - bits : bits + 2 ** 31
}
