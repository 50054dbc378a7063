const pieceLength = 4_000

/** Each piece is shown as a block, so a text is split between lines, and inside one only if the line is longer than a piece. */
export function piecesOf(text: string): string[] {
  const pieces: string[] = []
  for (let from = 0; from < text.length; ) {
    const to = from + pieceLength
    const line = to < text.length ? text.lastIndexOf('\n', to - 1) : -1
    const end = line > from ? line + 1 : betweenCharacters(text, to)
    pieces.push(text.slice(from, end))
    from = end
  }
  return pieces
}

/** Moves a position that is inside a surrogate pair behind it. */
export function betweenCharacters(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at
}
