import type { PieceReader, Source } from './source.ts'

const backslash = 0x5c

/** The text and the end of the escape at this position; undefined if the text is too short to tell. */
type EscapeAt = (text: string, at: number, isOver: boolean) => { says: string; end: number } | undefined

/** Passes on the content of a quoted text, from its opening quote on. False when the text ends before it is closed. */
export function* readQuotedText(
  source: Source,
  say: (text: string) => void,
  escapeAt: EscapeAt,
): PieceReader<boolean> {
  const quote = source.text.charCodeAt(source.at)
  source.at++
  for (;;) {
    const { text, at: from } = source
    let at = from
    while (at < text.length && text.charCodeAt(at) !== quote && text.charCodeAt(at) !== backslash) at++
    say(text.slice(from, at))
    source.at = at
    if (at < text.length) {
      if (text.charCodeAt(at) === quote) {
        source.at++
        return true
      }
      const found = escapeAt(text, at, source.isOver)
      if (found !== undefined) {
        say(found.says)
        source.at = found.end
        continue
      }
    }
    if (source.isOver) return false
    yield
  }
}
