import { type CompiledGrammar, nodeKinds, numbersOfNode } from './compiled-grammar.ts'
import { ConstraintError, grammarTooLarge } from './errors.ts'

/** Each way in which a text may begin is followed on its own. */
const mostWays = 2000
const mostWaysTogether = 500_000

/**
 * The rules in an order in which each comes before those that it may begin with, by their numbers. Refuses a rule that
 * begins with itself, and what can begin in too many ways.
 */
export function rankRules(
  { nodes, lists }: Pick<CompiledGrammar, 'nodes' | 'lists'>,
  canBeEmpty: readonly boolean[],
  nameOf: (rule: number) => string,
): Map<number, number> {
  const count = nodes.length / numbersOfNode
  const ways = new Float64Array(count)
  const state = new Uint8Array(count)
  const finished: number[] = []
  let together = 0

  const first = (node: number): readonly number[] => {
    const at = numbersOfNode * node
    const one = nodes[at + 1] ?? 0
    const two = nodes[at + 2] ?? 0
    switch (nodes[at]) {
      case nodeKinds.pair:
        return canBeEmpty[one] === true ? [one, two] : [one]
      case nodeKinds.any:
        return Array.from(lists.subarray(one, one + two))
      case nodeKinds.repetition:
      case nodeKinds.rule:
        return [one]
      default:
        return []
    }
  }

  for (let start = 0; start < count; start++) {
    const stack = [start]
    const open: number[] = []
    for (let node = stack.at(-1); node !== undefined; node = stack.at(-1)) {
      const isRule = nodes[numbersOfNode * node] === nodeKinds.rule
      if (state[node] === unseen) {
        state[node] = entered
        if (isRule) open.push(node)
        for (const next of first(node)) {
          if (state[next] === entered)
            throw new ConstraintError(
              'unsupported',
              `the rule ${nameOf(open.at(-1) ?? node)} begins with itself`,
            )
          if (state[next] === unseen) stack.push(next)
        }
        continue
      }
      stack.pop()
      if (state[node] === left) continue
      state[node] = left
      const parts = first(node)
      ways[node] =
        parts.reduce((sum, part) => sum + (ways[part] ?? 0), 0) +
        (parts.length === 0 || nodes[numbersOfNode * node] === nodeKinds.repetition ? 1 : 0)
      if (!isRule) continue
      open.pop()
      finished.push(node)
      const own = ways[node] ?? 0
      if (own > mostWays) throw grammarTooLarge('ways to begin in one place', own, mostWays)
      together += own
    }
  }
  if (together > mostWaysTogether) throw grammarTooLarge('ways to begin', together, mostWaysTogether)
  return new Map(finished.reverse().map((rule, rank) => [rule, rank]))
}

const unseen = 0
const entered = 1
const left = 2
