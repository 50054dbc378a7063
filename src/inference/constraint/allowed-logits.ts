import { logSum, onlyAllowed } from '../sampling/allowed.ts'
import type { Candidates, Logits } from '../sampling/logits.ts'
import type { Allowance } from './constraint.ts'

/** Looked at first: in most places one of the likeliest tokens is allowed. */
const firstLook = 16
const eachFurther = 8
/** Beyond this it pays to know whether few are allowed at all. */
const beforeListing = 128
/** Who wants more than this will want all of them, and asking once for all is cheaper than asking twice. */
const mostTried = 1024

/**
 * The logits as if each token that is not allowed had −∞. As few tokens as possible are tried: what comes of `top` may be
 * fewer than were asked for, and the sum over all that are allowed is told from above only.
 */
export function allowedLogits(logits: Logits, allowance: Allowance): Logits {
  return {
    ...masking(logits, allowance),
    vocabulary: logits.vocabulary,
    totalIsBound: true,
    async best() {
      const best = await logits.best()
      return allowance.allows(best) ? best : ((await top(1)).tokens[0] ?? best)
    },
    top,
    logTotal: (temperature) => logits.logTotal(temperature),
  }

  async function top(count: number): Promise<Candidates> {
    for (let size = Math.max(firstLook, count); ; size *= eachFurther) {
      const few = size > beforeListing ? allowance.few() : undefined
      if (few !== undefined) return { ...(await onlyAllowed(logits, few).top(few.length)), others: -Infinity }
      const isAll = size > mostTried || size >= logits.vocabulary
      const all = await logits.top(isAll ? logits.vocabulary : size)
      const found = filtered(all, allowance)
      if (found.tokens.length > 0 || isAll) {
        return { ...found, others: isAll ? -Infinity : (all.logits.at(-1) ?? -Infinity) }
      }
    }
  }
}

/** The logits of the few tokens that are allowed. */
export function listedLogits(logits: Logits, allowance: Allowance, few: readonly number[]): Logits {
  return { ...onlyAllowed(logits, few), ...masking(logits, allowance) }
}

/** All logits, where every number has to be known. What is not allowed comes last. */
export async function maskedLogits(logits: Logits, allowance: Allowance): Promise<Logits> {
  const all = await logits.top(logits.vocabulary)
  const tokens = new Uint32Array(all.tokens.length)
  const masked = new Float32Array(all.tokens.length).fill(-Infinity)
  const others: number[] = []
  let length = 0
  for (const [place, token] of all.tokens.entries()) {
    if (allowance.allows(token)) {
      tokens[length] = token
      masked[length++] = all.logits[place] as number
    } else {
      others.push(token)
    }
  }
  tokens.set(others, length)
  return {
    ...masking(logits, allowance),
    vocabulary: logits.vocabulary,
    best: async () => tokens[0] as number,
    top: async (count) => ({ tokens: tokens.subarray(0, count), logits: masked.subarray(0, count) }),
    logTotal: async (temperature) => logSum(masked.subarray(0, length), temperature),
  }
}

function masking(logits: Logits, allowance: Allowance): Pick<Logits, 'of'> {
  return {
    async of(tokens) {
      const values = await logits.of(tokens)
      return values.map((logit, i) => (allowance.allows(tokens[i] as number) ? logit : -Infinity))
    },
  }
}

function filtered({ tokens, logits }: Candidates, allowance: Allowance): Candidates {
  const found: Candidates = {
    tokens: new Uint32Array(tokens.length),
    logits: new Float32Array(tokens.length),
  }
  let length = 0
  for (const [place, token] of tokens.entries()) {
    if (!allowance.allows(token)) continue
    found.tokens[length] = token
    found.logits[length++] = logits[place] as number
  }
  return { tokens: found.tokens.subarray(0, length), logits: found.logits.subarray(0, length) }
}
