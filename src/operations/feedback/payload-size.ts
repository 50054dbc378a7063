/** As Python writes JSON: in ASCII, with a space after each comma and colon. The clients count so. */
export const mostPayloadCharacters = 1_048_576

const escaped = 6

/** The JSON text would be longer than the limit if it were written in ASCII. Stops counting there. */
export function isBeyondLimit(json: string, limit = mostPayloadCharacters): boolean {
  let size = 0
  let inString = false
  for (let at = 0; at < json.length && size <= limit; at++) {
    const code = json.charCodeAt(at)
    if (code === 0x22) inString = !inString
    if (inString && code === 0x5c) {
      size += json[at + 1] === 'u' ? sizeOfEscaped(json.slice(at + 2, at + 6)) : sizeOfShort(json[at + 1])
      at += json[at + 1] === 'u' ? 5 : 1
    } else if (!inString && (code === 0x2c || code === 0x3a)) size += 2
    else size += code > 0x7e ? escaped : 1
  }
  return size > limit
}

/** `\u0041` is one letter; a quote and a tab keep an escape of two. */
function sizeOfEscaped(hex: string): number {
  const code = Number.parseInt(hex, 16)
  if (code === 0x22 || code === 0x5c || (code >= 0x08 && code <= 0x0d && code !== 0x0b)) return 2
  return code >= 0x20 && code <= 0x7e ? 1 : escaped
}

function sizeOfShort(letter: string | undefined): number {
  return letter === '/' ? 1 : 2
}
