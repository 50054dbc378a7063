import type { Budget } from './budget.ts'
import type { Expr } from './expressions.ts'
import { createFollowing } from './following.ts'
import { GrammarTooLarge } from './grammar-flaws.ts'
import { packGrammar } from './pack.ts'

/** For one character; each way that is open is asked for every token. */
const mostSteps = 2000
const characters = 48
/** Of which the one that leaves most ways open is read. */
const candidates = 6

/**
 * Refuses a grammar that is so ambiguous that following it would be slow. That cannot be told from the grammar alone, so a
 * text is read along the widest way.
 */
export function checkWidth(rules: ReadonlyMap<string, Expr>, budget: Budget): void {
  const following = createFollowing(packGrammar(rules), {
    mostSteps: mostSteps + 1,
    spend: (steps) => budget.spend(steps),
  })
  let place = following.start
  for (let read = 0; read < characters; read++) {
    const steps = following.stepsTo(place)
    if (steps > mostSteps) throw new GrammarTooLarge('steps to follow in one place', steps, mostSteps)
    const next = following
      .pointsOf(place, candidates)
      .flatMap((point) => following.after(place, point) ?? [])
      .toSorted((one, other) => following.stepsTo(other) - following.stepsTo(one))[0]
    if (next === undefined) return
    place = next
  }
}
