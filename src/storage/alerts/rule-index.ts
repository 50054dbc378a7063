import { type EndedCall, type Guard, holds } from './guards.ts'

interface Guarded {
  guards: readonly Guard[]
}

type TextName = Extract<Guard, { kind: 'text' }>['name']
type NumberName = Extract<Guard, { bound: number }>['name']

/** Failures and bounds that are not reached sort out most calls, names fewer. */
function rank(guard: Guard): number {
  if (guard.kind === 'text') return guard.name !== 'status' ? 2 : guard.values.has('success') ? 3 : 0
  return guard.kind === 'min' ? 1 : 3
}

/**
 * The rules that may pick a call, in their order, without looking at each of them: a rule is filed under its strictest
 * guard.
 */
export function indexRules<Rule extends Guarded>(rules: readonly Rule[]): (call: EndedCall) => Rule[] {
  const byText = new Map<TextName, Map<string, number[]>>()
  const byBound = new Map<NumberName, { bound: number; at: number }[]>()
  const rest: number[] = []
  for (const [at, { guards }] of rules.entries()) {
    const [strictest] = [...guards].sort((a, b) => rank(a) - rank(b))
    if (strictest?.kind === 'text') {
      const { name, values } = strictest
      const filed = byText.get(name) ?? new Map<string, number[]>()
      byText.set(name, filed)
      for (const value of values) filed.set(value, [...(filed.get(value) ?? []), at])
    } else if (strictest?.kind === 'min') {
      const { name, bound } = strictest
      byBound.set(name, [...(byBound.get(name) ?? []), { bound, at }])
    } else rest.push(at)
  }
  for (const bounds of byBound.values()) bounds.sort((a, b) => a.bound - b.bound)

  return (call) => {
    let found = rest
    for (const [name, filed] of byText) {
      const own = filed.get(call[name] ?? '')
      if (own !== undefined) found = found.concat(own)
    }
    for (const [name, bounds] of byBound) {
      const value = Number(call[name] ?? Number.NEGATIVE_INFINITY)
      const reached = bounds.findIndex(({ bound }) => bound > value)
      if (reached !== 0)
        found = found.concat(bounds.slice(0, reached === -1 ? undefined : reached).map(({ at }) => at))
    }
    if (found.length === 0) return []
    const own = found.map((at) => ({ at, rule: rules[at] as Rule }))
    const passing = own.filter(({ rule }) => rule.guards.every((guard) => holds(guard, call)))
    return passing.sort((a, b) => a.at - b.at).map(({ rule }) => rule)
  }
}
