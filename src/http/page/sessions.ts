import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../domain/callers.ts'
import { answer } from '../../domain/fields.ts'
import { hashKey, sameSecret } from '../../domain/keys.ts'
import { refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { type PageSession, readPageSession } from '../../storage/users/page-sessions.ts'
import { type App, refusalContracts } from '../contracts.ts'
import { SignedIn, SignIn } from './contract.ts'
import { pageSessionHeader } from './session-header.ts'

const cookieName = 'heddle_session'

const hourInMicroseconds = 3_600_000_000
const lifetime = 12 * hourInMicroseconds

const newSecret = () => randomBytes(32).toString('base64url')

/**
 * The sessions of the page. A session has two halves: a cookie that no script can read, and a half that the page stores
 * and sends with each request. The cookie alone is worthless: cookies are not bound to ports (RFC 6265, section 8.5),
 * so anything else that listens on this host receives it as well. The other half is stored where only this origin can
 * read it, so no other site can send it.
 */
export interface PageSessions {
  /** The hash of the key that the request's session was opened with; undefined if it has no valid session. */
  keyHashOf(request: FastifyRequest): Promise<string | undefined>
  /** Whether the session of this request is still open. */
  isOpen(request: FastifyRequest): Promise<boolean>
  /** Ends the session of this request. */
  close(request: FastifyRequest): Promise<void>
}

export function createPageSessions(db: Database): PageSessions {
  /** The cookie itself is not stored with a request. */
  const ofRequests = new WeakMap<FastifyRequest, string>()

  async function extend(request: FastifyRequest, { hash }: PageSession, expires_at: number): Promise<void> {
    // A user who is signed in may still read a record that accepts no writes.
    await db
      .write('extendPageSession', { hash, expires_at })
      .catch((err: unknown) => request.log.debug({ err }, 'the session of the page could not be extended'))
  }

  return {
    async keyHashOf(request) {
      const half = request.headers[pageSessionHeader]
      const secret = cookieOf(request)
      if (typeof half !== 'string' || secret === undefined) return undefined
      const at = now()
      const session = await readPageSession(db, hashKey(secret), at)
      if (session === undefined || !sameSecret(session.half_hash, hashKey(half))) return undefined
      refuseOtherSites(request)
      ofRequests.set(request, session.hash)
      const expires = at + lifetime
      if (expires - session.expires_at > hourInMicroseconds) await extend(request, session, expires)
      return session.key_hash
    },

    async isOpen(request) {
      const hash = ofRequests.get(request)
      return hash !== undefined && (await readPageSession(db, hash, now())) !== undefined
    },

    async close(request) {
      const hash = ofRequests.get(request)
      if (hash !== undefined) await db.write('closePageSession', { hash })
    },
  }
}

export function hasSession(request: FastifyRequest): boolean {
  return request.headers[pageSessionHeader] !== undefined && cookieOf(request) !== undefined
}

function cookieOf({ raw }: FastifyRequest): string | undefined {
  for (const pair of raw.headers.cookie?.split(';') ?? []) {
    const at = pair.indexOf('=')
    if (pair.slice(0, at).trim() === cookieName) return pair.slice(at + 1).trim()
  }
  return undefined
}

/**
 * Browsers say where a request comes from (https://www.w3.org/TR/fetch-metadata/); older ones do so at least for
 * requests that change something.
 */
function refuseOtherSites({ headers, method }: FastifyRequest): void {
  const site = headers['sec-fetch-site']
  const isOwn =
    site === undefined
      ? method === 'GET' || headers.origin === undefined || hostOf(headers.origin) === headers.host
      : site === 'same-origin' || (site === 'none' && method === 'GET')
  if (!isOwn) throw refuse('page_cross_site')
}

const hostOf = (origin: string) => (URL.canParse(origin) ? new URL(origin).host : undefined)

interface SessionParts {
  db: Database
  sessions: PageSessions
  version: string
  /** Finds the caller of a key; a wrong one is refused as everywhere. */
  signIn(key: string, request: FastifyRequest, reply: FastifyReply): Promise<Caller>
}

/** The routes by which the page signs in and out. */
export function answerSessions(app: App, { db, sessions, version, signIn }: SessionParts): void {
  const shown = ({ name, role, entities }: Caller) => ({ user: name, role, entities: [...entities], version })

  app.post(
    '/ui/session',
    {
      config: { public: true },
      // The sender is not authenticated yet.
      bodyLimit: 16 * 1024,
      schema: {
        summary: 'Sign in to the page',
        description: 'Sets the cookie of the session. Programs need no session: they send their key.',
        tags: ['page'],
        security: [],
        body: SignIn,
        response: {
          200: SignedIn,
          ...refusalContracts(
            'wrong_credentials',
            'too_many_wrong_keys',
            'invalid_request',
            'malformed_json',
            'body_too_large',
            'unsupported_media_type',
          ),
        },
      },
    },
    async (request, reply) => {
      const { key } = request.body
      const caller = await signIn(key, request, reply)
      const secret = newSecret()
      const half = newSecret()
      const at = now()
      const session = {
        hash: hashKey(secret),
        half_hash: hashKey(half),
        key_hash: hashKey(key),
        expires_at: at + lifetime,
      }
      await db.write('openPageSession', { session, now: at })
      reply.header('set-cookie', cookieWith(request, secret))
      return { half, ...shown(caller) }
    },
  )

  app.get(
    '/ui/session',
    {
      config: { right: 'own' },
      schema: {
        summary: 'Who is signed in',
        tags: ['page'],
        response: { 200: SignedIn, ...refusalContracts() },
      },
    },
    async ({ caller }) => shown(caller),
  )

  app.delete(
    '/ui/session',
    {
      config: { right: 'own' },
      schema: {
        summary: 'Sign out of the page',
        tags: ['page'],
        response: { 200: answer('The session has ended.', {}), ...refusalContracts() },
      },
    },
    async (request, reply) => {
      await sessions.close(request)
      reply.header('set-cookie', cookieWith(request, ''))
      return {}
    },
  )
}

function cookieWith({ protocol }: FastifyRequest, secret: string): string {
  const secure = protocol === 'https' ? '; Secure' : ''
  // The session itself ends on the server; a browser drops the cookie when it closes, or at once if the secret is
  // empty.
  const age = secret === '' ? '; Max-Age=0' : ''
  return `${cookieName}=${secret}; Path=/; HttpOnly; SameSite=Strict${secure}${age}`
}
