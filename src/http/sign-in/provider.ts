import type { FastifyBaseLogger } from 'fastify'
import type { JWTPayload, JWTVerifyGetKey } from 'jose'
import type { ClientAuth, Configuration } from 'openid-client'
import { Refusal, refuse } from '../../domain/refusals.ts'
import type { ProviderSession } from '../../storage/users/page-sessions.ts'
import { type Claims, valuesOf } from './claims.ts'
import type { IssuerSpec } from './issuers-file.ts'

/** What a browser has to bring back from the provider. */
export interface Attempt {
  state: string
  nonce: string
  verifier: string
}

export interface SignedInThere {
  identity: ProviderSession
  claims: Claims
}

export type AccessClaims = JWTPayload & { iss: string; sub: string; exp: number }

/** An identity provider. Nothing of it is loaded or asked before it is needed, so it may be down when the server starts. */
export interface Provider {
  spec: IssuerSpec
  /** Where the browser signs in. */
  begin(redirectUri: string): Promise<{ url: URL; attempt: Attempt }>
  /** `callback` is where the browser came back to, as it sees it. */
  finish(callback: URL, attempt: Attempt): Promise<SignedInThere>
  /** Where the browser signs out; undefined where the provider has no such page, or does not answer. */
  endOf(idToken: string, after: string): Promise<URL | undefined>
  /** The claims of an access token of this issuer for this server. */
  readToken(token: string): Promise<AccessClaims>
  readLogoutToken(token: string): Promise<JWTPayload & { jti: string; exp: number }>
}

const timeoutMs = 10_000

/** After this long its description is read again; the old one serves while the provider is down. */
const freshMs = 3_600_000

/** Symmetric algorithms and `none` are not among them. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

/** The member of `events` that makes a JWT a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.4). */
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'

interface Description {
  config: Configuration
  keys: JWTVerifyGetKey
  readAt: number
}

export function connectProvider(spec: IssuerSpec, log: FastifyBaseLogger): Provider {
  let known: Description | undefined
  let reading: Promise<Description> | undefined

  async function read(): Promise<Description> {
    const [client, { createRemoteJWKSet }] = await Promise.all([import('openid-client'), import('jose')])
    const auth: ClientAuth =
      spec.client_secret === undefined
        ? client.None()
        : spec.client_auth === 'post'
          ? client.ClientSecretPost(spec.client_secret)
          : client.ClientSecretBasic(spec.client_secret)
    const isPlain = spec.issuer.startsWith('http:')
    const config = await client.discovery(new URL(spec.issuer), spec.client_id, undefined, auth, {
      // The signature of an ID token is checked as well, although it comes from the provider itself.
      execute: [client.enableNonRepudiationChecks, ...(isPlain ? [client.allowInsecureRequests] : [])],
      timeout: timeoutMs / 1000,
    })
    const { jwks_uri } = config.serverMetadata()
    if (jwks_uri === undefined) throw unavailable('its description has no jwks_uri')
    const keys = createRemoteJWKSet(new URL(jwks_uri), { timeoutDuration: timeoutMs })
    return { config, keys, readAt: performance.now() }
  }

  async function describe(): Promise<Description> {
    if (known !== undefined && performance.now() - known.readAt < freshMs) return known
    reading ??= read().finally(() => {
      reading = undefined
    })
    try {
      known = await reading
    } catch (error) {
      if (known === undefined) throw unavailable(reasonOf(error))
      known.readAt = performance.now()
      log.warn({ issuer: spec.issuer, why: reasonOf(error) }, 'an identity provider could not be read again')
    }
    return known
  }

  function unavailable(why: string): Refusal {
    log.warn({ issuer: spec.issuer, why }, 'an identity provider does not answer')
    return refuse('provider_unavailable', { issuer: titleOf(spec), why })
  }

  /** Errors of the protocol carry what was received, codes among it: only their reasons are told. */
  function failureOf(error: unknown): Refusal {
    if (error instanceof Refusal) return error
    const why = reasonOf(error)
    if (isUnreachable(error)) return unavailable(why)
    log.info({ issuer: spec.issuer, why }, 'a sign-in failed')
    return refuse('sign_in_failed', { issuer: titleOf(spec), why })
  }

  return {
    spec,

    async begin(redirectUri) {
      const client = await import('openid-client')
      const { config } = await describe()
      const attempt = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      }
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: [...new Set(['openid', 'email', 'profile', ...(spec.scopes ?? [])])].join(' '),
        code_challenge: await client.calculatePKCECodeChallenge(attempt.verifier),
        code_challenge_method: 'S256',
        state: attempt.state,
        nonce: attempt.nonce,
      })
      return { url, attempt }
    },

    async finish(callback, { state, nonce, verifier }) {
      const client = await import('openid-client')
      const { config } = await describe()
      try {
        const tokens = await client.authorizationCodeGrant(config, callback, {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        })
        const { id_token = '', access_token } = tokens
        const claims = tokens.claims()
        if (claims === undefined)
          throw refuse('sign_in_failed', { issuer: titleOf(spec), why: 'it sent no ID token' })
        const { iss, sub, sid } = claims
        // Many providers put groups and names there only.
        const isWhole =
          valuesOf(claims, claimOf(spec)) !== undefined && claims.preferred_username !== undefined
        const isElsewhere = !isWhole && config.serverMetadata().userinfo_endpoint !== undefined
        const more = isElsewhere ? await client.fetchUserInfo(config, access_token, sub) : {}
        const identity = { issuer: iss, subject: sub, sid: typeof sid === 'string' ? sid : null, id_token }
        return { identity, claims: { ...more, ...claims } }
      } catch (error) {
        throw failureOf(error)
      }
    },

    async endOf(idToken, after) {
      const client = await import('openid-client')
      try {
        const { config } = await describe()
        if (config.serverMetadata().end_session_endpoint === undefined) return undefined
        return client.buildEndSessionUrl(config, { id_token_hint: idToken, post_logout_redirect_uri: after })
      } catch {
        // Who signs out here has signed out, whatever the provider does.
        return undefined
      }
    },

    async readToken(token) {
      const { audience } = spec
      if (audience === undefined)
        throw refuse('wrong_token', { why: 'tokens of this issuer are not accepted' })
      const { payload, typ } = await verified(token, audience, ['iss', 'sub', 'exp'])
      // ID tokens and logout tokens of the same issuer are for the page.
      if (!/^((application\/)?at\+)?jwt$/i.test(typ) || 'nonce' in payload || 'events' in payload)
        throw refuse('wrong_token', { why: 'it is no access token' })
      return payload as AccessClaims
    },

    async readLogoutToken(token) {
      const { payload, typ } = await verified(token, spec.client_id, ['iss', 'iat', 'exp', 'jti', 'events'])
      const { events, sub, sid } = payload
      const isEvent = typeof events === 'object' && events !== null && Object.hasOwn(events, logoutEvent)
      const names = [sub, sid].filter((name) => name !== undefined)
      const why = !/^(logout\+)?jwt$/i.test(typ)
        ? `its type is ${typ.slice(0, 50)}`
        : !isEvent
          ? 'it is for another event'
          : 'nonce' in payload
            ? 'it has a nonce'
            : names.length === 0 || names.some((name) => typeof name !== 'string')
              ? 'it names neither sub nor sid'
              : undefined
      if (why !== undefined) throw refuse('wrong_token', { why })
      return payload as Awaited<ReturnType<Provider['readLogoutToken']>>
    },
  }

  async function verified(token: string, audience: string, requiredClaims: string[]) {
    const { jwtVerify } = await import('jose')
    const { config, keys } = await describe()
    const { issuer } = config.serverMetadata()
    try {
      const options = { issuer, audience, algorithms, requiredClaims, clockTolerance: 30 }
      const { payload, protectedHeader } = await jwtVerify(token, keys, options)
      return { payload, typ: protectedHeader.typ ?? 'JWT' }
    } catch (error) {
      if (isUnreachable(error)) throw failureOf(error)
      throw refuse('wrong_token', { why: reasonOf(error) })
    }
  }
}

