import type { Budget } from './budget.ts'
import { grammarTooLarge } from './errors.ts'
import type { Expr } from './expressions.ts'
import { createMatcher } from './matcher.ts'
import { packGrammar } from './pack.ts'

/** For one character; every open way is examined for every token. */
const maxSteps = 2000
const characters = 48
/** Of these, the one that leaves most ways open is read. */
const candidates = 6

/**
 * Refuses a grammar that is so ambiguous that following it would be slow. The grammar alone does not show that, so a text
 * is read along the widest way.
 */
export function checkWidth(rules: ReadonlyMap<string, Expr>, budget: Budget): void {
  const matcher = createMatcher(packGrammar(rules), {
    maxSteps: maxSteps + 1,
    spend: (steps) => budget.spend(steps),
  })
  let position = matcher.start
  for (let read = 0; read < characters; read++) {
    const steps = matcher.stepsTo(position)
    if (steps > maxSteps) throw grammarTooLarge('steps to follow in one position', steps, maxSteps)
    const next = matcher
      .pointsOf(position, candidates)
      .flatMap((point) => matcher.after(position, point) ?? [])
      .toSorted((a, b) => matcher.stepsTo(b) - matcher.stepsTo(a))[0]
    if (next === undefined) return
    position = next
  }
}
