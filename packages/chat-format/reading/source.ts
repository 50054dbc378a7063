/** Reads text that arrives in pieces: it yields wherever it needs more text. */
export type PieceReader<T> = Generator<undefined, T, undefined>

/** The text of an answer that has arrived and has not been read yet. */
export interface Source {
  /** Text that has been read is dropped when more arrives, so positions are valid only until the next yield. */
  text: string
  /** The position of the next character to be read. */
  at: number
  /** No more text will arrive. */
  isOver: boolean
}

interface FedSource extends Source {
  add(piece: string): void
  end(): void
}

export function createSource(): FedSource {
  // Half of a character is held back, so that its other half is never mistaken for a marker.
  let half = ''
  return {
    text: '',
    at: 0,
    isOver: false,
    add(piece) {
      let whole = half + piece
      half = ''
      const last = whole.charCodeAt(whole.length - 1)
      if (last >= 0xd800 && last < 0xdc00) {
        half = whole.slice(-1)
        whole = whole.slice(0, -1)
      }
      this.text = this.text.slice(this.at) + whole
      this.at = 0
    },
    end() {
      this.text += half
      half = ''
      this.isOver = true
    },
  }
}

/** Reads white space, at most `most` characters. */
export function* readSpace(source: Source, most: number): PieceReader<string> {
  let space = ''
  for (;;) {
    const from = source.at
    const { text } = source
    while (
      source.at < text.length &&
      space.length + source.at - from < most &&
      isSpace(text.charCodeAt(source.at))
    ) {
      source.at++
    }
    space += text.slice(from, source.at)
    if (source.at < text.length || space.length === most || source.isOver) return space
    yield
  }
}

export function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09
}

/** Whether the code unit at this position is the second half of a character. */
export function isSecondHalf(text: string, at: number): boolean {
  if (at === 0 || text.charCodeAt(at) >> 10 !== 0x37) return false
  return text.charCodeAt(at - 1) >> 10 === 0x36
}

/** The result of a search at a position: found, not here, or more text is needed to tell. */
export type SearchResult<T> = T | 'no' | 'more'

export interface Searcher<T> {
  /** The code units with which it may begin. */
  firsts: ReadonlySet<number>
  seek(text: string, at: number, isOver: boolean): SearchResult<T>
}

/**
 * Passes on all text up to the first match of a seeker, and returns that match; undefined when the text ends first. Of
 * several matches at one position, that of the first seeker. The match itself is not read yet.
 */
export function* readUntil<T>(
  source: Source,
  seekers: readonly Searcher<T>[],
  say: (text: string) => void,
): PieceReader<T | undefined> {
  const firsts = new Set(seekers.flatMap((seeker) => [...seeker.firsts]))
  for (;;) {
    const { text, at: from } = source
    let at = from
    let found: SearchResult<T> = 'no'
    for (; at < text.length; at++) {
      if (!firsts.has(text.charCodeAt(at)) || isSecondHalf(text, at)) continue
      found = seekAny(seekers, text, at, source.isOver)
      if (found !== 'no') break
    }
    if (at > from) say(text.slice(from, at))
    source.at = at
    if (found !== 'no' && found !== 'more') return found
    if (source.isOver) return undefined
    yield
  }
}

function seekAny<T>(
  seekers: readonly Searcher<T>[],
  text: string,
  at: number,
  isOver: boolean,
): SearchResult<T> {
  const first = text.charCodeAt(at)
  for (const seeker of seekers) {
    if (!seeker.firsts.has(first)) continue
    const found = seeker.seek(text, at, isOver)
    if (found !== 'no' && !(found === 'more' && isOver)) return found
  }
  return 'no'
}

/** No answer begins with more white space before its first mark. */
const maxSpace = 256

/** Searches after optional white space. */
export function afterSpace<T>(seekers: readonly Searcher<T>[]): Searcher<T>['seek'] {
  return (text, at, isOver) => {
    let from = at
    while (from < text.length && isSpace(text.charCodeAt(from))) from++
    if (from - at > maxSpace) return 'no'
    if (from === text.length) return isOver ? 'no' : 'more'
    return seekAny(seekers, text, from, isOver)
  }
}

/** Waits until it is certain whether this matches here. */
export function* untilCertain<T>(source: Source, seek: Searcher<T>['seek']): PieceReader<T | 'no'> {
  for (;;) {
    const found = seek(source.text, source.at, source.isOver)
    if (found !== 'more') return found
    if (source.isOver) return 'no'
    yield
  }
}
