/**
 * Base64 in JSON as encoders write it that escape more than they must: PHP each slash, .NET the plus, Java's Gson the
 * equals sign. Line breaks become those that JSON has a short form for.
 */
export function unescaped(raw: string): string {
  const text = raw.replaceAll('\\/', '/')
  if (!text.includes('\\u00')) return text
  return escapes.reduce((read, [escaped, character]) => read.replaceAll(escaped, character), text)
}

const escapes: readonly [escaped: RegExp, character: string][] = [
  [/\\u002b/gi, '+'],
  [/\\u002f/gi, '/'],
  [/\\u003d/gi, '='],
  [/\\u000a/gi, '\\n'],
  [/\\u000d/gi, '\\r'],
]

/** The length of a text without an escape that is cut off at its end. */
export const wholeEscapes = (raw: string): number =>
  raw.length - (/\\(?:u[\da-f]{0,3})?$/i.exec(raw.slice(-5))?.[0].length ?? 0)
