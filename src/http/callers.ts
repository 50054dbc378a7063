import basicAuth from '@fastify/basic-auth'
import bearerAuth from '@fastify/bearer-auth'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import type { Caller } from '../domain/callers.ts'
import { hashKey, sameSecret } from '../domain/keys.ts'
import { type Refusal, refuse } from '../domain/refusals.ts'
import type { Reader } from '../storage/transaction.ts'
import { userOfKey } from '../storage/users/users.ts'
import { originOf, type Trusts } from './addresses.ts'
import { findConfigured } from './configured-users.ts'
import { asRefusal } from './errors.ts'
import { limitGuesses } from './guesses.ts'
import { halfHeader } from './page/half-header.ts'
import { hasSession, type PageSessions } from './page/sessions.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is calling. Set on every route that is not public. */
    caller: Caller
    /** Who it is by now: undefined when the key was revoked or the session has ended meanwhile. */
    callerNow(): Promise<Caller | undefined>
  }
  interface FastifyContextConfig {
    /** Answers without credentials. A test holds the list of such routes against a short one. */
    public?: boolean
    /** The role that the route needs. */
    role?: 'admin'
    /** A header that may carry the key, as Authorization, x-api-key and api-key may everywhere. */
    keyHeader?: string
  }
}

/** What the clients of Weave send as user name, with the key as password. */
const anyUser = 'api'

/** Where the clients of Anthropic, and those of Azure's OpenAI, have the key. */
const keyHeaders = ['x-api-key', 'api-key']

/** What may hold a key, in each request. */
const secretHeaders = ['authorization', ...keyHeaders, 'proxy-authorization', 'cookie', halfHeader]

/** Plugins write headers into the log: from here on there is no key in them. */
function forgetKey(request: FastifyRequest): void {
  const { headers } = request.raw
  const { keyHeader: own } = request.routeOptions.config
  for (const name of own === undefined ? secretHeaders : [...secretHeaders, own]) {
    if (headers[name] !== undefined) headers[name] = '[redacted]'
  }
}

/** Finds the caller of a key, and slows down whoever sends wrong ones. */
type SignIn = (key: string, request: FastifyRequest, reply: FastifyReply) => Promise<Caller>

/**
 * Each request says who it is from, by Basic, Bearer, a key in x-api-key or api-key, or the session of the page, before anything of it is
 * read.
 */
export async function knowCallers(
  app: FastifyInstance,
  db: Reader,
  { users, wrong_keys }: Pick<Config, 'users' | 'wrong_keys'>,
  trusts: Trusts,
  sessions: PageSessions,
): Promise<SignIn> {
  const slowDown = wrong_keys > 0 ? limitGuesses(wrong_keys) : undefined
  const configured = findConfigured(db, users)

  // A key is found by its hash, so the time that this takes says nothing about a key that is nearly right. It is looked
  // up each time: a key that is revoked is dead at once.
  async function callerOfHash(hash: string): Promise<Caller | undefined> {
    const known = configured(hash)
    if (known !== undefined) return known
    const user = await userOfKey(db, hash)
    if (user === undefined) return undefined
    const { name, role, entities, settings, key: keySettings } = user
    return { name, role, entities: new Set(entities), key: keySettings, ...(settings && { settings }) }
  }
  function callerOf(key: string, request: FastifyRequest): Promise<Caller | undefined> {
    const hash = hashKey(key)
    request.callerNow = () => callerOfHash(hash)
    return callerOfHash(hash)
  }
  async function callerOfSession(request: FastifyRequest): Promise<Caller | undefined> {
    const hash = await sessions.keyHashOf(request)
    if (hash === undefined) return undefined
    request.callerNow = async () => ((await sessions.isOpen(request)) ? callerOfHash(hash) : undefined)
    return callerOfHash(hash)
  }

  await app.register(basicAuth, {
    // One space or several may follow the name of the scheme (RFC 9110, section 11.4).
    strictCredentials: false,
    async validate(name, key, request) {
      const caller = await callerOf(key, request)
      const nameFits = name === anyUser || sameSecret(name, caller?.name ?? '')
      if (!caller || !nameFits) throw refuse('wrong_credentials')
      request.caller = caller
    },
  })
  await app.register(bearerAuth, {
    addHook: false,
    keys: [],
    // The name of a scheme is read without regard to case (RFC 9110, section 11.1).
    specCompliance: 'rfc6749',
    verifyErrorLogLevel: 'debug',
    async auth(key, request) {
      const caller = await callerOf(key, request)
      if (caller) request.caller = caller
      return caller !== undefined
    },
  })
  /** Says what the refusal is to be. A log with these lines and the address is what tools that ban addresses read. */
  async function refused(error: Error, request: FastifyRequest, reply: FastifyReply): Promise<Refusal> {
    const refusal = asRefusal(error, request)
    if (refusal.status !== 401 || refusal.code === 'not_authenticated') return refusal
    const origin = originOf(request, trusts)
    request.log.info({ address: request.ip, code: refusal.code }, 'refused credentials')
    if (origin !== undefined && refusal.code === 'wrong_credentials') await slowDown?.(request, reply, origin)
    return refusal
  }

  app.decorateRequest('caller')
  app.decorateRequest('callerNow')
  app.addHook('onRequest', (request, reply, done) => {
    const { config } = request.routeOptions
    if (config.public) return done()
    const settled = (error?: Error) => {
      forgetKey(request)
      if (error) return void refused(error, request, reply).then(done, done)
      const { role } = request.caller
      done(
        config.role && config.role !== role
          ? refuse('role_forbidden', { role: config.role, given: role })
          : undefined,
      )
    }
    const scheme = request.headers.authorization?.split(' ', 1)[0]?.toLowerCase()
    const names = config.keyHeader === undefined ? keyHeaders : [...keyHeaders, config.keyHeader]
    const key = names.map((name) => request.headers[name]).find((given) => given !== undefined)
    if (scheme === 'basic') app.basicAuth(request, reply, settled)
    else if (scheme === 'bearer') app.verifyBearerAuth?.(request, reply, settled)
    else if (typeof key === 'string') known(callerOf(key, request), 'wrong_credentials')
    else if (hasSession(request)) known(callerOfSession(request), 'session_ended')
    else settled(refuse('not_authenticated'))

    function known(
      found: Promise<Caller | undefined>,
      otherwise: 'wrong_credentials' | 'session_ended',
    ): void {
      found.then((caller) => {
        if (caller) request.caller = caller
        settled(caller ? undefined : refuse(otherwise))
      }, settled)
    }
  })

  return async (key, request, reply) => {
    const caller = await callerOf(key, request)
    if (caller === undefined) throw await refused(refuse('wrong_credentials'), request, reply)
    return caller
  }
}
