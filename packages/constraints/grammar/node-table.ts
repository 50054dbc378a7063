import { createHash } from 'node:crypto'
import { type CompiledGrammar, nodeKinds, numbersOfNode } from './compiled-grammar.ts'
import { grammarTooLarge } from './errors.ts'
import { createInternedRows } from './interned-rows.ts'
import { rankRules } from './left-recursion.ts'
import { isMark } from './marks.ts'

const maxBytes = 4 * 1024 * 1024

/** Stands for what matches no text at all, which has no node. */
export const never = -1

/** Equal nodes are stored once, so that following a text recognises equal ways as the same. */
export function createNodeTable() {
  const nodes = createInternedRows()
  const lists = createInternedRows()
  const isEmpty: boolean[] = []
  const names = new Map<number, string>()
  const texts = new Map<string, number>()
  let text = ''

  const node = (kind: number, first: number, second: number, canBeEmpty: boolean): number => {
    const made = nodes.add([kind, first, second]) / numbersOfNode
    if (made < isEmpty.length) return made
    if (4 * (nodes.length + lists.length) + 2 * text.length > maxBytes) {
      throw grammarTooLarge('bytes', maxBytes + 1, maxBytes)
    }
    return isEmpty.push(canBeEmpty) - 1
  }
  const empty = node(nodeKinds.empty, 0, 0, true)

  return {
    empty,
    point: (ranges: readonly number[]) =>
      // A mark counts as possibly empty, because what follows it may be what a rule begins with.
      ranges.length === 0
        ? never
        : node(nodeKinds.point, lists.add(ranges), ranges.length / 2, isMark(ranges[0] ?? 0)),
    literal(of: string) {
      const at = texts.get(of) ?? text.length
      if (!texts.has(of)) {
        texts.set(of, at)
        text += of
      }
      return node(nodeKinds.literal, at, of.length, false)
    },
    pair(first: number, second: number) {
      if (first === never || second === never) return never
      if (first === empty || second === empty) return first === empty ? second : first
      return node(nodeKinds.pair, first, second, isEmpty[first] === true && isEmpty[second] === true)
    },
    any(ways: readonly number[]) {
      const of = [...new Set(ways)].filter((way) => way !== never)
      if (of.length <= 1) return of[0] ?? never
      return node(
        nodeKinds.any,
        lists.add(of),
        of.length,
        of.some((way) => isEmpty[way]),
      )
    },
    repetition(of: number, min: number, max: number) {
      if (of === never || of === empty) return min === 0 ? empty : of
      return node(
        nodeKinds.repetition,
        of,
        lists.add([min, Number.isFinite(max) ? max : -1]),
        min === 0 || isEmpty[of] === true,
      )
    },
    /** The body is defined later. */
    rule(name: string, canBeEmpty: boolean) {
      const made = node(nodeKinds.rule, -1 - names.size, 0, canBeEmpty)
      names.set(made, name)
      return made
    },
    define(rule: number, body: number) {
      nodes.change(numbersOfNode * rule + 1, body)
    },
    packed(start: number): CompiledGrammar {
      const packed = { start, nodes: nodes.taken(), lists: lists.taken(), text }
      const ranks = rankRules(packed, isEmpty, (rule) => names.get(rule) ?? '')
      for (const [rule, rank] of ranks) {
        packed.nodes[numbersOfNode * rule + 2] = 2 * rank + (isEmpty[rule] === true ? 1 : 0)
      }
      const hash = createHash('sha256').update(`${start} ${nodes.length} ${lists.length} `)
      const digest = hash.update(packed.nodes).update(packed.lists).update(text).digest('base64')
      return { digest, ...packed }
    },
  }
}
