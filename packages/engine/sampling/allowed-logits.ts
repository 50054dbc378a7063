import type { TokenRule } from '../../constraints/index.ts'
import { onlyAllowed } from './allowed.ts'
import type { Candidates, Logits, PositionLogits } from './logits.ts'

/** Looked at first: at most positions one of the likeliest tokens is allowed. */
const firstLook = 16
const eachFurther = 8
/** Beyond this it is cheaper to compute all allowed tokens. */
const maxTried = 1024

/**
 * The logits as if each token that is not allowed had −∞. As few tokens as possible are tried: `top` may return fewer
 * than were asked for, and the sum over all allowed tokens is only an upper bound.
 */
export function allowedLogits(logits: PositionLogits, rule: TokenRule): Logits {
  return {
    ...masking(logits, rule),
    vocabulary: logits.vocabulary,
    exactly,
    isExactCheap: rule.wideMask?.() !== undefined,
    async best() {
      const best = await logits.best()
      if (rule.allows(best)) return best
      return (await (rule.few() === undefined ? top(1) : exactly().top(1))).tokens[0] ?? best
    },
    top,
    logTotal: (temperature) => logits.logTotal(temperature),
  }

  function exactly(): Logits {
    return exactLogits(logits, rule)
  }

  async function top(count: number): Promise<Candidates> {
    const most = Math.min(maxTried, logits.vocabulary)
    for (let size = Math.max(firstLook, count); size <= most; size *= eachFurther) {
      // Whether few tokens are allowed is soon known, and then those cost less than looking further.
      if (size > firstLook && rule.few() !== undefined) break
      const all = await logits.top(size)
      const found = filtered(all, rule)
      if (found.tokens.length > 0) return { ...found, others: all.logits.at(-1) ?? -Infinity }
    }
    const exact = exactly()
    const found = await exact.top(count)
    return count < exact.vocabulary ? found : { ...found, others: -Infinity }
  }
}

/** The same with exact numbers, for which all allowed tokens have to be known. */
export function exactLogits(logits: PositionLogits, rule: TokenRule): Logits {
  const wide = rule.wideMask?.()
  if (wide !== undefined) return logits.masked(wide)
  const few = rule.few()
  if (few === undefined) return logits.masked(rule.mask())
  return { ...onlyAllowed(logits, few), ...masking(logits, rule) }
}

/** Logits for display: all allowed tokens come first, then those that are not allowed, with −∞. */
export function shownLogits(logits: PositionLogits, rule: TokenRule): Logits {
  const few = rule.few()
  if (few === undefined) return logits.masked(rule.mask())
  const exact = exactLogits(logits, rule)
  return {
    ...exact,
    async top(count) {
      const found = await exact.top(Math.min(count, few.length))
      const all = await logits.top(count + few.length)
      const others = all.tokens.filter((token) => !rule.allows(token))
      const tokens = Uint32Array.of(...found.tokens, ...others).subarray(0, count)
      return { tokens, logits: Float32Array.from(tokens, (_, at) => found.logits[at] ?? -Infinity) }
    },
  }
}

function masking(logits: Logits, rule: TokenRule): Pick<Logits, 'of'> {
  return {
    async of(tokens) {
      const values = await logits.of(tokens)
      return values.map((logit, i) => (rule.allows(tokens[i] as number) ? logit : -Infinity))
    },
  }
}

function filtered({ tokens, logits }: Candidates, rule: TokenRule): Candidates {
  const found: Candidates = {
    tokens: new Uint32Array(tokens.length),
    logits: new Float32Array(tokens.length),
  }
  let length = 0
  for (const [index, token] of tokens.entries()) {
    if (!rule.allows(token)) continue
    found.tokens[length] = token
    found.logits[length++] = logits[index] as number
  }
  return { tokens: found.tokens.subarray(0, length), logits: found.logits.subarray(0, length) }
}
