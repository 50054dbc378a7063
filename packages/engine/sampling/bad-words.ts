import {
  createMasks,
  type Masks,
  orderTokens,
  type TokenMask,
  type TokenOrder,
  type TokenRule,
  type Vocabulary,
} from '../../constraints/index.ts'

export type BadWords = NonNullable<ReturnType<typeof createBadWords>>

interface ShownText {
  skipSpecial: boolean
  spaceSpecial: boolean
  /** A token that ends the answer and adds no text. */
  isSilent(token: number): boolean
}

/** Most answers reach only a few states of their words. */
const maxMasks = 64

/**
 * Texts that an answer never contains, whatever tokens spell them, even inside a longer word. The end of an answer is
 * summarized by a state, which begins at 0. Undefined when nothing is banned. Words are matched without the spaces
 * before them, and as UTF-8: a token may be half a character.
 */
export function createBadWords(words: readonly string[], vocabulary: Vocabulary, shown: ShownText) {
  if (words.length === 0) return undefined
  const texts = words.map((word) => word.trimStart() || word)
  const automaton = createAutomaton(texts.map((text) => Buffer.from(text)))
  const masks = new Map<number, TokenMask>()
  let fromStart: Uint8Array | undefined

  /**
   * The state after one more token; undefined when that would complete a banned text. A state is a node of the
   * automaton, and whether the last token was special and shown.
   */
  function after(state: number, token: number): number | undefined {
    const isSpecial = vocabulary.isSpecial(token)
    if ((isSpecial && shown.skipSpecial) || shown.isSilent(token)) return state
    let node = state >>> 1
    if (isSpecial && state & 1 && shown.spaceSpecial) node = automaton.step(node, 0x20)
    if (automaton.isBanned(node)) return undefined
    for (const byte of vocabulary.bytes(token)) {
      node = automaton.step(node, byte)
      if (automaton.isBanned(node)) return undefined
    }
    return 2 * node + (isSpecial ? 1 : 0)
  }

  /** The state after one more character of the text. */
  function afterPoint(state: number, point: number): number | undefined {
    let node = state >>> 1
    for (const byte of Buffer.from(String.fromCodePoint(point))) node = automaton.step(node, byte)
    return automaton.isBanned(node) ? undefined : 2 * node
  }

  /** The tokens that are possible at the beginning of an answer: all but those that contain a banned text by themselves. */
  function possibleFromStart(): Uint8Array {
    fromStart ??= Uint8Array.from({ length: vocabulary.size }, (_, token) =>
      after(0, token) === undefined ? 0 : 1,
    )
    return fromStart
  }

  /**
   * In other states, tokens that begin with the rest of a banned text are excluded, too. They are found in the sorted
   * tokens instead of testing each one.
   */
  function made(state: number): TokenMask {
    const order = orderTokens(vocabulary)
    const possible = possibleFromStart().slice()
    for (let node = state >>> 1; node !== 0; node = automaton.shorter(node)) {
      automaton.eachCompletion(node, order, (token) => {
        if (!shown.isSilent(token)) possible[token] = 0
      })
    }
    for (const token of order.others) possible[token] = after(state, token) === undefined ? 0 : 1
    return masksOf(vocabulary).of((put) => {
      for (let token = 0; token < possible.length; token++) if (possible[token] === 1) put(token)
    })
  }

  function maskOf(state: number): TokenMask {
    const mask = masks.get(state) ?? made(state)
    if (masks.size === maxMasks) masks.clear()
    masks.set(state, mask)
    return mask
  }

  return {
    after,
    afterPoint,
    /** The characters of the texts. */
    points: Array.from(new Set(texts.join('')), (character) => character.codePointAt(0) ?? 0),
    /** The tokens that may follow in the current state, out of those that another rule allows. */
    rule(state: () => number, other: TokenRule | undefined): TokenRule {
      const allows = (token: number) => after(state(), token) !== undefined
      if (other === undefined) return { allows, few: () => undefined, mask: () => maskOf(state()) }
      return {
        allows: (token) => other.allows(token) && allows(token),
        few(most) {
          const few = other.few(most)
          return few === undefined || few.every(allows) ? few : few.filter(allows)
        },
        mask() {
          const [base, own] = [other.mask(), maskOf(state())]
          return masksOf(vocabulary).of((_, bits) => {
            for (let at = 0; at < bits.length; at++)
              bits[at] = (base.bits[at] as number) & (own.bits[at] as number)
          })
        },
      }
    },
  }
}

