import { createHash } from 'node:crypto'

/** Of a hash, as many bits as a double counts exactly. */
const hexDigits = 12
const all = 16 ** hexDigits

/**
 * Whether a monitor looks at a call. It follows from the two ids alone, so every process and every restart says the same,
 * and a higher rate takes the calls of a lower one and more.
 */
export function isSampled(monitorId: string, callId: string, rate: number): boolean {
  if (rate >= 1) return true
  const hash = createHash('sha256').update(`${monitorId} ${callId}`).digest('hex')
  return Number.parseInt(hash.slice(0, hexDigits), 16) / all < rate
}
