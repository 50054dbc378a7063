import { LRUCache } from 'lru-cache'
import { isInMask, type TokenMask } from '../../../packages/constraints/index.ts'
import type { Candidates, Logits, PositionLogits } from '../sampling/logits.ts'
import type { AddonContext, AddonModel, AddonSampler, Binding, LogitsFilter } from './binding.ts'

const dispose = (sampler: AddonSampler) => sampler.dispose()

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
  { vocabulary, sequences }: { vocabulary: number; sequences: number },
): (place: number) => PositionLogits {
  const greedy = sampler({ temperature: 0 })
  const cuts = new Map<number, AddonSampler>()
  // Each sequence uses at most one temperature at once, and two lists: its allowed tokens, and those it prefers.
  const warmths = new LRUCache<number, AddonSampler>({
    max: sequences + 4,
    dispose,
    memoMethod: (temperature) => sampler({ temperature }),
  })
  // More than are in use at once, plus as many as fit of those that answers return to.
  const mostMasked = Math.min(64, Math.floor(maskedBytes / (bytesOfToken * vocabulary)))
  const masks = new LRUCache<string, AddonSampler>({ max: Math.max(2 * sequences + 2, mostMasked), dispose })
  const plain: Samplers = {
    greedy: () => greedy,
    cut(size) {
      const cut = cuts.get(size) ?? sampler({ temperature: 1, topK: size })
      cuts.set(size, cut)
      return cut
    },
    warm: (temperature) => warmths.memo(temperature),
  }
  const lists = new LRUCache<readonly number[], AddonSampler>({
    max: 2 * sequences + 4,
    dispose,
    memoMethod: others,
  })
  const seen = new WeakSet<readonly number[]>()

  function sampler(config: Parameters<AddonSampler['applyConfig']>[0]): AddonSampler {
    const made = new binding.AddonSampler(model)
    // Without a seed each uses the time as one, and is rebuilt every second.
    made.applyConfig({ seed: 0, ...config })
    return made
  }

  function samplersOf(mask: TokenMask): Samplers {
    const prepared = (name: string, config: Parameters<AddonSampler['applyConfig']>[0]) => {
      const key = `${mask.id} ${name}`
      const known = masks.get(key)
      if (known !== undefined) return known
      const forbidden = forbidding(vocabulary - mask.count, (token) => isInMask(mask, token))
      const made = sampler({ ...config, ...forbidden })
      masks.set(key, made)
      return made
    }
    return {
      greedy: () => prepared('greedy', { temperature: 0 }),
      cut: (size) => prepared(`cut ${size}`, { temperature: 1, topK: size }),
      warm: (temperature) => prepared(`warm ${temperature}`, { temperature }),
    }
  }

  function forbidding(count: number, isAllowed: (token: number) => boolean) {
    const forbidden = new Uint32Array(count)
    for (let token = 0, next = 0; token < vocabulary; token++) {
      if (!isAllowed(token)) forbidden[next++] = token
    }
    return {
      tokenBiasKeys: forbidden,
      tokenBiasValues: new Float32Array(count).fill(Number.NEGATIVE_INFINITY),
    }
  }

  async function largest(place: number, { cut }: Samplers, count: number): Promise<Candidates> {
    // Few sizes, because each has its own sampler with room for the whole vocabulary.
    const size = count === 1 ? 1 : Math.min(vocabulary, Math.max(16, 2 ** Math.ceil(Math.log2(count))))
    const [, , , pairs] = await context.sampleToken(place, cut(size), false, false, true)
    return candidates(pairs, count)
  }

  /** Forbidden tokens sink to the end, so that a cut leaves the others. Preparing it costs as much as using it 30 times. */
  function others(tokens: readonly number[]): AddonSampler {
    const allowed = new Set(tokens)
    return sampler({
      temperature: 1,
      topK: allowed.size,
      ...forbidding(vocabulary - allowed.size, (token) => allowed.has(token)),
    })
  }

  async function logitsOf(place: number, tokens: readonly number[]): Promise<number[] | undefined> {
    let sampler = greedy
    let shown: LogitsFilter | true = true
    if (tokens.length <= vocabulary / 2 || tokens.length <= fewTokens) {
      if (tokens.length > fewTokens && seen.has(tokens)) sampler = lists.memo(tokens)
      else shown = [tokens, false, false, false, 0]
      if (tokens.length > fewTokens) seen.add(tokens)
    }
    return (await context.sampleToken(place, sampler, false, false, shown))[3]
  }

  function told(place: number, samplers: Samplers): Pick<Logits, 'best' | 'top' | 'logTotal'> {
    /** The latest request that begins with the largest logit. */
    let asked: Promise<Candidates> | undefined
    let most: number | undefined

    return {
      async best() {
        const token = await context.sampleToken(place, samplers.greedy())
        if (token < 0) throw new Error('the model returned no token')
        return token
      },
      async top(count) {
        asked = largest(place, samplers, Math.min(count, vocabulary))
        return asked
      },
      async logTotal(temperature) {
        const isPlain = temperature === 1
        if (!isPlain && most === undefined) asked ??= largest(place, samplers, 1)
        // The largest logit is returned along with the sum if it has not been requested yet.
        const isKnown = asked !== undefined || most !== undefined
        const shown: LogitsFilter | false = !isKnown && [[], false, false, true, 0]
        const sampler = isPlain ? samplers.greedy() : samplers.warm(temperature)
        const summed = context.sampleToken(place, sampler, false, false, shown, true)
        const [[, , , pairs, weight], found] = await Promise.all([summed, asked])
        most ??= found?.logits[0] ?? pairs?.[1]
        return (most ?? Number.NaN) / temperature + Math.log(weight ?? Number.NaN)
      },
    }
  }

  return (place) => {
    const of: Logits['of'] = async (tokens) => inOrder(tokens, await logitsOf(place, tokens))
    return {
      vocabulary,
      ...told(place, plain),
      of,
      masked: (mask) => ({
        vocabulary: mask.count,
        ...told(place, samplersOf(mask)),
        async of(tokens) {
          const values = await of(tokens)
          return values.map((logit, i) => (isInMask(mask, tokens[i] as number) ? logit : -Infinity))
        },
      }),
    }
  }
}

/** The samplers for each kind of request, for all tokens or for those of a mask. */
interface Samplers {
  greedy(): AddonSampler
  cut(size: number): AddonSampler
  warm(temperature: number): AddonSampler
}

/** For the samplers of masks; each has a candidate and up to two biases per token. */
const maskedBytes = 64 * 1024 * 1024
const bytesOfToken = 28

/** Up to so many tokens, searching the list at each logit costs less than a sampler for the list. */
const fewTokens = 8

function candidates(pairs: number[] | undefined, most: number): Candidates {
  const count = Math.min(most, (pairs?.length ?? 0) / 2)
  const tokens = new Uint32Array(count)
  const logits = new Float32Array(count)
  for (let index = 0; index < count; index++) {
    tokens[index] = pairs?.[2 * index] ?? 0
    logits[index] = pairs?.[2 * index + 1] ?? Number.NaN
  }
  return { tokens, logits }
}

function inOrder(tokens: readonly number[], pairs: number[] = []): Float32Array {
  if (tokens.length === 1 && pairs.length === 2) return Float32Array.of(pairs[1] ?? Number.NaN)
  const logits = new Map<number, number>()
  for (let index = 0; index < pairs.length; index += 2) {
    logits.set(pairs[index] ?? 0, pairs[index + 1] ?? Number.NaN)
  }
  return Float32Array.from(tokens, (token) => logits.get(token) ?? Number.NEGATIVE_INFINITY)
}
