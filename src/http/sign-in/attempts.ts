import type { FastifyReply, FastifyRequest } from 'fastify'
import { hashKey } from '../../domain/keys.ts'
import { readCookie } from '../page/session-cookie.ts'
import type { Attempt } from './provider.ts'

/** Seals texts that only this server can read, for one owner. */
export interface Seals {
  open(owner: string): Promise<{ seal(text: string): string; unseal(sealed: string): string | undefined }>
}

interface Begun extends Attempt {
  /** Where the page goes afterwards. */
  then: string
  /** In milliseconds since 1970. */
  until: number
}

const maxSeconds = 600

/** One for each attempt, as several tabs may sign in at once. */
const cookieOf = (state: string) => `heddle_sign_in_${hashKey(state).slice(0, 16)}`

const ownerOf = (issuer: string) => `sign-in ${issuer}`

/**
 * A sign-in that has begun is stored in the browser that began it, so that no other can finish it, and strangers store
 * nothing here. The cookie is `Lax`: the browser comes back from another site.
 */
export async function storeAttempt(
  seals: Seals,
  reply: FastifyReply,
  {
    issuer,
    path,
    isSecure,
    ...begun
  }: Attempt & { then: string; issuer: string; path: string; isSecure: boolean },
): Promise<void> {
  const value = (await seals.open(ownerOf(issuer))).seal(
    JSON.stringify({ ...begun, until: Date.now() + maxSeconds * 1000 } satisfies Begun),
  )
  const flags = `Path=${path}; HttpOnly; SameSite=Lax; Max-Age=${maxSeconds}${isSecure ? '; Secure' : ''}`
  reply.header('set-cookie', `${cookieOf(begun.state)}=${value}; ${flags}`)
}

/** Undefined if this browser has not begun it with this issuer, or too long ago. Its cookie ends either way. */
export async function takeAttempt(
  seals: Seals,
  request: FastifyRequest,
  reply: FastifyReply,
  { issuer, path, state }: { issuer: string; path: string; state: string },
): Promise<Begun | undefined> {
  const name = cookieOf(state)
  const sealed = readCookie(request, name)
  if (sealed === undefined) return undefined
  reply.header('set-cookie', `${name}=; Path=${path}; HttpOnly; SameSite=Lax; Max-Age=0`)
  const text = (await seals.open(ownerOf(issuer))).unseal(sealed)
  const begun = text === undefined ? undefined : (JSON.parse(text) as Begun)
  return begun !== undefined && begun.until > Date.now() ? begun : undefined
}
