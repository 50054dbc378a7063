/**
 * Reads GBNF as llama.cpp reads it and follows texts through it. It is independent: nothing is shared with the code that
 * writes the grammars. It throws for what the engine refuses, and for what the engine misreads silently (an upper bound
 * above 2,000).
 */
export interface GbnfMatcher {
  accepts(text: string): boolean
  /** Whether an accepted text begins with this one. */
  begins(text: string): boolean
  /** The most positions that were followed at once so far. */
  readonly widest: number
  /**
   * A text of the grammar, of about this many characters, or more if needed. The generator returns numbers from 0 to
   * below 1.
   */
  sample(random: () => number, size?: number): string
}

type Node =
  | { kind: 'point'; ranges: readonly (readonly [number, number])[]; negated: boolean }
  | { kind: 'all'; of: readonly Node[] }
  | { kind: 'any'; of: readonly Node[] }
  | { kind: 'times'; of: Node; min: number; max: number }
  | { kind: 'name'; name: string }

const mostTimes = 2000

export function createGbnfMatcher(source: string): GbnfMatcher {
  const rules = readGbnf(source)
  checkLeftRecursion(rules)
  const follow = createFollowing(rules)
  const sizes = smallestSizes(rules)
  return {
    accepts: (text) => follow.through(text).over,
    begins: (text) => follow.through(text).alive,
    get widest() {
      return follow.widest()
    },
    sample(random, size = 60) {
      let left = size
      const write = (node: Node): string => {
        switch (node.kind) {
          case 'point':
            left--
            return String.fromCodePoint(pointOf(node, random))
          case 'all':
            return node.of.map(write).join('')
          case 'name':
            return write(ruleOf(rules, node.name))
          case 'any': {
            const finite = node.of.filter((one) => sizes.of(one) < Infinity)
            const chosen =
              left > 0
                ? finite[Math.floor(random() * finite.length)]
                : finite.toSorted((a, b) => sizes.of(a) - sizes.of(b))[0]
            if (chosen === undefined) throw new Error('no way to go on is finite')
            return write(chosen)
          }
          case 'times': {
            const most = sizes.of(node.of) < Infinity ? Math.min(node.max, node.min + 4) : node.min
            let times = left > 0 ? node.min + Math.floor(random() * (most - node.min + 1)) : node.min
            if (left > 0 && node.max < Infinity && random() < 0.05) times = Math.min(node.max, node.min + 300)
            return Array.from({ length: times }, () => write(node.of)).join('')
          }
        }
      }
      return write(ruleOf(rules, 'root'))
    },
  }
}

function ruleOf(rules: ReadonlyMap<string, Node>, name: string): Node {
  const rule = rules.get(name)
  if (rule === undefined) throw new Error(`there is no rule ${name}`)
  return rule
}

