import {
  type CompiledGrammar,
  type Grammar,
  nodeKinds,
  numbersOfNode,
  packGrammar,
} from '../../packages/constraints/index.ts'

/**
 * llama.cpp writes counted repetitions out, so a count is at most this large. Above 2,000 it refuses a lower bound and
 * ignores an upper one, so larger counts consist of blocks.
 */
const block = 256
/** More ranges become a rule of their own, written once. */
const fewRanges = 6
/** Its parser recurses, so deeper nesting becomes a rule of its own. */
const deepest = 6

/** The compiled form of the rules, in GBNF. */
export function writeGbnf({ rules }: Grammar): string {
  return gbnfOf(packGrammar(rules))
}

/** A compiled grammar in llama.cpp's GBNF, to compare with other engines. */
export function gbnfOf({ start, nodes, lists, text }: CompiledGrammar): string {
  const lines: string[] = []
  const shared = new Map<string, string>()
  const pending: { name: string; node: number }[] = []
  const asked = new Set<number>()
  let made = 0

  const parts = (node: number): [kind: number, one: number, two: number] => {
    const [kind = 0, one = 0, two = 0] = nodes.subarray(numbersOfNode * node, numbersOfNode * (node + 1))
    return [kind, one, two]
  }
  const put = (name: string, body: string) => lines.push(`${name} ::= ${body}\n`)
  const share = (body: string): string => {
    const known = shared.get(body)
    if (known !== undefined) return known
    const name = `s${made++}`
    shared.set(body, name)
    put(name, body)
    return name
  }
  const named = (node: number): string => {
    const name = node === start ? 'root' : `r${node}`
    if (!asked.has(node)) {
      asked.add(node)
      const [kind, body] = parts(node)
      pending.push({ name, node: kind === nodeKinds.rule ? body : node })
    }
    return name
  }

  const whole = (node: number, depth: number): string => {
    const [kind, one, two] = parts(node)
    if (kind !== nodeKinds.any) return inSequence(node, depth)
    return Array.from(lists.subarray(one, one + two), (way) => inSequence(way, depth)).join(' | ')
  }
  const inSequence = (node: number, depth: number): string => {
    const all: string[] = []
    let rest = node
    for (let [kind, one, two] = parts(rest); kind === nodeKinds.pair; [kind, one, two] = parts(rest)) {
      all.push(single(one, depth))
      rest = two
    }
    return [...all, single(rest, depth)].join(' ')
  }
  const single = (node: number, depth: number): string => {
    const [kind, one, two] = parts(node)
    switch (kind) {
      case nodeKinds.empty:
        return '""'
      case nodeKinds.literal:
        return writeLiteral(text.slice(one, one + two))
      case nodeKinds.point: {
        const ranges = Array.from(lists.subarray(one, one + 2 * two))
        if (two === 1 && ranges[0] === ranges[1]) return writeLiteral(String.fromCodePoint(ranges[0] ?? 0))
        return two > fewRanges ? share(writeClass(ranges)) : writeClass(ranges)
      }
      case nodeKinds.rule:
        return named(node)
      case nodeKinds.repetition: {
        const [min = 0, max = -1] = lists.subarray(two, two + 2)
        return repeated(one, min, max, depth)
      }
      default:
        return depth >= deepest ? named(node) : `(${whole(node, depth + 1)})`
    }
  }
  const repeated = (of: number, min: number, max: number, depth: number): string => {
    const [kind] = parts(of)
    const isSimple = kind === nodeKinds.literal || kind === nodeKinds.point || kind === nodeKinds.rule
    // The count of a group is limited by its contents; the count of a rule is not.
    const symbol = isSimple ? single(of, depth) : named(of)
    if (max < 0) {
      if (min <= 1) return `${symbol}${min === 0 ? '*' : '+'}`
      return `${exactly(symbol, min)} ${symbol}*`
    }
    return [exactly(symbol, min), atMost(symbol, max - min)].filter((part) => part !== '').join(' ')
  }
  const exactly = (symbol: string, count: number): string => {
    if (count <= 1) return count === 0 ? '' : symbol
    if (count <= block) return `${symbol}{${count}}`
    const rest = exactly(symbol, count % block)
    const many = exactly(share(exactly(symbol, block)), Math.floor(count / block))
    return `${many}${rest === '' ? '' : ` ${rest}`}`
  }
  const atMost = (symbol: string, count: number): string => {
    if (count <= 1) return count === 0 ? '' : `${symbol}?`
    if (count < block) return `${symbol}{0,${count}}`
    const many = share(exactly(symbol, block))
    const blocks = Math.floor(count / block)
    const fewer = `${atMost(many, blocks - 1)} ${atMost(symbol, block - 1)}`
    const all = `${exactly(many, blocks)} ${atMost(symbol, count % block)}`
    return share(`${fewer.trim()} | ${all.trim()}`)
  }

  named(start)
  for (const { name, node } of pending) put(name, whole(node, 0))
  return lines.join('')
}

function writeLiteral(text: string): string {
  return `"${Array.from(text, (character) => writePoint(character.codePointAt(0) ?? 0, '"\\')).join('')}"`
}

function writeClass(ranges: readonly number[]): string {
  const point = (one = 0) => writePoint(one, '[]^-\\')
  const pairs = Array.from({ length: ranges.length / 2 }, (_, at) => [ranges[2 * at], ranges[2 * at + 1]])
  return `[${pairs.map(([first, last]) => (first === last ? point(first) : `${point(first)}-${point(last)}`)).join('')}]`
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
