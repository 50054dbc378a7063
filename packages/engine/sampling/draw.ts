import type { Ranking } from './ranking.ts'

/** A draw is synchronous, so all of them share the same memory. */
const line = createTokenWeights()

export interface Cuts {
  /** Above 0. */
  temperature: number
  /** 0 is off. */
  minP: number
  /** 0 is off. */
  topK: number
  /** 1 is off. */
  topP: number
}

/**
 * Draws one token of a ranking with a number from 0 to 1, and returns its rank, counted from 0; -1 when that requires
 * more of the ranking than is known. The definition, over all tokens in the order of their adjusted logits, lower
 * tokens first among equals: each weighs exp(logit / temperature). Tokens lighter than min_p times the heaviest are
 * removed, then all but the first top_k, then all but the fewest first ones that together have top_p of the remaining
 * weight. The remaining tokens are laid side by side on a line in that order, and the number is the position on the
 * line, as a share of its length, of the drawn token. Only the beginning of the line is known, and its length only
 * between two bounds: when both lead to the same token, the draw is as exact as if everything were known. `logTotal` is
 * the weight of all tokens before the adjustments, or with `isBound` an upper bound; NaN when it is not needed. A draw
 * from a line that continues after the known part is as exact as this sum.
 */
export function draw(
  ranking: Ranking,
  cuts: Cuts,
  logTotal: number,
  isBound: boolean,
  random: number,
): number {
  const { known, bound } = ranking
  const { temperature, minP, topK, topP } = cuts
  const { logits } = known

  let count = known.length
  let closed = ranking.complete
  if (minP > 0) {
    const least = (logits[0] as number) + temperature * Math.log(minP)
    if (bound < least) closed = true
    while (count > 1 && (logits[count - 1] as number) < least) count--
  }
  if (topK > 0 && topK <= count) {
    count = topK
    closed = true
  }
  line.begin(logits, count, temperature)

  let [shortest, longest] = closed
    ? [line.endOf(count - 1), line.endOf(count - 1)]
    : lengths(ranking, cuts, logTotal, isBound)
  if (topP < 1) {
    const first = line.reaching(topP * shortest)
    const last = line.reaching(topP * longest)
    shortest = first < count ? line.endOf(first) : Math.max(line.endOf(count - 1), topP * shortest)
    if (last < count) {
      longest = line.endOf(last)
    } else {
      // The cut is after the known part: top_p of the whole remains, and less than one token more.
      longest = Math.min(longest, topP * longest + line.weightOf(bound))
    }
    if (first === last && last < count) {
      closed = true
      count = last + 1
    }
  }

  const rank = line.at(random * longest)
  if (closed) return Math.min(rank, count - 1)
  return rank < count && line.at(random * shortest) === rank ? rank : -1
}

/** Bounds of the length of the line before top_p, when it continues after the known part. */
function lengths(
  { known, bound, unseen, canRise, rest, added }: Ranking,
  { temperature, minP, topK }: Cuts,
  logTotal: number,
  isBound: boolean,
): [shortest: number, longest: number] {
  const heaviest = known.logits[0] as number
  const before = Math.exp(logTotal - heaviest / temperature)
  const after = before + added(heaviest, temperature)
  const isTold = Number.isFinite(before) && after >= before * trusted
  if (isTold && !isBound && topK === 0 && minP === 0) {
    const ofUnseen = unseen * line.weightOf(bound)
    return [Math.max(line.endOf(0), after - ofUnseen), canRise ? after + ofUnseen : after]
  }
  const ofKnown = line.endOf(known.length - 1)
  const byRest = ofKnown + rest * line.weightOf(bound)
  const byTotal = isBound ? Math.min(after, byRest) : after
  const most = isTold && !canRise ? byTotal : byRest
  const longest = topK > 0 ? Math.min(most, ofKnown + (topK - known.length) * line.weightOf(bound)) : most
  return [ofKnown, Math.max(ofKnown, longest)]
}

/**
 * If the adjustments leave less than this share of the weight, it is not computed as the difference of the two: the sum
 * over the vocabulary uses 32-bit numbers, and is off by 5 in 100,000 when 50,000 tokens are about equally likely.
 */
const trusted = 1 / 4

/**
 * The weights exp((logit − heaviest) / temperature) of tokens side by side, heaviest first. Only the part that a draw
 * needs is computed.
 */
function createTokenWeights() {
  let logits: Float64Array = new Float64Array(0)
  let ends: Float64Array = new Float64Array(0)
  let count = 0
  let known = 0
  let heaviest = 0
  let temperature = 1

  function weightOf(logit: number): number {
    return Math.exp((logit - heaviest) / temperature)
  }

  /** Where the token of this rank ends; ranks are counted from 0. */
  function endOf(rank: number): number {
    for (; known <= rank; known++) {
      ends[known] = (known === 0 ? 0 : (ends[known - 1] as number)) + weightOf(logits[known] as number)
    }
    return ends[rank] as number
  }

  return {
    /** Starts again with the first `count` of these logits. */
    begin(allLogits: Float64Array, firstCount: number, drawTemperature: number): void {
      logits = allLogits
      count = firstCount
      temperature = drawTemperature
      heaviest = logits[0] as number
      known = 0
      if (ends.length < logits.length) ends = new Float64Array(logits.length)
    },
    weightOf,
    endOf,
    /** The rank of the token at this point; `count` when the point is after all of them. */
    at(point: number): number {
      for (let rank = 0; rank < count; rank++) if (endOf(rank) > point) return rank
      return count
    },
    /** The first rank that ends at or after this point; `count` when all end before it. */
    reaching(point: number): number {
      for (let rank = 0; rank < count; rank++) if (endOf(rank) >= point) return rank
      return count
    },
  }
}
