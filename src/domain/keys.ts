import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 32 random bytes; the prefix lets secret scanners and people recognise a key. */
export function newKey(): string {
  return `hdl_${randomBytes(32).toString('base64url')}`
}

/** What is stored of a key. A random key needs no slow hash, because it cannot be guessed. */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex')
}

/** Compares two secrets in a time that reveals neither where they differ nor how long they are. */
export function sameSecret(a: string, b: string): boolean {
  const digest = (text: string) => hash('sha256', text, 'buffer')
  return timingSafeEqual(digest(a), digest(b))
}
