import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { hashKey } from '../../domain/keys.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import type { App } from '../contracts.ts'
import { asRefusal, logError, routeNotFound, sendRefusal } from '../errors.ts'
import { cookieWith, newSecret, rootOf, ticketHash } from '../page/session-cookie.ts'
import { type Seals, storeAttempt, takeAttempt } from './attempts.ts'
import type { People } from './people.ts'
import { type Provider, titleOf } from './provider.ts'

const style = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}body{max-width:34rem;margin:18vh auto;padding:0 1.5rem}a{color:inherit}`
const policy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`

const escaped = (text: string) => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)

/** What a browser shows that could not sign in. It needs nothing else of the page. */
function sendRefusalPage(reply: FastifyReply, refusal: Refusal, again: string): FastifyReply {
  if (refusal.status === 503) reply.header('retry-after', '5')
  return reply
    .code(refusal.status)
    .headers({
      'content-security-policy': policy,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    })
    .type('text/html; charset=utf-8')
    .send(
      `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Heddle: not signed in</title><style>${style}</style><main><h1>Not signed in</h1><p>${escaped(refusal.message)}<p><a href="${escaped(again)}">Back to the sign-in</a></main></html>`,
    )
}

interface SignInParts {
  db: Database
  people: People
  seals: Seals
  /** Where browsers find this server, without a slash at its end. */
  publicUrl: string
}

/** For the page to exchange what the address has behind its #, which reaches no log. */
const ticketLifetime = 60_000_000

const StartQuery = z.object({
  return: z
    .string()
    .max(4096)
    .regex(/^\/(?![/\\])[^\\\s#]*$/, 'expected a path of this page, beginning with one /')
    .optional(),
})

/** Where browsers go to sign in with an identity provider, and come back to; and where providers sign them out. */
export function answerSignIn(app: App, { db, people, seals, publicUrl }: SignInParts): void {
  const root = rootOf(publicUrl)
  const isSecure = publicUrl.startsWith('https:')
  const hidden = { config: { public: true }, bodyLimit: 64 * 1024, schema: { hide: true } }

  function providerOf(request: FastifyRequest): Provider {
    const { issuer } = request.params as { issuer: string }
    const provider = people.providers.find(({ spec }) => spec.name === issuer)
    if (provider === undefined) throw routeNotFound(request, 'GET /ui/issuers lists the issuers')
    return provider
  }
  const addressOf = ({ spec }: Provider) => `${publicUrl}/sign-in/${spec.name}/callback`
  const pathOf = ({ spec }: Provider) => `${root}/sign-in/${spec.name}/`

  /** Browsers get pages. */
  const onPage = (handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>) => ({
    ...hidden,
    errorHandler(error: Error, request: FastifyRequest, reply: FastifyReply) {
      logError(error, request)
      sendRefusalPage(reply, asRefusal(error, request), `${root}/`)
    },
    handler: (request: FastifyRequest, reply: FastifyReply) => {
      reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
      return handler(request, reply)
    },
  })

  app.get('/sign-in/:issuer', {
    ...onPage(async (request, reply) => {
      const provider = providerOf(request)
      const { return: then = '/' } = request.query as z.output<typeof StartQuery>
      const { url, attempt } = await provider.begin(addressOf(provider))
      const cookie = { issuer: provider.spec.name, path: pathOf(provider), isSecure }
      await storeAttempt(seals, reply, { ...attempt, then, ...cookie })
      return reply.redirect(url.href, 303)
    }),
    schema: { hide: true, querystring: StartQuery },
  })

  app.get(
    '/sign-in/:issuer/callback',
    onPage(async (request, reply) => {
      const provider = providerOf(request)
      // As the browser sees it, whatever a proxy has made of it.
      const callback = new URL(addressOf(provider))
      callback.search = new URL(request.url, publicUrl).search
      const state = callback.searchParams.get('state') ?? ''
      const cookie = { issuer: provider.spec.name, path: pathOf(provider), state }
      const begun = await takeAttempt(seals, request, reply, cookie)
      if (begun === undefined)
        throw refuse('sign_in_failed', {
          issuer: titleOf(provider.spec),
          why: 'this browser has not begun it, has finished it, or took more than ten minutes',
        })
      const person = await provider.finish(callback, begun)
      const caller = await people.arrived(provider, person)
      const [secret, ticket] = [newSecret(), newSecret()]
      const at = now()
      const session = {
        hash: hashKey(secret),
        half_hash: ticketHash(ticket),
        key_hash: '',
        expires_at: at + ticketLifetime,
        identity: person.identity,
      }
      await db.write('openPageSession', { session, now: at })
      request.log.info({ user: caller.name, issuer: provider.spec.name }, 'signed in')
      const ended = reply.getHeader('set-cookie')
      reply.header('set-cookie', [...(ended ? [String(ended)] : []), cookieWith(secret, root, isSecure)])
      return reply.redirect(`${publicUrl}${begun.then}#ticket=${ticket}`, 303)
    }),
  )

  /** Back-channel logout: nothing is looked up before the signature of the token holds. */
  app.register(async (scope) => {
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: 64 * 1024 },
      (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
    )
    scope.post('/sign-in/:issuer/logout', hidden, async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const provider = providerOf(request)
      const { logout_token = '' } = (request.body ?? {}) as { logout_token?: string }
      const wrong = (why: string) => sendRefusal(request, reply, refuse('wrong_logout_token', { why }))
      try {
        const { iss = '', sid, sub, jti, exp } = await provider.readLogoutToken(logout_token)
        const ended = await db.write('endProviderSessions', {
          issuer: iss,
          sid: typeof sid === 'string' ? sid : null,
          subject: sub ?? null,
          token_hash: hashKey(`${iss}\n${jti}`),
          expires_at: (exp + 60) * 1_000_000,
          now: now(),
        })
        if (ended === undefined) return wrong('it was used before')
        return reply.send({})
      } catch (error) {
        const refusal = asRefusal(error, request)
        if (refusal.code !== 'wrong_token') throw error
        return wrong(String(refusal.values.why))
      }
    })
  })
}