function readGbnf(source: string): Map<string, Node> {
  const rules = new Map<string, Node>()
  const named = new Set<string>()
  let at = 0

  const fail = (why: string): never => {
    throw new Error(`${why} at ${at}: ${source.slice(at, at + 40)}`)
  }
  const space = (lines: boolean) => {
    for (;;) {
      const character = source[at]
      if (character === '#') while (at < source.length && source[at] !== '\n' && source[at] !== '\r') at++
      else if (character === ' ' || character === '\t') at++
      else if (lines && (character === '\n' || character === '\r')) at++
      else return
    }
  }
  const name = (): string => {
    const start = at
    while (/[A-Za-z0-9-]/.test(source[at] ?? '')) at++
    return start === at ? fail('a name is expected') : source.slice(start, at)
  }
  const hexadecimal = (digits: number): number => {
    const text = source.slice(at, at + digits)
    if (text.length !== digits || /[^0-9A-Fa-f]/.test(text)) fail('hexadecimal digits are expected')
    at += digits
    return Number.parseInt(text, 16)
  }
  const point = (): number => {
    const code = source.codePointAt(at) ?? fail('the end is not expected')
    at += code > 0xffff ? 2 : 1
    if (code !== 0x5c) return code
    const letter = source[at++]
    if (letter === 'x') return hexadecimal(2)
    if (letter === 'u') return hexadecimal(4)
    if (letter === 'U') return hexadecimal(8)
    if (letter === 't') return 9
    if (letter === 'n') return 10
    if (letter === 'r') return 13
    if (letter === '\\' || letter === '"' || letter === '[' || letter === ']') return letter.charCodeAt(0)
    return fail('there is no such escape')
  }
  const number = (): number => {
    const start = at
    while (/[0-9]/.test(source[at] ?? '')) at++
    return start === at ? fail('a number is expected') : Number(source.slice(start, at))
  }
  // How many rules the engine makes of it, which limits how often it may be repeated.
  let made = 0

  const ways = (nested: boolean): Node => {
    const of = [parts(nested)]
    while (source[at] === '|') {
      at++
      space(true)
      of.push(parts(nested))
    }
    return { kind: 'any', of }
  }
  const parts = (nested: boolean): Node => {
    const of: Node[] = []
    let weight = 1
    const repeat = (min: number, max: number) => {
      const last = of.pop() ?? fail('there is nothing to repeat')
      if (last.kind === 'all' && last.of.length === 0) fail('the empty text is repeated')
      if (min > mostTimes) fail('the engine refuses a lower bound above 2,000')
      if (max !== Infinity && max > mostTimes) fail('the engine forgets an upper bound above 2,000')
      const times = max !== Infinity && max > 0 ? max : Math.max(1, min)
      if (weight * times > mostTimes) fail('the engine refuses to repeat so much so often')
      made += max === Infinity ? 1 : max - min
      weight *= times
      of.push({ kind: 'times', of: last, min, max })
    }
    for (;;) {
      const character = source[at]
      if (character === '"') {
        at++
        const points: Node[] = []
        while (source[at] !== '"') {
          const one = point()
          points.push({ kind: 'point', ranges: [[one, one]], negated: false })
        }
        at++
        weight = 1
        of.push({ kind: 'all', of: points })
      } else if (character === '[') {
        at++
        const negated = source[at] === '^'
        if (negated) at++
        const ranges: [number, number][] = []
        while (source[at] !== ']') {
          const first = point()
          let last = first
          if (source[at] === '-' && source[at + 1] !== ']') {
            at++
            last = point()
          }
          if (last < first) fail('a range is the wrong way round')
          ranges.push([first, last])
        }
        if (ranges.length === 0) fail('a class is empty')
        at++
        weight = 1
        of.push({ kind: 'point', ranges, negated })
      } else if (character === '.') {
        at++
        weight = 1
        of.push({ kind: 'point', ranges: [], negated: true })
      } else if (character === '(') {
        at++
        space(true)
        const before = made
        made++
        of.push(ways(true))
        if (source[at] !== ')') fail('a closing parenthesis is expected')
        at++
        weight = Math.max(1, made - before)
      } else if (/[A-Za-z0-9-]/.test(character ?? '')) {
        const found = name()
        if (!named.has(found)) made++
        named.add(found)
        weight = 1
        of.push({ kind: 'name', name: found })
      } else if (character === '*' || character === '+' || character === '?') {
        at++
        repeat(character === '+' ? 1 : 0, character === '?' ? 1 : Infinity)
      } else if (character === '{') {
        at++
        space(nested)
        const min = number()
        space(nested)
        let max = min
        if (source[at] === ',') {
          at++
          space(nested)
          max = source[at] === '}' ? Infinity : number()
          space(nested)
        }
        if (source[at] !== '}') fail('a closing brace is expected')
        at++
        repeat(min, max)
      } else {
        return { kind: 'all', of }
      }
      space(nested)
    }
  }

  space(true)
  while (at < source.length) {
    const rule = name()
    named.add(rule)
    space(false)
    if (!source.startsWith('::=', at)) fail('::= is expected')
    at += 3
    space(true)
    if (rules.has(rule)) fail(`the rule ${rule} is there twice`)
    rules.set(rule, ways(false))
    if (at < source.length && source[at] !== '\n' && source[at] !== '\r')
      fail('the end of the line is expected')
    space(true)
  }
  for (const one of named) ruleOf(rules, one)
  ruleOf(rules, 'root')
  return rules
}

/** Includes what the engine treats as left recursion: a repetition of something that may be empty. */
function checkLeftRecursion(rules: ReadonlyMap<string, Node>): void {
  const nullable = new Set<string>()
  const mayBeEmpty = (node: Node): boolean => {
    switch (node.kind) {
      case 'point':
        return false
      case 'all':
        return node.of.every(mayBeEmpty)
      case 'any':
        return node.of.some(mayBeEmpty)
      case 'times':
        return node.min === 0 || mayBeEmpty(node.of)
      case 'name':
        return nullable.has(node.name)
    }
  }
  for (let before = -1; before !== nullable.size; ) {
    before = nullable.size
    for (const [name, node] of rules) if (mayBeEmpty(node)) nullable.add(name)
  }
  const first = (node: Node): string[] => {
    switch (node.kind) {
      case 'point':
        return []
      case 'all': {
        const names: string[] = []
        for (const part of node.of) {
          names.push(...first(part))
          if (!mayBeEmpty(part)) break
        }
        return names
      }
      case 'any':
        return node.of.flatMap(first)
      case 'times':
        if (node.max > 1 && mayBeEmpty(node.of)) throw new Error('what may be empty is repeated')
        return first(node.of)
      case 'name':
        return [node.name]
    }
  }
  const leads = new Map(Array.from(rules, ([name, node]) => [name, new Set(first(node))]))
  for (const start of rules.keys()) {
    const reached = new Set(leads.get(start))
    for (const name of reached) for (const next of leads.get(name) ?? []) reached.add(next)
    if (reached.has(start)) throw new Error(`the rule ${start} begins with itself`)
  }
}

/** What is still to be read, as a shared list: equal rests are the same object. */
interface Rest {
  readonly node: Node
  readonly next: Rest | undefined
}

