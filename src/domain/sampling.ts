import { createHash } from 'node:crypto'

/** Digits of the hash: as many bits as a double counts exactly. */
const hexDigits = 12
const all = 16 ** hexDigits

/**
 * Whether a monitor, or a shadow of a label, samples a call. This depends only on the two ids, so every process gets the same result, also after
 * a restart; a higher rate includes the calls of a lower one.
 */
export function isSampled(sampler: string, callId: string, rate: number): boolean {
  if (rate >= 1) return true
  const hash = createHash('sha256').update(`${sampler} ${callId}`).digest('hex')
  return Number.parseInt(hash.slice(0, hexDigits), 16) / all < rate
}
