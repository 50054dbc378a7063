/**
 * The weights exp((logit − heaviest) / temperature) of tokens side by side, heaviest first. Only as much of it is worked
 * out as somebody asks for.
 */
export interface Line {
  /** Begins anew: the first `count` of these logits. */
  begin(logits: Float64Array, count: number, temperature: number): void
  weightOf(logit: number): number
  /** Where the token in this place ends. */
  endOf(place: number): number
  /** The token on which this point lies; `count` when it lies behind them all. */
  at(point: number): number
  /** The first token that ends at this point or behind it; `count` when all end before it. */
  reaching(point: number): number
}

export function createLine(): Line {
  let logits: Float64Array = new Float64Array(0)
  let ends: Float64Array = new Float64Array(0)
  let count = 0
  let known = 0
  let heaviest = 0
  let temperature = 1

  function weightOf(logit: number): number {
    return Math.exp((logit - heaviest) / temperature)
  }

  function endOf(place: number): number {
    for (; known <= place; known++) {
      ends[known] = (known === 0 ? 0 : (ends[known - 1] as number)) + weightOf(logits[known] as number)
    }
    return ends[place] as number
  }

  return {
    begin(givenLogits, givenCount, givenTemperature) {
      logits = givenLogits
      count = givenCount
      temperature = givenTemperature
      heaviest = logits[0] as number
      known = 0
      if (ends.length < logits.length) ends = new Float64Array(logits.length)
    },
    weightOf,
    endOf,
    at(point) {
      for (let place = 0; place < count; place++) if (endOf(place) > point) return place
      return count
    },
    reaching(point) {
      for (let place = 0; place < count; place++) if (endOf(place) >= point) return place
      return count
    },
  }
}
