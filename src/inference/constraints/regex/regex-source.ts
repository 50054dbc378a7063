/** Escapes that `u` knows outside of a class; in a class there is the hyphen as well. */
const known = '^$\\.*+?()[]{}|/'

/**
 * Expressions are written in many dialects. What cannot be misread is put as ECMAScript wants it with the flag `u`: a
 * needless backslash before punctuation (`\-`, `\_`, `\"`), and `(?P<name>…)` for a named group.
 */
export function modernSource(source: string): string {
  let out = ''
  let inClass = false
  for (let at = 0; at < source.length; at++) {
    const character = source[at] ?? ''
    if (character === '\\') {
      const escaped = source[++at] ?? ''
      const needless =
        /^[\s!-/:-@[-`{-~]$/.test(escaped) && !known.includes(escaped) && !(inClass && escaped === '-')
      out += needless ? escaped : character + escaped
      continue
    }
    if (character === '[') inClass = true
    else if (character === ']') inClass = false
    else if (character === '(' && !inClass && source.startsWith('(?P<', at)) {
      out += '(?<'
      at += 3
      continue
    }
    // In a class an opening bracket is a character, as it is with `u`.
    out += character
  }
  return out
}
