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
