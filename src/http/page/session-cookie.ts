import { randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { hashKey } from '../../domain/keys.ts'

export const sessionCookie = 'heddle_session'

/** Twelve hours in microseconds. */
export const sessionLifetime = 12 * 3_600_000_000

export const newSecret = () => randomBytes(32).toString('base64url')

/** No header can have a line break, so no half has this hash. */
export const ticketHash = (ticket: string) => hashKey(`ticket\n${ticket}`)

/** The path of the page as browsers see it, without a slash at its end. */
export const rootOf = (publicUrl: string): string =>
  publicUrl === '' ? '' : new URL(publicUrl).pathname.replace(/\/$/, '')

export function cookieWith(secret: string, root: string, isSecure: boolean): string {
  const secure = isSecure ? '; Secure' : ''
  // The session itself ends on the server; a browser drops the cookie when it closes, or at once if the secret is
  // empty.
  const age = secret === '' ? '; Max-Age=0' : ''
  return `${sessionCookie}=${secret}; Path=${root}/; HttpOnly; SameSite=Strict${secure}${age}`
}

export function readCookie({ raw }: FastifyRequest, name: string): string | undefined {
  for (const pair of raw.headers.cookie?.split(';') ?? []) {
    const at = pair.indexOf('=')
    if (pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim()
  }
  return undefined
}
