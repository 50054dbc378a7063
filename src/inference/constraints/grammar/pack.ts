import { createHash } from 'node:crypto'
import { type CompiledGrammar, nodeKinds, numbersOfNode } from './compiled-grammar.ts'
import { ConstraintError, grammarTooLarge } from './errors.ts'
import type { Expr } from './expressions.ts'
import { rankRules } from './leftmost.ts'
import { isMark } from './marks.ts'
import { mayBeEmpty, mayBeMore, mayEnd, rulesThat } from './properties.ts'
import { reachableRules } from './reachable.ts'

const mostRules = 20_000
const mostBytes = 4 * 1024 * 1024

/** The number of what is no text at all, which has no node. */
const never = -1

/**
 * The grammar as a value: only rules that are reached, without ways that never come to an end, and with a repetition only
 * of what is not empty. So each way that is open while a text is followed can be finished, and none goes in circles.
 */
export function packGrammar(all: ReadonlyMap<string, Expr>): CompiledGrammar {
  const rules = reachableRules(all)
  const finite = rulesThat(mayEnd, rules)
  if (!finite.has('root')) throw new ConstraintError('impossible', 'no text of finite length fits it')
  const nullable = rulesThat(mayBeEmpty, rules)
  const longer = rulesThat((expr, known) => mayBeMore(expr, known, finite), rules)
  const table = createTable()
  const bodies: { expr: Expr; full: boolean; node: number }[] = []
  const known = new Map<string, number>()

  const ruleNode = (given: string, full: boolean): number => {
    // A rule that only names another one is that one. None leads back to itself: it would have no finite text.
    let name = given
    for (let expr = rules.get(name); expr?.kind === 'rule'; expr = rules.get(name)) name = expr.name
    const key = `${name} ${full}`
    const before = known.get(key)
    if (before !== undefined) return before
    if (bodies.length === mostRules) throw grammarTooLarge('rules', mostRules + 1, mostRules)
    const node = table.rule(name, nullable.has(name) && !full)
    bodies.push({ expr: rules.get(name) as Expr, full, node })
    known.set(key, node)
    return node
  }

  /** Of what is the same object in many places, such as a set of characters. */
  const written = [new Map<Expr, number>(), new Map<Expr, number>()] as const

  /** `full`: without the empty text. */
  const write = (expr: Expr, full: boolean): number => {
    const before = written[full ? 1 : 0].get(expr)
    if (before !== undefined) return before
    const node = fresh(expr, full)
    written[full ? 1 : 0].set(expr, node)
    return node
  }

  const fresh = (expr: Expr, full: boolean): number => {
    switch (expr.kind) {
      case 'literal':
        return table.literal(expr.text)
      case 'class':
        return table.point(expr.ranges.flat())
      case 'rule': {
        const isCut = full && nullable.has(expr.name)
        return (isCut ? longer : finite).has(expr.name) ? ruleNode(expr.name, isCut) : never
      }
      case 'sequence': {
        let rest = table.empty
        let fullRest = never
        for (const part of expr.of.toReversed()) {
          if (full) {
            const ways = [table.pair(write(part, true), rest)]
            fullRest = table.any(mayBeEmpty(part, nullable) ? [...ways, fullRest] : ways)
          }
          rest = table.pair(write(part, false), rest)
        }
        return full ? fullRest : rest
      }
      case 'alternatives':
        return table.any(expr.of.map((part) => write(part, full)))
      case 'repetition': {
        const skips = mayBeEmpty(expr.of, nullable)
        const least = skips ? 0 : expr.min
        return table.repetition(write(expr.of, skips), full ? Math.max(1, least) : least, expr.max)
      }
    }
  }

  const start = ruleNode('root', false)
  for (const { expr, full, node } of bodies) table.define(node, write(expr, full))
  return table.packed(start)
}

/** Equal nodes are one, so that what follows a text finds equal ways to be the same. */
function createTable() {
  const nodes: number[] = []
  const isEmpty: boolean[] = []
  const lists: number[] = []
  const names = new Map<number, string>()
  const byValues = new Map<string, number>()
  /** By their kind, and by both of their numbers as one. */
  const byKind = Array.from({ length: Object.keys(nodeKinds).length }, () => new Map<number, number>())
  const texts = new Map<string, number>()
  let text = ''

  const node = (kind: number, one: number, two: number, canBeEmpty: boolean): number => {
    const key = one * mostBytes + two
    const known = byKind[kind]
    const before = known?.get(key)
    if (before !== undefined) return before
    known?.set(key, isEmpty.length)
    nodes.push(kind, one, two)
    if (4 * (nodes.length + lists.length) + 2 * text.length > mostBytes) {
      throw grammarTooLarge('bytes', mostBytes + 1, mostBytes)
    }
    return isEmpty.push(canBeEmpty) - 1
  }
  const list = (values: readonly number[]): number => {
    const key = values.join()
    const before = byValues.get(key)
    if (before !== undefined) return before
    byValues.set(key, lists.length)
    for (const value of values) lists.push(value)
    return lists.length - values.length
  }
  const empty = node(nodeKinds.empty, 0, 0, true)

  return {
    empty,
    point: (ranges: readonly number[]) =>
      // What follows a mark may be what a rule begins with.
      ranges.length === 0
        ? never
        : node(nodeKinds.point, list(ranges), ranges.length / 2, isMark(ranges[0] ?? 0)),
    literal(of: string) {
      const at = texts.get(of) ?? text.length
      if (!texts.has(of)) {
        texts.set(of, at)
        text += of
      }
      return node(nodeKinds.literal, at, of.length, false)
    },
    pair(one: number, two: number) {
      if (one === never || two === never) return never
      if (one === empty || two === empty) return one === empty ? two : one
      return node(nodeKinds.pair, one, two, isEmpty[one] === true && isEmpty[two] === true)
    },
    any(ways: readonly number[]) {
      const of = [...new Set(ways)].filter((one) => one !== never)
      if (of.length <= 1) return of[0] ?? never
      return node(
        nodeKinds.any,
        list(of),
        of.length,
        of.some((one) => isEmpty[one]),
      )
    },
    repetition(of: number, min: number, max: number) {
      if (of === never || of === empty) return min === 0 ? empty : of
      return node(
        nodeKinds.repetition,
        of,
        list([min, Number.isFinite(max) ? max : -1]),
        min === 0 || isEmpty[of] === true,
      )
    },
    /** Its body is defined later. */
    rule(name: string, canBeEmpty: boolean) {
      const made = node(nodeKinds.rule, -1 - names.size, 0, canBeEmpty)
      names.set(made, name)
      return made
    },
    define(rule: number, body: number) {
      nodes[numbersOfNode * rule + 1] = body
    },
    packed(start: number): CompiledGrammar {
      const packed = { start, nodes: Int32Array.from(nodes), lists: Int32Array.from(lists), text }
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
