import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import { type Caller, operationsByGrant, operationsOf } from '../../domain/callers.ts'
import { hashKey, sameSecret } from '../../domain/keys.ts'
import { refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { type PageSession, readPageSession } from '../../storage/users/page-sessions.ts'
import { type App, refusalContracts, wireRoutes } from '../contracts.ts'
import type { People } from '../sign-in/people.ts'
import { SignedIn, SignedOut, SignIn, SignInWays } from './contract.ts'
import {
  cookieWith,
  newSecret,
  readCookie,
  rootOf,
  sessionCookie,
  sessionLifetime,
  ticketHash,
} from './session-cookie.ts'
import { pageSessionHeader } from './session-header.ts'

const route = wireRoutes('page', refusalContracts)

const hourInMicroseconds = 3_600_000_000

/**
 * The sessions of the page. A session has two halves: a cookie that no script can read, and a half that the page stores
 * and sends with each request. The cookie alone is worthless: cookies are not bound to ports (RFC 6265, section 8.5),
 * so anything else that listens on this host receives it as well. The other half is stored where only this origin can
 * read it, so no other site can send it.
 */
export interface PageSessions {
  /** The session of this request, if it has a valid one. */
  find(request: FastifyRequest): Promise<PageSession | undefined>
  /** Whether the session of this request is still open. */
  isOpen(request: FastifyRequest): Promise<boolean>
  /** Ends the session of this request, and returns it. */
  close(request: FastifyRequest): Promise<PageSession | undefined>
}

export function createPageSessions(db: Database): PageSessions {
  /** The cookie itself is not stored with a request. */
  const ofRequests = new WeakMap<FastifyRequest, PageSession>()

  async function extend(request: FastifyRequest, { hash }: PageSession, expires_at: number): Promise<void> {
    // A user who is signed in may still read a record that accepts no writes.
    await db
      .write('extendPageSession', { hash, expires_at })
      .catch((err: unknown) => request.log.debug({ err }, 'the session of the page could not be extended'))
  }

  return {
    async find(request) {
      const half = request.headers[pageSessionHeader]
      const secret = readCookie(request, sessionCookie)
      if (typeof half !== 'string' || secret === undefined) return undefined
      const at = now()
      const session = await readPageSession(db, hashKey(secret), at)
      if (session === undefined || !sameSecret(session.half_hash, hashKey(half))) return undefined
      refuseOtherSites(request)
      ofRequests.set(request, session)
      const expires = at + sessionLifetime
      // An identity signs in again, so that its provider can say what has changed.
      const isDue = session.identity === undefined && expires - session.expires_at > hourInMicroseconds
      if (isDue) await extend(request, session, expires)
      return session
    },

    async isOpen(request) {
      const session = ofRequests.get(request)
      return session !== undefined && (await readPageSession(db, session.hash, now())) !== undefined
    },

    async close(request) {
      const session = ofRequests.get(request)
      if (session !== undefined) await db.write('closePageSession', { hash: session.hash })
      return session
    },
  }
}

export function hasSession(request: FastifyRequest): boolean {
  return request.headers[pageSessionHeader] !== undefined && readCookie(request, sessionCookie) !== undefined
}

/**
 * Browsers say where a request comes from (https://www.w3.org/TR/fetch-metadata/); older ones do so at least for
 * requests that change something.
 */
function refuseOtherSites({ headers, method }: FastifyRequest): void {
  const site = headers['sec-fetch-site']
  const isOwn =
    site === undefined
      ? method === 'GET' || headers.origin === undefined || URL.parse(headers.origin)?.host === headers.host
      : site === 'same-origin' || (site === 'none' && method === 'GET')
  if (!isOwn) throw refuse('page_cross_site')
}

interface SessionParts {
  db: Database
  sessions: PageSessions
  version: string
  settings: Pick<Config, 'public_url' | 'key_sign_in'>
  /** Finds the caller of a key; a wrong one is refused as everywhere. */
  signIn(key: string, request: FastifyRequest, reply: FastifyReply): Promise<Caller>
  /** Absent if there are no identity providers. */
  people?: People | undefined
}

/** The routes by which the page signs in and out. */
export function answerSessions(
  app: App,
  { db, sessions, version, signIn, people, settings: { public_url, key_sign_in } }: SessionParts,
): void {
  const root = rootOf(public_url)
  const cookieFor = ({ protocol }: FastifyRequest, secret: string) =>
    cookieWith(secret, root, protocol === 'https' || public_url.startsWith('https:'))
  const providers = people?.providers ?? []
  const shown = (caller: Caller) => ({
    user: caller.name,
    role: caller.role,
    entities: [...caller.entities],
    grants: operationsByGrant(caller),
    operations: operationsOf(caller),
    version,
  })

  type NewSession = Pick<PageSession, 'hash' | 'half_hash' | 'expires_at'>

  async function openWithKey(key: string, session: NewSession, request: FastifyRequest, reply: FastifyReply) {
    if (!key_sign_in) throw refuse('key_sign_in_off')
    const caller = await signIn(key, request, reply)
    await db.write('openPageSession', { session: { ...session, key_hash: hashKey(key) }, now: now() })
    return caller
  }

  /** The address that an identity provider has led to has a ticket, and its browser the cookie. */
  async function exchange(ticket: string, session: NewSession, request: FastifyRequest): Promise<Caller> {
    refuseOtherSites(request)
    const hash = hashKey(readCookie(request, sessionCookie) ?? '')
    const exchanged = { hash, ticket_hash: ticketHash(ticket), session, now: now() }
    const found = (await db.write('exchangeTicket', exchanged))
      ? await readPageSession(db, session.hash, now())
      : undefined
    const caller = found?.identity && (await people?.callerOf(found.identity))
    if (caller === undefined) throw refuse('session_ended')
    return caller
  }

  app.get(
    '/ui/issuers',
    {
      config: { public: true },
      schema: {
        summary: 'How to sign in to the page',
        tags: ['page'],
        security: [],
        response: { 200: SignInWays },
      },
    },
    async () => ({
      keys: key_sign_in,
      issuers: providers.map(({ spec: { name, title = name } }) => ({ name, title })),
    }),
  )

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
            'session_ended',
            'key_sign_in_off',
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
      const [secret, half, at] = [newSecret(), newSecret(), now()]
      const session = { hash: hashKey(secret), half_hash: hashKey(half), expires_at: at + sessionLifetime }
      const { key, ticket = '' } = request.body
      const caller = await (key === undefined
        ? exchange(ticket, session, request)
        : openWithKey(key, session, request, reply))
      reply.header('set-cookie', cookieFor(request, secret))
      return { half, ...shown(caller) }
    },
  )

  app.get('/ui/session', route('own', 'Who is signed in', SignedIn, {}), async ({ caller }) => shown(caller))

  const signOut = route('own', 'Sign out of the page', SignedOut, {})
  app.delete('/ui/session', signOut, async (request, reply) => {
    const identity = (await sessions.close(request))?.identity
    reply.header('set-cookie', cookieFor(request, ''))
    const provider = identity && people?.providerOf(identity.issuer)
    const url = provider && (await provider.endOf(identity.id_token, `${public_url}/`))
    return url === undefined ? {} : { continue_at: url.href }
  })
}