const masksOfVocabulary = new WeakMap<Vocabulary, Masks>()

function masksOf(vocabulary: Vocabulary): Masks {
  const masks = masksOfVocabulary.get(vocabulary) ?? createMasks(vocabulary.size)
  masksOfVocabulary.set(vocabulary, masks)
  return masks
}

/** The automaton of Aho and Corasick: a node is the longest prefix of a word with which the text ends. */
function createAutomaton(words: readonly Uint8Array[]) {
  const most = words.reduce((sum, { length }) => sum + length, 1)
  const bytes = new Uint8Array(most)
  const firstChild = new Uint32Array(most)
  const nextSibling = new Uint32Array(most)
  const shorter = new Uint32Array(most)
  const banned = new Uint8Array(most)
  const first = new Uint32Array(256)
  let nodes = 1

  function childOf(node: number, byte: number): number {
    if (node === 0) return first[byte] as number
    let child = firstChild[node] as number
    while (child !== 0 && bytes[child] !== byte) child = nextSibling[child] as number
    return child
  }

  function step(node: number, byte: number): number {
    let from = node
    for (;;) {
      const child = childOf(from, byte)
      if (child !== 0 || from === 0) return child
      from = shorter[from] as number
    }
  }

  for (const word of words) {
    let node = 0
    for (const byte of word) {
      let child = childOf(node, byte)
      if (child === 0) {
        child = nodes++
        bytes[child] = byte
        nextSibling[child] = firstChild[node] as number
        firstChild[node] = child
        if (node === 0) first[byte] = child
      }
      node = child
    }
    banned[node] = 1
  }
  const inOrder = [0]
  for (const node of inOrder) {
    for (let child = firstChild[node] as number; child !== 0; child = nextSibling[child] as number) {
      shorter[child] = node === 0 ? 0 : step(shorter[node] as number, bytes[child] as number)
      if (banned[shorter[child] as number] === 1) banned[child] = 1
      inOrder.push(child)
    }
  }

  /** Each token that begins with a path from this node to a banned text. */
  function eachCompletion(node: number, order: TokenOrder, found: (token: number) => void): void {
    complete(node, 0, order.tokens.length, 0)

    function complete(at: number, from: number, to: number, depth: number): void {
      for (let child = firstChild[at] as number; child !== 0; child = nextSibling[child] as number) {
        const byte = bytes[child] as number
        const begin = beginOf(byte, from, to, depth)
        const end = beginOf(byte + 1, begin, to, depth)
        if (begin === end) continue
        if (banned[child] === 0) complete(child, begin, end, depth + 1)
        else for (let i = begin; i < end; i++) found(order.tokens[i] as number)
      }
    }

    /** The first of these tokens, which are equal up to this depth, whose byte at this depth is not smaller. */
    function beginOf(byte: number, from: number, to: number, depth: number): number {
      let [low, high] = [from, to]
      while (low < high) {
        const middle = (low + high) >>> 1
        const start = (order.starts[middle] as number) + depth
        const own = start < (order.starts[middle + 1] as number) ? (order.bytes[start] as number) : -1
        if (own < byte) low = middle + 1
        else high = middle
      }
      return low
    }
  }

  return {
    step,
    isBanned: (node: number) => banned[node] === 1,
    shorter: (node: number) => shorter[node] as number,
    eachCompletion,
  }
}
