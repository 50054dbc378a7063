import { createHash, hash } from 'node:crypto'
import { canonicalJson } from '../../packages/json/index.ts'
import { createYieldToLoop, type YieldToLoop } from '../../packages/waiting/index.ts'

/**
 * The digest of content, 43 letters and digits: SHA-256 in base64url, with its two other characters replaced by
 * letters.
 */
export function digestOf(content: string | Uint8Array): string {
  // Without a Hash object, which would be garbage: there may be thousands a second.
  return letters(hash('sha256', content, 'base64url'))
}

/** The same for content that arrives in pieces. */
export function openDigest(): { add(piece: Uint8Array): void; end(): string } {
  const hash = createHash('sha256')
  return { add: (piece) => hash.update(piece), end: () => digestOfHash(hash.digest()) }
}

/** The digest of content with this SHA-256. */
export const digestOfHash = (hash: Buffer): string => letters(hash.toString('base64url'))

function letters(base64url: string): string {
  return base64url.replaceAll('-', 'X').replaceAll('_', 'Y')
}

/** The digest of a JSON text: the same for every spelling of a value. */
export function digestOfJson(text: string): string {
  return digestOf(canonicalJson(text))
}

/** Rows hashed in one step: enough to be fast (one at a time takes ten times as long), few enough to be short. */
const rowsAtOnce = 256

/** The digest of a table, from the digests of its rows in order. */
export async function digestOfTable(
  rows: Iterable<string>,
  yieldToLoop: YieldToLoop = createYieldToLoop(),
): Promise<string> {
  const hash = createHash('sha256')
  let some: string[] = []
  for (const row of rows) {
    some.push(row)
    if (some.length < rowsAtOnce) continue
    hash.update(some.join(''))
    some = []
    const pause = yieldToLoop()
    if (pause) await pause
  }
  return hash.update(some.join('')).digest('hex')
}
