import type { YieldToLoop } from '../yielding.ts'
import type { Scan } from './scan.ts'

/** Characters that are processed in one step of about a millisecond. */
export const onePiece = 64 * 1024

/** Receives a large JSON value as pieces, in their order. */
export interface PieceReader {
  /** A value that is not divided: a small one, or a string or number of any size. */
  value(text: string): void | Promise<void>
  /** Begins a list or object that is divided. */
  open(isObject: boolean): void
  /** Some of its items or members, side by side. */
  run(text: string): void
  /** One of them that is large: `value` or `open` follows. `before` is the key as it was sent and a colon; nothing in a list. */
  large(name: string, before: string): void
  close(): void | Promise<void>
}

/**
 * Reads the value that begins here and returns its end. It yields to the event loop between the pieces. The reader checks each
 * piece; this function checks that the pieces fit together.
 */
export async function readInPieces(
  scan: Scan,
  at: number,
  depth: number,
  reader: PieceReader,
  yieldToLoop: YieldToLoop,
  size = onePiece,
): Promise<number> {
  const { text } = scan
  const isObject = scan.isObject(at)
  const whole = isObject || scan.isList(at) ? scan.skip(at, depth, size) : scan.skip(at, depth)
  if (whole !== -1) {
    await reader.value(text.slice(at, whole))
    return whole
  }
  let run = -1
  let end = at
  const endRun = () => {
    if (run !== -1) reader.run(text.slice(run, end))
    run = -1
  }
  reader.open(isObject)
  for (let i = scan.enter(at, depth); i !== -1; i = scan.after(end)) {
    const from = isObject ? scan.key(i) : i
    const valueEnd = scan.skip(from, depth + 1, size)
    if (valueEnd === from) throw new SyntaxError(`Expected a value at position ${from}`)
    if (valueEnd === -1) {
      endRun()
      const before = text.slice(i, from)
      if (isObject) JSON.parse(`{${before}0}`)
      reader.large(scan.name, before)
      end = await readInPieces(scan, from, depth + 1, reader, yieldToLoop, size)
    } else {
      if (run === -1) run = i
      end = valueEnd
      if (end - run >= size) endRun()
    }
    const pause = yieldToLoop()
    if (pause) await pause
  }
  if (text[scan.end - 1] !== (isObject ? '}' : ']')) {
    throw new SyntaxError(`Expected another end at position ${scan.end - 1}`)
  }
  const wholeEnd = scan.end
  endRun()
  await reader.close()
  return wholeEnd
}
