const token = /\s*(?:([{[])|([}\]])|([,:])|("[^"\\]*(?:\\.[^"\\]*)*")|([\w.+-]+))/gsy

/** Closes the beginning of a JSON object after its last complete member or item. */
export function closedJson(text: string): string {
  const closers: string[] = []
  let end = 0
  let closing = ''
  let isKey = false
  token.lastIndex = 0
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [, open, close, separator, string, scalar] = match
    const at = token.lastIndex
    if (open !== undefined) closers.push(open === '{' ? '}' : ']')
    else if (close !== undefined) closers.pop()
    if (open !== undefined || separator !== undefined) {
      isKey = separator !== ':' && closers.at(-1) === '}'
    }
    // A number at the end of the text may have more digits to come.
    const isWhole = scalar === undefined || at < text.length || /^(true|false|null)$/.test(scalar)
    if (separator !== undefined || (string !== undefined && isKey) || !isWhole) continue
    end = at
    closing = closers.toReversed().join('')
  }
  const closed = text.slice(0, end) + closing
  return closed.trimStart().startsWith('{') ? closed : '{}'
}
