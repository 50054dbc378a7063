import basicAuth from '@fastify/basic-auth'
import bearerAuth from '@fastify/bearer-auth'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config, ConfiguredUser } from '../config.ts'
import { type Caller, requireRight } from '../domain/callers.ts'
import { hashKey, sameSecret } from '../domain/keys.ts'
import { type Refusal, refuse } from '../domain/refusals.ts'
import type { Right } from '../domain/roles.ts'
import { now } from '../domain/time.ts'
import { isDisabled } from '../domain/user-settings.ts'
import type { Reader } from '../storage/transaction.ts'
import { readUserSettings } from '../storage/users/settings.ts'
import { callerOf as callerOfUser, userOfKey } from '../storage/users/users.ts'
import { originOf, type TrustCheck } from './addresses.ts'
import { createKeyless } from './clients/keyless.ts'
import { requireNamedOrigin } from './cross-origin/origins.ts'
import { asRefusal } from './errors.ts'
import { takeInside } from './inside.ts'
import { pageSessionHeader } from './page/session-header.ts'
import { hasSession, type PageSessions } from './page/sessions.ts'
import type { People } from './sign-in/people.ts'
import { limitWrongKeys } from './wrong-keys.ts'

/** Reading their settings for each request would take longer than everything else that is looked up for these users. */
const freshMs = 1_000

interface Known {
  caller: Caller
  readAt: number
  /** Nothing is known of the settings before it ends, so everybody waits for it. */
  firstRead?: Promise<Caller> | undefined
}

/** The users of HEDDLE_USERS by the hash of their key. Changes to their settings take effect within a second. */
function findConfigured(
  db: Reader,
  users: readonly ConfiguredUser[],
): (hash: string) => Caller | Promise<Caller> | undefined {
  const byHash = new Map(
    users.map(({ name, key, entities }): [string, Known] => {
      const role = entities.includes('*') ? 'admin' : 'member'
      return [hashKey(key), { caller: { name, role, entities: new Set(entities) }, readAt: -Infinity }]
    }),
  )
  return (hash) => {
    const user = byHash.get(hash)
    if (user === undefined) return undefined
    const at = performance.now()
    if (at - user.readAt < freshMs) return user.firstRead ?? user.caller
    const isFirst = user.readAt === -Infinity
    user.readAt = at
    const read = readUserSettings(db, user.caller.name).then(
      (settings) => {
        const { settings: _, ...caller } = user.caller
        user.caller = settings === undefined ? caller : { ...caller, settings }
        return user.caller
      },
      // These users can use the server even if its record fails; their last known settings still apply.
      () => user.caller,
    )
    if (isFirst) {
      user.firstRead = read.finally(() => {
        user.firstRead = undefined
      })
    }
    return read
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The user that sent the request. Set on every route that is not public. */
    caller: Caller
    /** The caller as of now, wherever it may act: undefined if the key or the session has ended since. */
    callerNow(): Promise<Caller | undefined>
    /** The hash of the key that was sent, or with which the session was opened. */
    keyHash?: string
  }
  interface FastifyContextConfig {
    /** The route needs no credentials. A test compares these routes with a short list. */
    public?: boolean
    /** What the route does. Every route that is not public declares it, or the server does not start. */
    right?: Right
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

/** What pages of other sites may send without asking: a browser that remembers a key of Basic adds it. */
const needsNoPreflight = ({ method, headers }: FastifyRequest) =>
  method === 'POST' && !headers['content-type']?.startsWith('application/json')

/** A JWT in its compact form; no key looks like one. */
const isToken = (key: string) => /^eyJ[\w-]*\.[\w-]*\.[\w-]*$/.test(key)

/** The caller as one who may do what the route of the request does, at least somewhere. */
export function callerOn(caller: Caller, { routeOptions: { config } }: FastifyRequest): Caller {
  // Unknown paths have no route: they answer 404 to everybody.
  if (config.right === undefined) return caller
  requireRight(caller, config.right)
  return { ...caller, right: config.right }
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
  people?: People,
): Promise<{ signIn: SignIn; callerOfHash(hash: string): Promise<Caller | undefined> }> {
  const { users, wrong_keys } = settings
  const slowDown = wrong_keys > 0 ? limitWrongKeys(wrong_keys) : undefined
  const configured = findConfigured(db, users)

  // A key is found by its hash, so the time this takes reveals nothing about a key that is almost right. It is looked
  // up for each request, so a revoked key stops working at once.
  async function callerOfHash(hash: string): Promise<Caller | undefined> {
    const known = await configured(hash)
    if (known !== undefined) return isDisabled(known) ? undefined : known
    const user = await userOfKey(db, hash, now())
    return user && !isDisabled(user) ? callerOfUser(user) : undefined
  }
  const keylessCaller = createKeyless(db, settings, callerOfHash)
  function callerOf(key: string, request: FastifyRequest): Promise<Caller | undefined> {
    const hash = hashKey(key)
    request.callerNow = () => callerOfHash(hash)
    request.keyHash = hash
    return callerOfHash(hash)
  }
  async function callerOfSession(request: FastifyRequest): Promise<Caller | undefined> {
    const session = await sessions.find(request)
    if (session === undefined) return undefined
    const { identity, key_hash } = session
    if (!identity) request.keyHash = key_hash
    const find = async () => (identity ? people?.callerOf(identity) : callerOfHash(key_hash))
    request.callerNow = async () => ((await sessions.isOpen(request)) ? find() : undefined)
    return find()
  }

  async function callerOfToken(from: People, token: string, request: FastifyRequest): Promise<Caller> {
    const { caller, again } = await from.readToken(token)
    request.callerNow = again
    return caller
  }

  await app.register(basicAuth, {
    // One or more spaces may follow the name of the scheme (RFC 9110, section 11.4).
    strictCredentials: false,
    async validate(name, key, request, reply) {
      if (needsNoPreflight(request)) requireNamedOrigin(request, reply)
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
      const caller = await (people && isToken(key)
        ? callerOfToken(people, key, request)
        : callerOf(key, request))
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

  app.addHook('onRoute', ({ method, url, config }) => {
    if (config?.public || config?.right !== undefined) return
    throw new Error(`${method} ${url} declares no right: see src/domain/roles.ts`)
  })
  app.decorateRequest('caller')
  app.decorateRequest('callerNow')
  app.decorateRequest('keyHash')
  app.decorateRequest('batched')
  app.decorateRequest('waiting')
  app.addHook('onRequest', (request, reply, done) => {
    const { config } = request.routeOptions
    if (config.public) return done()
    const settled = (error?: Error) => {
      removeKeyHeaders(request)
      if (error) return void refused(error, request, reply).then(done, done)
      try {
        request.caller = callerOn(request.caller, request)
        done()
      } catch (refusal) {
        done(refusal as Error)
      }
    }
    if (takeInside(request, reply)) return settled()
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

  const signIn: SignIn = async (key, request, reply) => {
    const caller = await callerOf(key, request)
    if (caller === undefined) throw await refused(refuse('wrong_credentials'), request, reply)
    return caller
  }
  return { signIn, callerOfHash }
}
