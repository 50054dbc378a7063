import basicAuth from '@fastify/basic-auth'
import bearerAuth from '@fastify/bearer-auth'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config, ConfiguredUser } from '../config.ts'
import type { Caller } from '../domain/callers.ts'
import { hashKey, sameSecret } from '../domain/keys.ts'
import { type Refusal, refuse } from '../domain/refusals.ts'
import type { Reader } from '../storage/transaction.ts'
import { readUserSettings } from '../storage/users/settings.ts'
import { userOfKey } from '../storage/users/users.ts'
import { originOf, type TrustCheck } from './addresses.ts'
import { createKeyless } from './clients/keyless.ts'
import { asRefusal } from './errors.ts'
import { pageSessionHeader } from './page/session-header.ts'
import { hasSession, type PageSessions } from './page/sessions.ts'
import { limitWrongKeys } from './wrong-keys.ts'

/** Reading their settings for each request would take longer than everything else that is looked up for these users. */
const freshMs = 1_000

/** The users of HEDDLE_USERS by the hash of their key. Changes to their settings take effect within a second. */
function findConfigured(
  db: Reader,
  users: readonly ConfiguredUser[],
): (hash: string) => Caller | Promise<Caller> | undefined {
  const byHash = new Map(
    users.map(({ name, key, entities }): [string, { caller: Caller; readAt: number }] => {
      const role = entities.includes('*') ? 'admin' : 'member'
      return [hashKey(key), { caller: { name, role, entities: new Set(entities) }, readAt: -Infinity }]
    }),
  )
  return (hash) => {
    const user = byHash.get(hash)
    if (user === undefined) return undefined
    const now = performance.now()
    if (now - user.readAt < freshMs) return user.caller
    user.readAt = now
    return readUserSettings(db, user.caller.name).then(
      (settings) => {
        const { settings: _, ...caller } = user.caller
        user.caller = settings === undefined ? caller : { ...caller, settings }
        return user.caller
      },
      // These users can use the server even if its record fails; their last known settings still apply.
      () => user.caller,
    )
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The user that sent the request. Set on every route that is not public. */
    caller: Caller
    /** The caller as of now: undefined if the key was revoked or the session has ended since. */
    callerNow(): Promise<Caller | undefined>
  }
  interface FastifyContextConfig {
    /** The route needs no credentials. A test compares these routes with a short list. */
    public?: boolean
    /** The role that the route requires. */
    role?: 'admin'
    /** A header that may carry the key on this route. Authorization, x-api-key and api-key may do so everywhere. */
    keyHeader?: string
  }
}

/** The user name that Weave clients send, with the key as password. */
const anyUser = 'api'

/** The headers in which Anthropic's clients, and those of Azure's OpenAI, send the key. */
const keyHeaders = ['x-api-key', 'api-key']

/** Headers that may contain a secret. */
const secretHeaders = ['authorization', ...keyHeaders, 'proxy-authorization', 'cookie', pageSessionHeader]

/** Plugins write headers to the log: from here on they contain no key. */
function removeKeyHeaders(request: FastifyRequest): void {
  const { headers } = request.raw
  const { keyHeader: own } = request.routeOptions.config
  for (const name of own === undefined ? secretHeaders : [...secretHeaders, own]) {
    if (headers[name] !== undefined) headers[name] = '[redacted]'
  }
}

/** Finds the caller of a key, and slows down clients that send wrong ones. */
type SignIn = (key: string, request: FastifyRequest, reply: FastifyReply) => Promise<Caller>

/**
 * Authenticates each request by Basic, Bearer, a key in x-api-key or api-key, or the session of the page, before
 * anything of its body is read.
 */
export async function authenticateCallers(
  app: FastifyInstance,
  db: Reader,
  settings: Pick<Config, 'users' | 'wrong_keys' | 'ollama_user' | 'ollama_from'>,
  trusts: TrustCheck,
  sessions: PageSessions,
): Promise<SignIn> {
  const { users, wrong_keys } = settings
  const slowDown = wrong_keys > 0 ? limitWrongKeys(wrong_keys) : undefined
  const configured = findConfigured(db, users)

  // A key is found by its hash, so the time this takes reveals nothing about a key that is almost right. It is looked
  // up for each request, so a revoked key stops working at once.
  async function callerOfHash(hash: string): Promise<Caller | undefined> {
    const known = configured(hash)
    if (known !== undefined) return known
    const user = await userOfKey(db, hash)
    if (user === undefined) return undefined
    const { name, role, entities, settings, key: keySettings, keyId } = user
    return { name, role, entities: new Set(entities), key: keySettings, keyId, ...(settings && { settings }) }
  }
  const keylessCaller = createKeyless(db, settings, callerOfHash)
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
    // One or more spaces may follow the name of the scheme (RFC 9110, section 11.4).
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
    // The name of a scheme is case-insensitive (RFC 9110, section 11.1).
    specCompliance: 'rfc6749',
    verifyErrorLogLevel: 'debug',
    async auth(key, request) {
      const caller = await callerOf(key, request)
      if (caller) request.caller = caller
      return caller !== undefined
    },
  })
  /** Returns the refusal to send. Tools that ban addresses read these log lines with their addresses. */
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
      removeKeyHeaders(request)
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
    const key = names.map((name) => request.headers[name]).find((value) => value !== undefined)
    if (scheme === 'basic') app.basicAuth(request, reply, settled)
    else if (scheme === 'bearer') app.verifyBearerAuth?.(request, reply, settled)
    else if (typeof key === 'string') known(callerOf(key, request), 'wrong_credentials')
    else if (hasSession(request)) known(callerOfSession(request), 'session_ended')
    else known(keylessCaller(request), 'not_authenticated')

    function known(
      found: Promise<Caller | undefined>,
      otherwise: 'wrong_credentials' | 'session_ended' | 'not_authenticated',
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
