import { unescaped } from './escapes.ts'

/** How base64 was written in lines, as encoders of mail and some commands do. */
export interface LineBreaks {
  /** Characters of each line but the last, which may be shorter. 0 for a single line that ends with a break. */
  length: number
  /** As JSON has it. */
  written: '\\n' | '\\r\\n'
  isEnded: boolean
}

/** What encoders write is between these: 60, 64 or 76. */
const [minLine, maxLine] = [16, 1_024]

const maxEscape = '\\u000a'.length
const maxBreak = 2 * maxEscape
const firstLine = /^([\w+/\\]*?)((?:\\r|\\u000d)?(?:\\n|\\u000a))/i
const lastBreak = /(?:\\r|\\u000d)?(?:\\n|\\u000a)$/i

const isKnownLength = (length: number) => length === 0 || (length >= minLine && length <= maxLine)

/** As metadata has them. Anyone may write such a file. */
export function lineBreaksOf(value: unknown): LineBreaks | undefined {
  const { length, written, isEnded } = (value ?? {}) as Record<string, unknown>
  const isBreak = written === '\\n' || written === '\\r\\n'
  if (!isBreak || !Number.isInteger(length) || !isKnownLength(length as number)) return undefined
  return { length: length as number, written, isEnded: isEnded === true }
}

/** Where the base64 ends, without a break behind it, and its breaks; undefined if there are none in front. */
export function lineBreaksIn(
  json: Buffer,
  from: number,
  close: number,
): { dataTo: number; breaks: LineBreaks | undefined } {
  const tail = json.toString('latin1', Math.max(from, close - maxBreak), close)
  // Each character may be escaped.
  const [, line = '', first] =
    firstLine.exec(json.toString('latin1', from, Math.min(close, from + maxEscape * maxLine))) ?? []
  const last = lastBreak.exec(tail)?.[0]
  const written = unescaped(first ?? last ?? '') as LineBreaks['written'] | ''
  if (written === '') return { dataTo: close, breaks: undefined }
  const isEnded = last !== undefined && unescaped(last) === written
  const isSingle = first !== undefined && from + line.length + first.length === close
  const length = isSingle ? 0 : unescaped(line).length
  if (!isKnownLength(length)) return { dataTo: close, breaks: undefined }
  return { dataTo: isEnded ? close - last.length : close, breaks: { length, written, isEnded } }
}

/** Undefined if a line is not as long as the first. */
export function withoutLineBreaks(
  lines: string,
  { length, written }: LineBreaks,
  isLast: boolean,
): string | undefined {
  const all = lines.split(written)
  const last = all.pop() ?? ''
  const isRegular = all.every((line) => line.length === length)
  // Pieces end with a break.
  const isEnd = isLast ? last.length > 0 && last.length <= length : last === ''
  return isRegular && isEnd ? all.join('') + last : undefined
}

/** Writes base64, which arrives in pieces, in lines. */
export function lineWriter(breaks: LineBreaks | undefined): (base64: string, isLast: boolean) => string {
  let column = 0
  return (base64, isLast) => {
    if (breaks === undefined) return base64
    const { length, written, isEnded } = breaks
    let text = ''
    for (let at = 0; length > 0 && at < base64.length; ) {
      if (column === length) {
        text += written
        column = 0
      }
      const line = base64.slice(at, at + length - column)
      text += line
      column += line.length
      at += line.length
    }
    return (length > 0 ? text : base64) + (isLast && isEnded ? written : '')
  }
}
