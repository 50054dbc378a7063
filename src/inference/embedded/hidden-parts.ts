export interface TextPart {
  text: string
  /** The names of control tokens in it are these tokens. */
  special: boolean
}

/**
 * A text in parts, so that no name is read across the mark, which is taken out: what stands between two names and has marks
 * is letters. Each part begins and ends where the text does, or at a name: there tokens begin and end anyway. `names` finds
 * the names of control tokens and keeps them when it separates.
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
