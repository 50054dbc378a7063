const pieceLength = 4_000

/** Each is shown as a block, so a text is parted between its lines, and within one only where that is longer than a piece. */
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

/** Not within a character that is written as two. */
export function betweenCharacters(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at
}
