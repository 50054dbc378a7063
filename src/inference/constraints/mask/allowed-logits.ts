import { onlyAllowed } from '../../sampling/allowed.ts'
import type { Candidates, Logits, PositionLogits } from '../../sampling/logits.ts'
import type { Allowance } from '../following-constraints.ts'

/** Looked at first: in most places one of the likeliest tokens is allowed. */
const firstLook = 16
const eachFurther = 8
/** Beyond this it pays to know all that are allowed. */
const mostTried = 1024

/**
 * The logits as if each token that is not allowed had −∞. As few tokens as possible are tried: what comes of `top` may be
 * fewer than were asked for, and the sum over all that are allowed is told from above only.
 */
export function allowedLogits(logits: PositionLogits, allowance: Allowance): Logits {
  return {
    ...masking(logits, allowance),
    vocabulary: logits.vocabulary,
    exactly,
    async best() {
      const best = await logits.best()
      if (allowance.allows(best)) return best
      return (await (allowance.few() === undefined ? top(1) : exactly().top(1))).tokens[0] ?? best
    },
    top,
    logTotal: (temperature) => logits.logTotal(temperature),
  }

  function exactly(): Logits {
    return exactLogits(logits, allowance)
  }

  async function top(count: number): Promise<Candidates> {
    const most = Math.min(mostTried, logits.vocabulary)
    for (let size = Math.max(firstLook, count); size <= most; size *= eachFurther) {
      // Whether few are allowed at all is soon known, and they cost less than to look further.
      if (size > firstLook && allowance.few() !== undefined) break
      const all = await logits.top(size)
      const found = filtered(all, allowance)
      if (found.tokens.length > 0) return { ...found, others: all.logits.at(-1) ?? -Infinity }
    }
    const exact = exactly()
    const found = await exact.top(count)
    return count < exact.vocabulary ? found : { ...found, others: -Infinity }
  }
}

/** The same, with every number told exactly. What is allowed has to be known for it, all of it. */
export function exactLogits(logits: PositionLogits, allowance: Allowance): Logits {
  const few = allowance.few()
  if (few === undefined) return logits.masked(allowance.mask())
  return { ...onlyAllowed(logits, few), ...masking(logits, allowance) }
}

/** Where they are shown: behind all that are allowed come those that are not, with −∞. */
export function shownLogits(logits: PositionLogits, allowance: Allowance): Logits {
  const few = allowance.few()
  if (few === undefined) return logits.masked(allowance.mask())
  const exact = exactLogits(logits, allowance)
  return {
    ...exact,
    async top(count) {
      const found = await exact.top(Math.min(count, few.length))
      const all = await logits.top(count + few.length)
      const others = all.tokens.filter((token) => !allowance.allows(token))
      const tokens = Uint32Array.of(...found.tokens, ...others).subarray(0, count)
      return { tokens, logits: Float32Array.from(tokens, (_, at) => found.logits[at] ?? -Infinity) }
    },
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
