/** Lines of a UTF-8 text that comes in pieces. A line of more than `most` bytes throws before it is read whole. */
export async function* linesIn(pieces: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Buffer> {
  let held: Uint8Array[] = []
  let size = 0
  for await (const piece of pieces) {
    let from = 0
    for (let end = piece.indexOf(lineFeed); end !== -1; end = piece.indexOf(lineFeed, from)) {
      const line = Buffer.concat([...held, piece.subarray(from, end)])
      if (line.length > most) throw new LineTooLong(most)
      if (line.length > 0) yield line
      held = []
      size = 0
      from = end + 1
    }
    held.push(piece.subarray(from))
    size += piece.length - from
    if (size > most) throw new LineTooLong(most)
  }
  const last = Buffer.concat(held)
  if (last.length > 0) yield last
}

const lineFeed = 0x0a

export class LineTooLong extends Error {
  override readonly name = 'LineTooLong'

  constructor(most: number) {
    super(`it is longer than ${most} bytes`)
  }
}
