import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 32 random bytes; the prefix lets secret scanners and people recognise it. */
export function newKey(): string {
  return `hdl_${randomBytes(32).toString('base64url')}`
}

/** What is stored of a key. A random key needs no slow hash: there is nothing to guess. */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex')
}

/** Equal or not, in a time that tells nothing about where they differ or how long they are. */
export function sameSecret(a: string, b: string): boolean {
  const digest = (text: string) => hash('sha256', text, 'buffer')
  return timingSafeEqual(digest(a), digest(b))
}