function createFollowing(rules: ReadonlyMap<string, Node>) {
  const numbers = new Map<Node | Rest, number>()
  const rests = new Map<string, Rest>()
  const counted = new Map<string, Node>()
  let widest = 0
  const numberOf = (thing: Node | Rest | undefined): number => {
    if (thing === undefined) return -1
    const known = numbers.get(thing)
    if (known !== undefined) return known
    numbers.set(thing, numbers.size)
    return numbers.size - 1
  }
  const before = (node: Node, next: Rest | undefined): Rest => {
    const key = `${numberOf(node)},${numberOf(next)}`
    const known = rests.get(key)
    if (known !== undefined) return known
    const rest = { node, next }
    rests.set(key, rest)
    return rest
  }
  const fewer = (node: Extract<Node, { kind: 'times' }>): Node | undefined => {
    const min = Math.max(0, node.min - 1)
    const max = node.max - 1
    if (max === 0) return undefined
    if (min === node.min && max === node.max) return node
    const key = `${numberOf(node.of)},${min},${max}`
    const known = counted.get(key)
    if (known !== undefined) return known
    const made: Node = { kind: 'times', of: node.of, min, max }
    counted.set(key, made)
    return made
  }
  /** Every rest that begins with a character, or has ended. */
  const opened = (from: Iterable<Rest | undefined>): Set<Rest | undefined> => {
    const found = new Set<Rest | undefined>()
    const seen = new Set<Rest | undefined>()
    const pending = [...from]
    for (let index = 0; index < pending.length; index++) {
      const rest = pending[index]
      if (seen.has(rest)) continue
      seen.add(rest)
      if (seen.size > 1_000_000) throw new Error('too many ways to follow')
      if (rest === undefined || rest.node.kind === 'point') {
        found.add(rest)
        continue
      }
      const { node, next } = rest
      if (node.kind === 'name') pending.push(before(ruleOf(rules, node.name), next))
      else if (node.kind === 'any') pending.push(...node.of.map((one) => before(one, next)))
      else if (node.kind === 'all') pending.push(node.of.reduceRight((tail, one) => before(one, tail), next))
      else {
        const less = fewer(node)
        if (node.max > 0) pending.push(before(node.of, less === undefined ? next : before(less, next)))
        if (node.min === 0) pending.push(next)
      }
    }
    widest = Math.max(widest, found.size)
    return found
  }
  let begin: Set<Rest | undefined> | undefined
  return {
    widest: () => widest,
    through(text: string): { over: boolean; alive: boolean } {
      begin ??= opened([before(ruleOf(rules, 'root'), undefined)])
      let open = begin
      for (const character of text) {
        const code = character.codePointAt(0) ?? 0
        const read: (Rest | undefined)[] = []
        for (const rest of open) {
          if (rest?.node.kind === 'point' && holds(rest.node, code)) read.push(rest.next)
        }
        if (read.length === 0) return { over: false, alive: false }
        open = opened(read)
      }
      return { over: open.has(undefined), alive: true }
    },
  }
}

type Point = Extract<Node, { kind: 'point' }>

function holds({ ranges, negated }: Point, code: number): boolean {
  return ranges.some(([first, last]) => first <= code && code <= last) !== negated
}

/** Ends of ranges and plain letters more often than the rest. */
function pointOf(node: Point, random: () => number): number {
  for (let attempt = 0; node.negated && attempt < 1000; attempt++) {
    const code = random() < 0.8 ? 0x20 + Math.floor(random() * 0x5f) : 1 + Math.floor(random() * 0xd7fe)
    if (holds(node, code)) return code
  }
  const chosen = node.ranges[Math.floor(random() * node.ranges.length)]
  if (node.negated || chosen === undefined) throw new Error('no character of a negated class was found')
  const [first, last] = chosen
  const kind = random()
  if (kind < 0.15) return first
  if (kind < 0.3) return last
  const low = kind < 0.8 ? Math.max(first, 0x20) : first
  const high = kind < 0.8 ? Math.min(last, 0x7e) : last
  if (low > high) return first + Math.floor(random() * (last - first + 1))
  return low + Math.floor(random() * (high - low + 1))
}

/** The length of the shortest text. */
function smallestSizes(rules: ReadonlyMap<string, Node>) {
  const known = new Map<string, number>()
  const sizeOf = (node: Node): number => {
    switch (node.kind) {
      case 'point':
        return 1
      case 'all':
        return node.of.reduce((sum, part) => sum + sizeOf(part), 0)
      case 'any':
        return Math.min(...node.of.map(sizeOf))
      case 'times':
        return node.min === 0 ? 0 : node.min * sizeOf(node.of)
      case 'name':
        return known.get(node.name) ?? Infinity
    }
  }
  for (let changed = true; changed; ) {
    changed = false
    for (const [name, node] of [...rules].reverse()) {
      const size = sizeOf(node)
      if (size < (known.get(name) ?? Infinity)) {
        known.set(name, size)
        changed = true
      }
    }
  }
  const sizes = new Map<Node, number>()
  return {
    of(node: Node): number {
      let size = sizes.get(node)
      if (size === undefined) {
        size = sizeOf(node)
        sizes.set(node, size)
      }
      return size
    },
  }
}
