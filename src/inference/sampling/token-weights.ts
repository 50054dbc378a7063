/**
 * The weights exp((logit − heaviest) / temperature) of tokens side by side, heaviest first. Only the part that a draw
 * needs is computed.
 */
export function createTokenWeights() {
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
    begin(givenLogits: Float64Array, givenCount: number, givenTemperature: number): void {
      logits = givenLogits
      count = givenCount
      temperature = givenTemperature
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
