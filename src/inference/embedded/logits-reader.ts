import { isInMask } from '../../../packages/constraints/index.ts'
import type { Candidates, Logits, PositionLogits } from '../sampling/logits.ts'
import type { AddonContext, AddonModel, Binding, LogitsFilter } from './binding.ts'
import { createSamplers, type Samplers } from './samplers.ts'

/** Up to so many tokens, searching the list at each logit costs less than a sampler for the list. */
const maxFiltered = 8

/**
 * Reads the logits of a row, each request in its cheapest form. Microseconds measured on one core:
 *
 * | vocabulary of                                     | 152 k  | 50 k  | 2 k |
 * |---------------------------------------------------|--------|-------|-----|
 * | best                                              |    150 |    60 |  15 |
 * | top 40 by a top-k cut (partial sort)              |    130 |    60 |  20 |
 * | top 1,024                                         |    450 |   240 | 130 |
 * | all, sorted                                       | 25,000 | 7,600 | 240 |
 * | of 10 tokens by the filter                        |    720 |   250 |  25 |
 * | of 100 tokens by the filter                       |  3,500 | 1,100 |  73 |
 * | of 100 tokens by forbidding all others, prepared  |    250 |   100 |  28 |
 * | total at temperature 1, largest logit known       |    690 |   240 |  22 |
 * | total at temperature 1, largest logit not known   |    930 |   310 |  27 |
 * | total at another temperature                      |  1,750 |   580 |  36 |
 *
 * Under a mask, best, top and total cost the same; the first time, each takes another 500 at 50 k to be prepared.
 */
export function createLogitsReader(
  binding: Binding,
  context: AddonContext,
  model: AddonModel,
  sizes: { vocabulary: number; sequences: number },
): (row: number) => PositionLogits {
  const { vocabulary } = sizes
  const samplers = createSamplers(binding, model, sizes)
  const requestedLists = new WeakSet<readonly number[]>()

  async function likeliest(row: number, { cut }: Samplers, count: number): Promise<Candidates> {
    // Few sizes, because each has its own sampler with room for the whole vocabulary.
    const size = count === 1 ? 1 : Math.min(vocabulary, Math.max(16, 2 ** Math.ceil(Math.log2(count))))
    const [, , , pairs] = await context.sampleToken(row, cut(size), false, false, true)
    return candidates(pairs, count)
  }

  /** Pairs of a token and its logit, with at least these tokens. A list is prepared when it is requested again. */
  async function pairsOf(row: number, tokens: readonly number[]): Promise<number[] | undefined> {
    const read = async (sampler = samplers.plain.greedy(), filter: LogitsFilter | true = true) =>
      (await context.sampleToken(row, sampler, false, false, filter))[3]
    const filter: LogitsFilter = [tokens, false, false, false, 0]
    if (tokens.length <= maxFiltered) return read(undefined, filter)
    if (tokens.length > vocabulary / 2) return read()
    if (requestedLists.has(tokens)) return read(samplers.listed(tokens))
    requestedLists.add(tokens)
    return read(undefined, filter)
  }

  function summaryOf(row: number, by: Samplers): Pick<Logits, 'best' | 'top' | 'logTotal'> {
    /** The latest request that begins with the largest logit. */
    let requested: Promise<Candidates> | undefined
    let largest: number | undefined

    return {
      async best() {
        const token = await context.sampleToken(row, by.greedy())
        if (token < 0) throw new Error('the model returned no token')
        return token
      },
      async top(count) {
        requested = likeliest(row, by, Math.min(count, vocabulary))
        return requested
      },
      async logTotal(temperature) {
        const isPlain = temperature === 1
        if (!isPlain && largest === undefined) requested ??= likeliest(row, by, 1)
        // The largest logit is returned along with the sum if it has not been requested yet.
        const isKnown = requested !== undefined || largest !== undefined
        const filter: LogitsFilter | false = !isKnown && [[], false, false, true, 0]
        const sampler = isPlain ? by.greedy() : by.warm(temperature)
        const summed = context.sampleToken(row, sampler, false, false, filter, true)
        const [[, , , pairs, weight], found] = await Promise.all([summed, requested])
        largest ??= found?.logits[0] ?? pairs?.[1]
        return (largest ?? Number.NaN) / temperature + Math.log(weight ?? Number.NaN)
      },
    }
  }

  return (row) => {
    const of: Logits['of'] = async (tokens) => inOrder(tokens, await pairsOf(row, tokens))
    return {
      vocabulary,
      ...summaryOf(row, samplers.plain),
      of,
      masked: (mask) => ({
        vocabulary: mask.count,
        ...summaryOf(row, samplers.masked(mask)),
        async of(tokens) {
          const values = await of(tokens)
          return values.map((logit, i) => (isInMask(mask, tokens[i] as number) ? logit : -Infinity))
        },
      }),
    }
  }
}

function candidates(pairs: number[] = [], max: number): Candidates {
  const count = Math.min(max, pairs.length / 2)
  return {
    tokens: Uint32Array.from({ length: count }, (_, index) => pairs[2 * index] ?? 0),
    logits: Float32Array.from({ length: count }, (_, index) => pairs[2 * index + 1] ?? Number.NaN),
  }
}

function inOrder(tokens: readonly number[], pairs: number[] = []): Float32Array {
  if (tokens.length === 1 && pairs.length === 2) return Float32Array.of(pairs[1] ?? Number.NaN)
  const logits = new Map<number, number>()
  for (let index = 0; index < pairs.length; index += 2) {
    logits.set(pairs[index] ?? 0, pairs[index + 1] ?? Number.NaN)
  }
  return Float32Array.from(tokens, (token) => logits.get(token) ?? Number.NEGATIVE_INFINITY)
}
