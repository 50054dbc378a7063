import {
  alternatives,
  charClass,
  type Expr,
  emptyText,
  isNever,
  never,
  repetition,
  rule,
  sequence,
} from './expressions.ts'
import { GrammarEmpty, GrammarTooLarge } from './grammar-flaws.ts'

/** Deeper pieces become rules of their own, so that neither we nor the engine's parser recurse deeply. */
const deepest = 12
const mostPieces = 200_000
/** Of the passes over all rules; only grammars made to be slow need more than a few. */
const mostVisits = 2_000_000

export interface Prepared {
  /** In the order in which they are reached, `root` first. */
  readonly rules: Map<string, Expr>
  /** The rules that can be the empty text. */
  readonly nullable: ReadonlySet<string>
  newName(owner: string): string
}

/**
 * The same language, without what the engine cannot bear: unreachable rules, alternatives that never come to an end,
 * deep nesting, and repetitions of what may be empty, which it takes for left recursion.
 */
export function prepareGrammar(given: ReadonlyMap<string, Expr>): Prepared {
  const names = new Set(given.keys())
  const newName = (owner: string): string => {
    const base = owner.replace(/-\d+$/, '')
    for (let number = names.size; ; number++) {
      const name = `${base}-${number}`
      if (names.has(name)) continue
      names.add(name)
      return name
    }
  }
  const shallow = reachableShallow(given, newName)
  const finite = withoutEndless(shallow)
  const nullable = fixpoint(finite, mayBeEmpty)
  const rules = withSafeRepetitions(finite, nullable, newName)
  return { rules, nullable: fixpoint(rules, mayBeEmpty), newName }
}

function reachableShallow(
  given: ReadonlyMap<string, Expr>,
  newName: (owner: string) => string,
): Map<string, Expr> {
  const rules = new Map<string, Expr>()
  const pending: { name: string; expr: Expr }[] = []
  const asked = new Set<string>()
  let pieces = 0

  const cut = (expr: Expr, depth: number, owner: string): Expr => {
    if (++pieces > mostPieces) throw new GrammarTooLarge('pieces', pieces, mostPieces)
    switch (expr.kind) {
      case 'literal':
        return sayable(expr.text) ? expr : never
      case 'class':
        return charClass(...expr.ranges.flatMap(sayableRanges))
      case 'rule':
        ask(expr.name)
        return expr
    }
    if (depth === deepest && size(expr) > 0) {
      const name = newName(owner)
      pending.push({ name, expr })
      return rule(name)
    }
    if (expr.kind === 'repetition') {
      // A repetition without end of the same is that repetition.
      const of = cut(expr.of, depth + 1, owner)
      return repetition(of, expr.min, expr.max)
    }
    const of = expr.of.map((part) => cut(part, depth + 1, owner))
    return expr.kind === 'sequence' ? sequence(...of) : alternatives(...of)
  }
  const ask = (name: string) => {
    if (asked.has(name)) return
    asked.add(name)
    const expr = given.get(name)
    if (expr === undefined) throw new Error(`the grammar has no rule ${name}`)
    pending.push({ name, expr })
  }

  ask('root')
  for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
    rules.set(next.name, cut(next.expr, 0, next.name))
  }
  return rules
}

function size(expr: Expr): number {
  return expr.kind === 'repetition'
    ? 1
    : expr.kind === 'sequence' || expr.kind === 'alternatives'
      ? expr.of.length
      : 0
}

/** The output is UTF-8, and the engine cannot say NUL. */
function sayable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

function sayableRanges([first, last]: readonly [number, number]): [number, number][] {
  const parts: [number, number][] = [
    [Math.max(first, 1), Math.min(last, 0xd7ff)],
    [Math.max(first, 0xe000), Math.min(last, 0x10ffff)],
  ]
  return parts.filter(([from, to]) => from <= to)
}

