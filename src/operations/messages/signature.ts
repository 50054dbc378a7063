import { createHash } from 'node:crypto'

/**
 * Clients return thoughts with their signature, so that the model sees what it thought before it called a tool. A
 * thought is not secret from the client that it was shown to, so a signature needs no key: it is the same on every
 * server and after every restart. It contains the hash of the thought, or the thought itself if the answer left it out.
 */

const hashed = 'heddle-thought-'
const whole = 'heddle-omitted-'

export function signatureOf(thought: string, isOmitted: boolean): string {
  return isOmitted ? whole + Buffer.from(thought).toString('base64url') : hashed + hashOf(thought)
}

/**
 * The thought that a client returns; undefined if it does not match its signature. Signatures of other servers are
 * ignored, so that a conversation that began elsewhere can continue.
 */
export function thoughtOf(thinking: string, signature: string): string | undefined {
  if (signature.startsWith(whole)) {
    return thinking === '' ? Buffer.from(signature.slice(whole.length), 'base64url').toString() : undefined
  }
  if (signature.startsWith(hashed) && signature !== hashed + hashOf(thinking)) return undefined
  return thinking
}

/** Whether another server has signed it. */
export const isForeign = (signature: string | null | undefined): signature is string =>
  !!signature && !signature.startsWith(whole) && !signature.startsWith(hashed)

const hashOf = (thought: string) => createHash('sha256').update(thought).digest('base64url')
