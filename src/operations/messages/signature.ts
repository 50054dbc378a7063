import { createHash } from 'node:crypto'

/**
 * Clients give thoughts back with their signature, so that the model sees what it thought before it called a tool. Nothing of
 * a thought is secret from whom it was shown to, so a signature has no key: it is the same on every server and after every
 * restart. It has the hash of the thought, or the thought itself where the answer left it out.
 */

const hashed = 'heddle-thought-'
const whole = 'heddle-omitted-'

export function signatureOf(thought: string, isOmitted: boolean): string {
  return isOmitted ? whole + Buffer.from(thought).toString('base64url') : hashed + hashOf(thought)
}

/**
 * The thought that comes back; undefined when it is not the one of its signature. A signature of another server says nothing
 * here, so a conversation that began elsewhere can go on.
 */
export function thoughtOf(thinking: string, signature: string): string | undefined {
  if (signature.startsWith(whole)) {
    return thinking === '' ? Buffer.from(signature.slice(whole.length), 'base64url').toString() : undefined
  }
  if (signature.startsWith(hashed) && signature !== hashed + hashOf(thinking)) return undefined
  return thinking
}

const hashOf = (thought: string) => createHash('sha256').update(thought).digest('base64url')
