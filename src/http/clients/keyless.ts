import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import type { Caller } from '../../domain/callers.ts'
import { hashKey } from '../../domain/keys.ts'
import { isDisabled } from '../../domain/user-settings.ts'
import type { Reader } from '../../storage/transaction.ts'
import { callerOf, userNamed } from '../../storage/users/users.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Clients of the route send no key: they are the user of HEDDLE_OLLAMA_USER, if there is one. */
    keyless?: boolean
  }
}

type KeylessSettings = Pick<Config, 'ollama_user' | 'ollama_from' | 'users'>

/** Set by proxies in front of this server: their clients may be anywhere. */
const forwarding = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-real-ip',
  'cf-connecting-ip',
  'via',
]

/** Set by browsers: any page that somebody opens could send a request to their own machine. */
const ofPages = ['origin', 'referer', 'sec-fetch-site']

/**
 * Finds the user of requests without a key. Undefined if the settings name none, or if the request comes from a page or
 * from elsewhere.
 */
export function createKeyless(
  db: Reader,
  { ollama_user: name, ollama_from: from, users }: KeylessSettings,
  callerOfHash: (hash: string) => Promise<Caller | undefined>,
): (request: FastifyRequest) => Promise<Caller | undefined> {
  const key = users.find((user) => user.name === name)?.key

  async function find(): Promise<Caller | undefined> {
    if (key !== undefined) return callerOfHash(hashKey(key))
    const user = await userNamed(db, name)
    return user && !isDisabled(user) ? callerOf(user) : undefined
  }

  return async (request) => {
    const { config } = request.routeOptions
    const has = (header: string) => request.headers[header] !== undefined
    if (name === '' || !config.keyless || has('authorization')) return undefined
    if (ofPages.some(has) || (from === 'loopback' && (forwarding.some(has) || !isLocal(request))))
      return undefined
    request.callerNow = find
    const caller = await find()
    if (caller === undefined)
      request.log.warn({ user: name }, 'HEDDLE_OLLAMA_USER names a user who does not exist')
    return caller
  }
}

const isLoopback = (address: string) => /^(?:::ffff:)?127\.\d+\.\d+\.\d+$|^::1$/i.test(address)

/**
 * From this machine, to a name of it: a page whose own name leads here has another in Host. The header itself is read,
 * because behind a trusted proxy Fastify's `hostname` may be what a client wrote.
 */
function isLocal({ socket, headers }: FastifyRequest): boolean {
  const name = (headers.host ?? '')
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase()
  const isOwnName = name === 'localhost' || (isIP(name) !== 0 && isLoopback(name))
  return isOwnName && socket.remoteAddress !== undefined && isLoopback(socket.remoteAddress)
}
