/** Reads the logits of a position, one for each token of the vocabulary. The next batch overwrites them. */
export type ReadLogits = () => Promise<Float32Array>

/** Tokens and their logits, largest first; of equal ones the lower token. */
interface Candidates {
  tokens: Uint32Array
  logits: Float32Array
}

/** The likeliest token, the lowest among equals; undefined when none is possible. */
export function best(logits: Float32Array): number | undefined {
  let best: number | undefined
  let largest = -Infinity
  for (let token = 0; token < logits.length; token++) {
    const logit = logits[token] as number
    if (!(logit > largest)) continue
    largest = logit
    best = token
  }
  return best
}

let picked: Float32Array = new Float32Array(0)

/** The logits of these tokens, until the next call. */
export function logitsOf(tokens: Uint32Array, logits: Float32Array): Float32Array {
  if (picked.length < tokens.length) picked = new Float32Array(logits.length)
  for (let at = 0; at < tokens.length; at++) picked[at] = logits[tokens[at] as number] as number
  return picked.subarray(0, tokens.length)
}

let masked: Float32Array = new Float32Array(0)

/** As if each token that is not allowed had −∞, until the next call. */
export function onlyAllowed(logits: Float32Array, allowed: Uint32Array): Float32Array {
  if (masked.length !== logits.length) masked = new Float32Array(logits.length)
  masked.fill(-Infinity)
  for (const token of allowed) masked[token] = logits[token] as number
  return masked
}

/** Numbers up to 2 ** 21 stand for tokens in a number with the logit before them. */
const tokenRange = 2 ** 21

/** The likeliest tokens; all of them when there are no more. */
export function likeliest(logits: Float32Array, count: number): Candidates {
  const wanted = Math.min(count, logits.length)
  // Sorted now and then, and cut to the likeliest: with a few thousand tokens too many nothing is looked for.
  const found = new Float64Array(Math.min(logits.length, Math.max(2 * wanted, 64)))
  const bits = new Int32Array(logits.buffer, logits.byteOffset, logits.length)
  let length = 0
  let bound = -Infinity
  const cut = () => {
    found.subarray(0, length).sort().reverse()
    length = Math.min(length, wanted)
    bound = length === wanted ? (logits[tokenIn(found[length - 1] as number)] as number) : bound
  }
  for (let token = 0; token < logits.length; token++) {
    if (!((logits[token] as number) > bound) && length >= wanted) continue
    if (length === found.length) cut()
    found[length++] = orderOf(bits[token] as number, token)
  }
  cut()
  const tokens = Uint32Array.from(found.subarray(0, length), tokenIn)
  return { tokens, logits: Float32Array.from(tokens, (token) => logits[token] as number) }
}

/**
 * A number that is larger for what comes first: for larger logits, given as the bits of the float, and then for lower
 * tokens.
 */
export function orderOf(bits: number, token: number): number {
  const logit = bits < 0 ? -1 - bits : bits + 2 ** 31
  return logit * tokenRange + (tokenRange - 1 - token)
}

export const tokenIn = (order: number) => tokenRange - 1 - (order % tokenRange)
