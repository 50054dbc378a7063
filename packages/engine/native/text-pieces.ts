/**
 * For many vocabularies llama.cpp finds words with `std::regex`, which recurses for each character of a match and ends
 * the process when the stack is full: between 16,000 and 32,000 letters in a row with the usual 8 MiB.
 */
const longest = 4096

/** The end of a word for every kind of vocabulary: whatever follows belongs to the next word. */
const wordEnd = /\p{L}(?=[\s.,!?…。，、])/gu

/** How far back the name of a special token may begin. */
const maxNameLength = 64

/**
 * Splits a text into pieces that can be tokenized one by one. They end at the ends of words, so that the tokens are
 * those of the whole. Only if no word ends in 2,048 characters, a piece ends within one, and the tokens next to the cut
 * may differ.
 */
export function* textPieces(text: string): Generator<string> {
  let from = 0
  while (text.length - from > longest) {
    const to = from + cutPosition(text.slice(from, from + longest + 1))
    yield text.slice(from, to)
    from = to
  }
  yield text.slice(from)
}

function cutPosition(window: string): number {
  const half = longest / 2
  let position = 0
  for (const { index, 0: letter } of window.slice(half).matchAll(wordEnd))
    position = half + index + letter.length
  if (position > 0) return position
  const name = Math.max(window.lastIndexOf('<'), window.lastIndexOf('['))
  if (name >= longest - maxNameLength) return name
  // Both halves of a surrogate pair stay together.
  return /[\ud800-\udbff]/.test(window.charAt(longest - 1)) ? longest - 1 : longest
}

/** About `size` characters of the beginning of a text, up to the end of a word. */
export function startOfText(text: string, size: number): string {
  if (!(text.length > size + longest)) return text
  return text.slice(0, size + cutPosition(text.slice(size, size + longest + 1)))
}

/** About `size` characters of the end of a text, starting after the end of a word. */
export function endOfText(text: string, size: number): string {
  const from = text.length - size - longest
  if (!(from > 0)) return text
  return text.slice(from + cutPosition(text.slice(from, from + longest + 1)))
}

export interface TextPart {
  text: string
  /** Whether names of control tokens in it become these tokens. */
  special: boolean
}

/**
 * Splits a text so that no control token's name is read across the mark, which is removed: text between two names that
 * has marks is plain letters. Each part begins and ends at an end of the text or at a name, where tokens begin and end
 * in any case. `names` matches the names of control tokens and keeps them when splitting.
 */
export function* hiddenParts(text: string, mark: string, names: RegExp): Generator<TextPart> {
  let read = ''
  for (const piece of text.split(names)) {
    if (!piece.includes(mark)) {
      read += piece
      continue
    }
    if (read !== '') yield { text: read, special: true }
    read = ''
    yield { text: piece.replaceAll(mark, ''), special: false }
  }
  if (read !== '') yield { text: read, special: true }
}
