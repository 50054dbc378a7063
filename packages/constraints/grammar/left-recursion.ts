import { type CompiledGrammar, nodeKinds, numbersOfNode } from './compiled-grammar.ts'
import { ConstraintError, grammarTooLarge } from './errors.ts'

/** Each way in which a text may begin is followed on its own. */
const maxWays = 2000
const maxWaysTogether = 500_000

/**
 * Orders the rules so that each comes before those that it may begin with, by their numbers. Refuses a rule that begins
 * with itself, and anything that can begin in too many ways.
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

  /** How many nodes it may begin with. */
  const beginnings = (node: number): number => {
    const at = numbersOfNode * node
    switch (nodes[at]) {
      case nodeKinds.pair:
        return canBeEmpty[nodes[at + 1] ?? 0] === true ? 2 : 1
      case nodeKinds.any:
        return nodes[at + 2] ?? 0
      case nodeKinds.repetition:
      case nodeKinds.rule:
        return 1
      default:
        return 0
    }
  }
  const beginning = (node: number, index: number): number => {
    const at = numbersOfNode * node
    const first = nodes[at + 1] ?? 0
    return (nodes[at] === nodeKinds.any ? lists[first + index] : index === 0 ? first : nodes[at + 2]) ?? 0
  }

  for (let start = 0; start < count; start++) {
    const stack = [start]
    const open: number[] = []
    for (let node = stack.at(-1); node !== undefined; node = stack.at(-1)) {
      const isRule = nodes[numbersOfNode * node] === nodeKinds.rule
      if (state[node] === unseen) {
        state[node] = entered
        if (isRule) open.push(node)
        for (let index = 0, many = beginnings(node); index < many; index++) {
          const next = beginning(node, index)
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
      const many = beginnings(node)
      let own = many === 0 || nodes[numbersOfNode * node] === nodeKinds.repetition ? 1 : 0
      for (let index = 0; index < many; index++) own += ways[beginning(node, index)] ?? 0
      ways[node] = own
      if (!isRule) continue
      open.pop()
      finished.push(node)
      if (own > maxWays) throw grammarTooLarge('ways to begin in one place', own, maxWays)
      together += own
    }
  }
  if (together > maxWaysTogether) throw grammarTooLarge('ways to begin', together, maxWaysTogether)
  return new Map(finished.reverse().map((rule, rank) => [rule, rank]))
}

const unseen = 0
const entered = 1
const left = 2
