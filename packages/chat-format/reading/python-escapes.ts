const single: Readonly<Record<string, string>> = {
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  // Also an escape in JSON.
  '/': '/',
}

const digitsOf: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }

/** An escape of a Python string. */
export function pythonEscapeAt(
  text: string,
  at: number,
  isOver: boolean,
): { says: string; end: number } | undefined {
  const kind = text[at + 1]
  if (kind === undefined) return undefined
  const says = single[kind]
  if (says !== undefined) return { says, end: at + 2 }
  if (kind >= '0' && kind <= '7') {
    const digits = /^[0-7]{1,3}/.exec(text.slice(at + 1, at + 4))?.[0] ?? ''
    if (digits.length < 3 && at + 1 + digits.length === text.length && !isOver) return undefined
    return { says: String.fromCodePoint(Number.parseInt(digits, 8)), end: at + 1 + digits.length }
  }
  const length = digitsOf[kind]
  // An unknown escape is kept unchanged.
  const plain = { says: `\\${kind}`, end: at + 2 }
  if (length === undefined) return plain
  const digits = text.slice(at + 2, at + 2 + length)
  if (!/^[\da-f]*$/i.test(digits)) return plain
  if (digits.length < length) return isOver ? plain : undefined
  const point = Number.parseInt(digits, 16)
  const end = at + 2 + length
  if (point > 0x10ffff) return plain
  if (kind !== 'u' || point < 0xd800 || point > 0xdbff) return { says: String.fromCodePoint(point), end }
  // A character beyond the first plane may be written as a surrogate pair, as in JSON.
  const second = /^\\u(d[c-f][\da-f]{2})/i.exec(text.slice(end, end + 6))?.[1]
  if (second !== undefined) {
    return { says: String.fromCharCode(point, Number.parseInt(second, 16)), end: end + 6 }
  }
  const isMore = text.length < end + 6 && '\\u'.startsWith(text.slice(end, end + 2))
  return isMore && !isOver ? undefined : { says: String.fromCharCode(point), end }
}
