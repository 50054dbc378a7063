import { type Expr, isSymbol, marked, pointsOf, rule, sequence } from '../../constraints/index.ts'
import { textPath } from './literals.ts'
import { mergedPaths, path } from './paths.ts'
import { addTriggeredText } from './triggered-text.ts'

/** The marks of turns that consist of messages. */
interface MessageMarks {
  start: string
  ends: readonly string[]
}

interface MessageText {
  name: string
  /** What may follow the text, after the mark of the next message. */
  message: Expr
  /** Marks after which nothing follows. */
  lasts: readonly string[]
  mayEnd: boolean
}

/**
 * The text of a message. It ends where it is read to end: at the first of the marks. As control tokens the other marks do
 * not occur in it; in letters they could, and they would end it too.
 */
export function addMessageText(
  { start, ends }: MessageMarks,
  { name, message, lasts, mayEnd }: MessageText,
  rules: Map<string, Expr>,
): Expr {
  const next = sequence(marked(start), message)
  const [first, ...others] = ends
  const goesOn = [first ?? '', ...others.filter(isOfLetters)].filter((mark) => !lasts.includes(mark))
  addTriggeredText(
    {
      anywhere: mergedPaths([
        ...goesOn.map((mark) => textPath(mark, path([], next))),
        ...lasts.map((mark) => textPath(mark, path([], sequence()))),
        ...(isOfLetters(start) ? [textPath(start, path([], message))] : []),
      ]),
      starts: {},
      mayEnd,
    },
    name,
    rules,
  )
  return rule(name)
}

function isOfLetters(mark: string): boolean {
  return !pointsOf(mark).some(isSymbol)
}
