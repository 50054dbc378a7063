import { type Expr, type Grammar, isEmptyText, isNever, type Range } from './expressions.ts'
import { GrammarTooLarge } from './grammar-flaws.ts'
import { checkLeftmost } from './leftmost.ts'
import { prepareGrammar } from './prepared-grammar.ts'

/**
 * The engine writes counted repetitions out: up to this many at once. Above 2,000 it refuses a lower bound and forgets an
 * upper one, so larger counts are made of blocks.
 */
const block = 256
/** More ranges are a rule of their own, written once. */
const fewRanges = 6
const mostRules = 20_000
const mostBytes = 1024 * 1024
/** What the engine's parser makes of it, in its own elements. */
const mostElements = 1_000_000

/** The grammar in llama.cpp's GBNF: the engine takes it, and reads in it exactly what the value says. */
export function writeGbnf(grammar: Grammar): string {
  const { rules, nullable, newName } = prepareGrammar(grammar.rules)
  checkLeftmost(rules, nullable)
  const writing = createWriting(newName)
  for (const [name, expr] of rules) writing.add(name, expr)
  return writing.text()
}

function createWriting(newName: (owner: string) => string) {
  const lines: string[] = []
  const shared = new Map<string, string>()
  let bytes = 0
  let elements = 0

  const put = (name: string, body: string) => {
    const line = `${name} ::= ${body}\n`
    lines.push(line)
    bytes += line.length
    if (bytes > mostBytes) throw new GrammarTooLarge('bytes', bytes, mostBytes)
    if (lines.length > mostRules) throw new GrammarTooLarge('rules', lines.length, mostRules)
  }
  const spend = (count: number) => {
    elements += count
    if (elements > mostElements) throw new GrammarTooLarge('elements', elements, mostElements)
  }
  const share = (owner: string, body: string): string => {
    const known = shared.get(body)
    if (known !== undefined) return known
    const name = newName(owner)
    shared.set(body, name)
    put(name, body)
    return name
  }

  const whole = (expr: Expr, owner: string): string =>
    expr.kind === 'alternatives' && !isNever(expr)
      ? expr.of.map((part) => inSequence(part, owner)).join(' | ')
      : inSequence(expr, owner)

  const inSequence = (expr: Expr, owner: string): string => {
    if (expr.kind !== 'sequence') return one(expr, owner)
    return isEmptyText(expr) ? '""' : expr.of.map((part) => one(part, owner)).join(' ')
  }

  const one = (expr: Expr, owner: string): string => {
    switch (expr.kind) {
      case 'literal':
        spend(expr.text.length)
        return writeLiteral(expr.text)
      case 'class': {
        spend(2 * expr.ranges.length)
        const [only] = expr.ranges
        if (expr.ranges.length === 1 && only?.[0] === only?.[1]) return writeLiteral(pointText(only))
        const text = writeClass(expr.ranges)
        return expr.ranges.length > fewRanges ? share('characters', text) : text
      }
      case 'rule':
        spend(1)
        return expr.name
      case 'sequence':
      case 'alternatives':
        if (isNever(expr)) throw new Error('an expression that never ends was left in the grammar')
        spend(3)
        return isEmptyText(expr) ? '""' : `(${whole(expr, owner)})`
      case 'repetition':
        return repeated(expr, owner)
    }
  }

  const repeated = ({ of, min, max }: Extract<Expr, { kind: 'repetition' }>, owner: string): string => {
    const simple = of.kind === 'literal' || of.kind === 'class' || of.kind === 'rule'
    // A count of groups is limited by what is in them; a count of rules is not.
    const symbol = simple ? one(of, owner) : share(owner, whole(of, owner))
    const weight = of.kind === 'literal' ? of.text.length : 2
    spend(weight)
    if (max === undefined) {
      if (min <= 1) return `${symbol}${min === 0 ? '*' : '+'}`
      return `${exactly(symbol, min, owner, weight)} ${symbol}*`
    }
    const parts = [exactly(symbol, min, owner, weight), atMost(symbol, max - min, owner, weight)]
    return parts.filter((part) => part !== '').join(' ')
  }

  const exactly = (symbol: string, count: number, owner: string, weight: number): string => {
    if (count <= 1) return count === 0 ? '' : symbol
    if (count <= block) {
      spend(count * weight)
      return `${symbol}{${count}}`
    }
    const many = share(owner, exactly(symbol, block, owner, weight))
    const rest = exactly(symbol, count % block, owner, weight)
    return `${exactly(many, Math.floor(count / block), owner, 1)}${rest === '' ? '' : ` ${rest}`}`
  }

  const atMost = (symbol: string, count: number, owner: string, weight: number): string => {
    if (count <= 1) return count === 0 ? '' : `${symbol}?`
    if (count < block) {
      spend(count * (weight + 3))
      return `${symbol}{0,${count}}`
    }
    const many = share(owner, exactly(symbol, block, owner, weight))
    const blocks = Math.floor(count / block)
    const fewer = `${atMost(many, blocks - 1, owner, 1)} ${atMost(symbol, block - 1, owner, weight)}`
    const all = `${exactly(many, blocks, owner, 1)} ${atMost(symbol, count % block, owner, weight)}`
    return share(owner, `${fewer.trim()} | ${all.trim()}`)
  }

  return {
    add: (name: string, expr: Expr) => put(name, whole(expr, name)),
    text: () => lines.join(''),
  }
}

function writeLiteral(text: string): string {
  return `"${Array.from(text, (character) => writePoint(character.codePointAt(0) ?? 0, '"\\')).join('')}"`
}

function pointText(range: Range | undefined): string {
  return String.fromCodePoint(range?.[0] ?? 0)
}

function writeClass(ranges: readonly Range[]): string {
  const point = (one: number) => writePoint(one, '[]^-\\')
  return `[${ranges.map(([first, last]) => (first === last ? point(first) : `${point(first)}-${point(last)}`)).join('')}]`
}

function writePoint(point: number, special: string): string {
  const character = String.fromCodePoint(point)
  if (point >= 0x20 && point < 0x7f && !special.includes(character)) return character
  if (point < 0x80) return `\\x${hex(point, 2)}`
  return point <= 0xffff ? `\\u${hex(point, 4)}` : `\\U${hex(point, 8)}`
}

function hex(point: number, digits: number): string {
  return point.toString(16).toUpperCase().padStart(digits, '0')
}