export const claimOf = ({ claim = 'groups' }: Pick<IssuerSpec, 'claim'>): string => claim

export const titleOf = ({ title, name }: Pick<IssuerSpec, 'title' | 'name'>): string => title ?? name

/** Never a message of the protocol's libraries with what was received in it. */
function reasonOf(error: unknown): string {
  const {
    code,
    error: answer,
    claim,
    cause,
    name,
  } = error as {
    code?: unknown
    error?: unknown
    claim?: unknown
    cause?: { code?: unknown; status?: unknown; cause?: { code?: unknown } }
    name?: string
  }
  const detail = cause?.status ?? cause?.cause?.code ?? cause?.code
  const below = detail === undefined ? '' : ` (${detail})`
  if (typeof answer === 'string' && /^\w{1,60}$/.test(answer)) return `it says ${answer}`
  if (code === 'ERR_JWT_EXPIRED') return 'it has expired'
  if (typeof claim === 'string') return `its ${claim.slice(0, 50)} does not fit`
  return `${reasons[String(code)] ?? code ?? (below === '' ? name : 'no connection')}${below}`
}

const reasons: Record<string, string> = {
  ERR_JWKS_NO_MATCHING_KEY: 'the issuer has no such key',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'its signature is wrong',
  ERR_JOSE_ALG_NOT_ALLOWED: 'its algorithm is not accepted',
  OAUTH_INVALID_RESPONSE: 'its answer does not belong to this sign-in',
  OAUTH_JWT_CLAIM_COMPARISON_FAILED: 'its ID token is for another sign-in or client',
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: 'its ID token has expired, or a clock is wrong',
  OAUTH_TIMEOUT: 'it took too long',
  ERR_JWKS_TIMEOUT: 'it took too long',
}

/** Whether it is the provider that failed, and not what was sent by a browser or a program. */
function isUnreachable(error: unknown): boolean {
  const { code, status, cause } = error as { code?: string; status?: number; cause?: { status?: number } }
  const answered = status ?? cause?.status
  if (answered !== undefined && answered >= 500) return true
  // What `fetch` throws without a connection has a cause.
  if (code === undefined)
    return [error, cause].some((at) => at instanceof TypeError && at.cause !== undefined)
  if (code === 'OAUTH_RESPONSE_IS_NOT_CONFORM' || code === 'OAUTH_RESPONSE_IS_NOT_JSON') return true
  return ['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'ERR_JWKS_TIMEOUT', 'ERR_JOSE_GENERIC'].includes(code)
}
