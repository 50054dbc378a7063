/** Tokens and their logits, in arrays that are reused for each draw, so that nothing is allocated per token. */
export interface Ranked {
  tokens: Uint32Array
  logits: Float64Array
  length: number
}

export function createRanked(): Ranked {
  return { tokens: new Uint32Array(0), logits: new Float64Array(0), length: 0 }
}

export function reserveRanked(ranked: Ranked, length: number): void {
  ranked.length = 0
  if (ranked.tokens.length >= length) return
  ranked.tokens = new Uint32Array(length)
  ranked.logits = new Float64Array(length)
}

/** Sorts by logit, largest first; among equals the lower token first. */
export function settleRanked(ranked: Ranked): void {
  const { tokens, logits, length } = ranked
  for (let i = 1; i < length; i++) {
    const above = logits[i - 1] as number
    const logit = logits[i] as number
    if (above < logit || (above === logit && (tokens[i - 1] as number) > (tokens[i] as number))) {
      sortRanked(ranked)
      return
    }
  }
}

/** Merges `others` into `ranked`, both sorted; `ranked` must have the room. */
export function mergeRanked(ranked: Ranked, others: Ranked): void {
  const { tokens, logits } = ranked
  let i = ranked.length - 1
  let j = others.length - 1
  ranked.length += others.length
  for (let at = ranked.length - 1; j >= 0; at--) {
    const logit = logits[i] as number
    const other = others.logits[j] as number
    if (
      i >= 0 &&
      (logit < other || (logit === other && (tokens[i] as number) > (others.tokens[j] as number)))
    ) {
      logits[at] = logit
      tokens[at] = tokens[i--] as number
    } else {
      logits[at] = other
      tokens[at] = others.tokens[j--] as number
    }
  }
}

/** The gaps of Ciura's sequence, continued. */
const gaps = [1, 4, 10, 23, 57, 132, 301, 701, 1750, 4376, 10941, 27353, 68383, 170958]

/** Shell's sort: in place, and fast on nearly sorted input. */
function sortRanked({ tokens, logits, length }: Ranked): void {
  for (let g = gaps.length - 1; g >= 0; g--) {
    const gap = gaps[g] as number
    for (let i = gap; i < length; i++) {
      const logit = logits[i] as number
      const token = tokens[i] as number
      let j = i
      for (; j >= gap; j -= gap) {
        const above = logits[j - gap] as number
        if (above > logit || (above === logit && (tokens[j - gap] as number) < token)) break
        logits[j] = above
        tokens[j] = tokens[j - gap] as number
      }
      logits[j] = logit
      tokens[j] = token
    }
  }
}
