import { LRUCache } from 'lru-cache'
import type { GrammarMatcher, Position } from '../grammar/matcher.ts'
import { isSymbol } from '../grammar/symbols.ts'
import type { Vocabulary } from '../vocabulary.ts'
import type { BytePosition } from './byte-positions.ts'

interface SureTokensParts {
  vocabulary: Vocabulary
  matcher: Pick<GrammarMatcher, 'after' | 'onlyPoint'>
  /** Splits a text as the tokenizer does. */
  spell(text: string): readonly number[]
  /** The tokens that are allowed, if there are at most `most`. */
  few(at: BytePosition, most: number): readonly number[] | undefined
  after(at: BytePosition, token: number): BytePosition | undefined
}

/** How many characters of the text are split at once; a longer one is continued later. */
const maxTextLength = 256
/** Where a text continues, its last bytes may be split differently. */
const uncertainBytes = 64
const maxRunLength = 64
/** Ways to begin one text; no vocabulary has this many words that begin with one another. */
const maxWays = 48
/** Of the positions of one grammar. */
const maxRuns = 512
const none: readonly number[] = []

/**
 * The tokens that come next from a position, whatever the model predicts. Where the grammar leaves one text alone, these
 * are its tokens as the tokenizer splits it, up to where a token could reach beyond the text. Control tokens without an
 * alternative are also sure.
 */
export function createSureTokens({ vocabulary, matcher, spell, few, after }: SureTokensParts) {
  const runs = new LRUCache<Position, readonly number[]>({ max: maxRuns, memoMethod: runFrom })

  function runFrom(start: Position): readonly number[] {
    const run: number[] = []
    let at: BytePosition = { position: start, begun: undefined }
    while (run.length < maxRunLength && at.begun === undefined) {
      const before = run.length
      const text = onlyText(at.position)
      for (const token of text === '' ? onlyToken(at) : cut(text, at)) {
        const next = after(at, token)
        if (next === undefined) break
        run.push(token)
        at = next
      }
      if (run.length === before || text.length >= maxTextLength) break
    }
    return run.length === 0 ? none : run
  }

  function onlyText(from: Position): string {
    let text = ''
    for (let at: Position | undefined = from; at !== undefined && !at.isComplete; ) {
      const point = matcher.onlyPoint(at)
      if (point === undefined || isSymbol(point) || text.length >= maxTextLength) break
      text += String.fromCodePoint(point)
      at = matcher.after(at, point)
    }
    return text
  }

  /** Finds a control token: any other text would have at least one character. */
  function onlyToken(at: BytePosition): readonly number[] {
    const only = at.position.isComplete ? undefined : few(at, 1)
    return only ?? none
  }

  function* cut(text: string, from: BytePosition): Generator<number> {
    const bytes = Buffer.from(text)
    const end = text.length < maxTextLength ? bytes.length : bytes.length - uncertainBytes
    let at: BytePosition | undefined = from
    let done = 0
    for (const token of spell(text)) {
      const own = vocabulary.bytes(token)
      const to = done + own.length
      // Some tokenizers put a space in front of each text.
      if (at === undefined || own.length === 0 || !bytes.subarray(done, to).equals(own)) return
      const ways = few(at, maxWays)
      const left = bytes.length - done
      if (to > end || ways === undefined || ways.some((way) => vocabulary.bytes(way).length > left)) return
      yield token
      at = after(at, token)
      done = to
    }
  }

  return (position: Position): readonly number[] => runs.memo(position)
}