/** Rules that lead to no finite text, and what needs them, are left out. */
function withoutEndless(rules: ReadonlyMap<string, Expr>): Map<string, Expr> {
  const finite = fixpoint(rules, mayEnd)
  if (!finite.has('root')) throw new GrammarEmpty()
  const prune = (expr: Expr): Expr => {
    switch (expr.kind) {
      case 'literal':
      case 'class':
        return expr
      case 'rule':
        return finite.has(expr.name) ? expr : never
      case 'repetition':
        return repetition(prune(expr.of), expr.min, expr.max)
      case 'sequence':
        return sequence(...expr.of.map(prune))
      case 'alternatives':
        return alternatives(...expr.of.map(prune))
    }
  }
  return new Map([...rules].flatMap(([name, expr]) => (finite.has(name) ? [[name, prune(expr)]] : [])))
}

type Judge = (expr: Expr, known: ReadonlySet<string>) => boolean

/** The rules of which it is true, where being true of one may follow from being true of others. */
function fixpoint(rules: ReadonlyMap<string, Expr>, judge: Judge): Set<string> {
  const known = new Set<string>()
  let open = [...rules]
  for (let visits = 0, before = -1; before !== known.size; ) {
    before = known.size
    visits += open.length
    if (visits > mostVisits) throw new GrammarTooLarge('steps of a check', visits, mostVisits)
    // What is reached last is mostly needed first; where it is not, the other direction is the short one.
    open = open.reverse().filter(([name, expr]) => {
      if (!judge(expr, known)) return true
      known.add(name)
      return false
    })
  }
  return known
}

function mayEnd(expr: Expr, known: ReadonlySet<string>): boolean {
  switch (expr.kind) {
    case 'literal':
    case 'class':
      return true
    case 'rule':
      return known.has(expr.name)
    case 'repetition':
      return expr.min === 0 || mayEnd(expr.of, known)
    case 'sequence':
      return expr.of.every((part) => mayEnd(part, known))
    case 'alternatives':
      return expr.of.some((part) => mayEnd(part, known))
  }
}

export function mayBeEmpty(expr: Expr, known: ReadonlySet<string>): boolean {
  switch (expr.kind) {
    case 'literal':
    case 'class':
      return false
    case 'rule':
      return known.has(expr.name)
    case 'repetition':
      return expr.min === 0 || mayBeEmpty(expr.of, known)
    case 'sequence':
      return expr.of.every((part) => mayBeEmpty(part, known))
    case 'alternatives':
      return expr.of.some((part) => mayBeEmpty(part, known))
  }
}

function withSafeRepetitions(
  given: ReadonlyMap<string, Expr>,
  nullable: ReadonlySet<string>,
  newName: (owner: string) => string,
): Map<string, Expr> {
  const fullNames = new Map<string, string>()
  const pending: string[] = []
  let pieces = 0

  const safe = (expr: Expr): Expr => {
    if (++pieces > mostPieces) throw new GrammarTooLarge('pieces', pieces, mostPieces)
    switch (expr.kind) {
      case 'literal':
      case 'class':
      case 'rule':
        return expr
      case 'repetition':
        return mayBeEmpty(expr.of, nullable)
          ? repetition(full(expr.of), 0, expr.max)
          : repetition(safe(expr.of), expr.min, expr.max)
      case 'sequence':
        return sequence(...expr.of.map(safe))
      case 'alternatives':
        return alternatives(...expr.of.map(safe))
    }
  }

  /** The same without the empty text. */
  const full = (expr: Expr): Expr => {
    if (!mayBeEmpty(expr, nullable)) return safe(expr)
    switch (expr.kind) {
      case 'literal':
      case 'class':
        return expr
      case 'rule': {
        let name = fullNames.get(expr.name)
        if (name === undefined) {
          name = newName(expr.name)
          fullNames.set(expr.name, name)
          pending.push(expr.name)
        }
        return rule(name)
      }
      case 'repetition':
        return repetition(full(expr.of), 1, expr.max)
      case 'sequence':
        return alternatives(
          ...expr.of.map((part, at) => sequence(full(part), ...expr.of.slice(at + 1).map(safe))),
        )
      case 'alternatives':
        return alternatives(...expr.of.map(full))
    }
  }

  const rules = new Map([...given].map(([name, expr]) => [name, safe(expr)]))
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    rules.set(fullNames.get(name) ?? name, full(given.get(name) ?? emptyText))
  }
  // Nothing is left of a rule that is only ever the empty text.
  if ([...rules.values()].some(isNever)) return withoutEndless(rules)
  return rules
}
