import { LRUCache } from 'lru-cache'
import { isInMask, type TokenMask } from '../../../packages/constraints/index.ts'
import type { AddonModel, AddonSampler, Binding } from './binding.ts'

/** Native samplers for each kind of request, for all tokens or for those of a mask. */
export interface Samplers {
  greedy(): AddonSampler
  /** Sorts so many of the likeliest tokens. */
  cut(size: number): AddonSampler
  warm(temperature: number): AddonSampler
}

/** For the samplers of masks; each has a candidate and up to two biases per token. */
const maskedBytes = 64 * 1024 * 1024
const bytesOfToken = 28

const dispose = (sampler: AddonSampler) => sampler.dispose()

/** Prepares native samplers and caches them: preparing one for a mask or a list costs as much as using it 30 times. */
export function createSamplers(
  binding: Binding,
  model: AddonModel,
  { vocabulary, sequences }: { vocabulary: number; sequences: number },
) {
  function sampler(config: Parameters<AddonSampler['applyConfig']>[0]): AddonSampler {
    const prepared = new binding.AddonSampler(model)
    // Without a seed each uses the time as one, and is rebuilt every second.
    prepared.applyConfig({ seed: 0, ...config })
    return prepared
  }

  const greedy = sampler({ temperature: 0 })
  const cuts = new Map<number, AddonSampler>()
  // Each sequence uses at most one temperature at once, and two lists: its allowed tokens, and those it prefers.
  const warm = new LRUCache<number, AddonSampler>({
    max: sequences + 4,
    dispose,
    memoMethod: (temperature) => sampler({ temperature }),
  })
  const lists = new LRUCache<readonly number[], AddonSampler>({
    max: 2 * sequences + 4,
    dispose,
    memoMethod: (tokens) => {
      const allowed = new Set(tokens)
      return sampler({
        temperature: 1,
        topK: allowed.size,
        ...forbidding(allowed.size, (token) => allowed.has(token)),
      })
    },
  })
  // More than are in use at once, plus as many as fit of those that answers return to.
  const maxMasked = Math.min(64, Math.floor(maskedBytes / (bytesOfToken * vocabulary)))
  const masks = new LRUCache<string, AddonSampler>({ max: Math.max(2 * sequences + 2, maxMasked), dispose })

  /** Forbidden tokens sink to the end, so that a cut leaves the others. */
  function forbidding(allowed: number, isAllowed: (token: number) => boolean) {
    const forbidden = new Uint32Array(vocabulary - allowed)
    for (let token = 0, next = 0; token < vocabulary; token++) {
      if (!isAllowed(token)) forbidden[next++] = token
    }
    const tokenBiasValues = new Float32Array(forbidden.length).fill(Number.NEGATIVE_INFINITY)
    return { tokenBiasKeys: forbidden, tokenBiasValues }
  }

  const plain: Samplers = {
    greedy: () => greedy,
    cut(size) {
      const cut = cuts.get(size) ?? sampler({ temperature: 1, topK: size })
      cuts.set(size, cut)
      return cut
    },
    warm: (temperature) => warm.memo(temperature),
  }

  function masked(mask: TokenMask): Samplers {
    const prepared = (name: string, config: Parameters<AddonSampler['applyConfig']>[0]) => {
      const key = `${mask.id} ${name}`
      const known = masks.get(key)
      if (known !== undefined) return known
      const made = sampler({ ...config, ...forbidding(mask.count, (token) => isInMask(mask, token)) })
      masks.set(key, made)
      return made
    }
    return {
      greedy: () => prepared('greedy', { temperature: 0 }),
      cut: (size) => prepared(`cut ${size}`, { temperature: 1, topK: size }),
      warm: (temperature) => prepared(`warm ${temperature}`, { temperature }),
    }
  }

  return {
    plain,
    masked,
    /** Sorts the tokens of a list before all others. */
    listed: (tokens: readonly number[]) => lists.memo(tokens),
  }
}
