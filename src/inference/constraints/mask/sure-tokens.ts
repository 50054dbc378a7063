import { LRUCache } from 'lru-cache'
import type { Vocabulary } from '../../vocabulary.ts'
import type { Following, Position } from '../grammar/following.ts'
import { isSymbol } from '../grammar/symbols.ts'
import type { BytePosition } from './byte-following.ts'

interface SureTokensParts {
  vocabulary: Vocabulary
  following: Pick<Following, 'after' | 'onlyPoint'>
  /** Cuts a text as the tokenizer does. */
  spell(text: string): readonly number[]
  /** The tokens that are allowed, where they are no more than that. */
  few(at: BytePosition, most: number): readonly number[] | undefined
  after(at: BytePosition, token: number): BytePosition | undefined
}

/** Characters of an only text that are cut at once; a longer one goes on from there. */
const longestText = 256
/** Where a text goes on, its last bytes may be cut otherwise. */
const uncertainBytes = 64
const longestRun = 64
/** Ways to begin one text; no vocabulary has as many words that begin each other. */
const mostWays = 48
/** Of the positions of one grammar. */
const mostRuns = 512
const none: readonly number[] = []

/**
 * The tokens that come next from a position, whatever the model says: of the only text that a grammar leaves, as the tokenizer
 * cuts it, up to where a token could reach beyond it, and of control tokens that have no alternative.
 */
export function createSureTokens({ vocabulary, following, spell, few, after }: SureTokensParts) {
  const runs = new LRUCache<Position, readonly number[]>({ max: mostRuns, memoMethod: runFrom })

  function runFrom(start: Position): readonly number[] {
    const run: number[] = []
    let at: BytePosition = { position: start, begun: undefined }
    while (run.length < longestRun && at.begun === undefined) {
      const before = run.length
      const text = onlyText(at.position)
      for (const token of text === '' ? onlyToken(at) : cut(text, at)) {
        const next = after(at, token)
        if (next === undefined) break
        run.push(token)
        at = next
      }
      if (run.length === before || text.length >= longestText) break
    }
    return run.length === 0 ? none : run
  }

  function onlyText(from: Position): string {
    let text = ''
    for (let at: Position | undefined = from; at !== undefined && !at.isComplete; ) {
      const point = following.onlyPoint(at)
      if (point === undefined || isSymbol(point) || text.length >= longestText) break
      text += String.fromCodePoint(point)
      at = following.after(at, point)
    }
    return text
  }

  /** A control token: of other texts there is a character at least. */
  function onlyToken(at: BytePosition): readonly number[] {
    const only = at.position.isComplete ? undefined : few(at, 1)
    return only ?? none
  }

  function* cut(text: string, from: BytePosition): Generator<number> {
    const bytes = Buffer.from(text)
    const end = text.length < longestText ? bytes.length : bytes.length - uncertainBytes
    let at: BytePosition | undefined = from
    let done = 0
    for (const token of spell(text)) {
      const own = vocabulary.bytes(token)
      const to = done + own.length
      // Some tokenizers put a space in front of each text.
      if (at === undefined || own.length === 0 || !bytes.subarray(done, to).equals(own)) return
      const ways = few(at, mostWays)
      const left = bytes.length - done
      if (to > end || ways === undefined || ways.some((way) => vocabulary.bytes(way).length > left)) return
      yield token
      at = after(at, token)
      done = to
    }
  }

  return (position: Position): readonly number[] => runs.memo(position)
}
