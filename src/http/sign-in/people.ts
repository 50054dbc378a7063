import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../../config.ts'
import type { Caller } from '../../domain/callers.ts'
import { hashKey } from '../../domain/keys.ts'
import { refuse } from '../../domain/refusals.ts'
import { type Grant, scopes, summaryOf } from '../../domain/roles.ts'
import { now } from '../../domain/time.ts'
import { isDisabled } from '../../domain/user-settings.ts'
import type { Database } from '../../storage/database.ts'
import { type Identity, userOfIdentity } from '../../storage/users/identities.ts'
import { callerOf as callerOfUser, type User } from '../../storage/users/users.ts'
import { type Claims, grantsFor, hasOverage, namesFor, valuesOf } from './claims.ts'
import { type IssuerSpec, readIssuers } from './issuers-file.ts'
import {
  type AccessClaims,
  claimOf,
  connectProvider,
  type Provider,
  type SignedInThere,
  titleOf,
} from './provider.ts'

/** The users of identity providers. */
export interface People {
  providers: readonly Provider[]
  providerOf(issuer: string): Provider | undefined
  /** Whoever has just signed in at the provider; refused if it may not sign in here. */
  arrived(provider: Provider, person: SignedInThere): Promise<Caller>
  /** Undefined if its issuer is no longer configured, or if its user was removed or disabled. */
  callerOf(identity: Identity): Promise<Caller | undefined>
  /** The caller of an access token, and a way to look it up again. */
  readToken(token: string): Promise<{ caller: Caller; again(): Promise<Caller | undefined> }>
}

/** More values than this are not written to the audit log. */
const maxValues = 100

const sameIssuer = (a: string, b: string) => a === b || URL.parse(a)?.href === URL.parse(b)?.href

/** Reads the file of HEDDLE_OIDC. No provider is asked before somebody signs in. */
export async function openPeople(
  { oidc, users, ollama_user }: Config,
  db: Database,
  log: FastifyBaseLogger,
): Promise<People> {
  const specs = await readIssuers(oidc, process.env)
  const providers = specs.map((spec) => connectProvider(spec, log))
  const reserved = new Set(['api', '.', '..', ollama_user, ...users.map(({ name }) => name)])
  const providerOf = (issuer: string) => providers.find(({ spec }) => sameIssuer(spec.issuer, issuer))

  /** What the claims say that this person may do; undefined if that is decided here. */
  function grantsIn(spec: IssuerSpec, claims: Claims): Grant[] | undefined {
    if (spec.grants === undefined) return undefined
    if (hasOverage(claims, claimOf(spec)))
      throw forbidden(spec, 'your groups are too many for it to send; the operator can use roles instead')
    return grantsFor(spec.grants, valuesOf(claims, claimOf(spec)) ?? [])
  }

  async function signUp(
    spec: IssuerSpec,
    identity: Identity,
    claims: Claims,
    grants: Grant[],
  ): Promise<User> {
    const mark = hashKey(`${identity.issuer}\n${identity.subject}`).slice(0, 8)
    const names = namesFor(claims, mark).filter((name) => !reserved.has(name))
    const user = { ...summaryOf(grants), grants, created_at: now() }
    await db.write('signUp', { identity, names, user, by: by(spec) })
    const found = await userOfIdentity(db, identity)
    if (found === undefined) throw forbidden(spec, 'no name is free for you')
    return found
  }

  /** Refused unless it is, or may become, a user that is not disabled. */
  async function userFor(
    spec: IssuerSpec,
    identity: Identity,
    claims: Claims,
    grants?: Grant[],
  ): Promise<User> {
    const known = await userOfIdentity(db, identity)
    if (known !== undefined && isDisabled(known)) throw forbidden(spec, 'your user is disabled')
    if (known === undefined && !spec.sign_up)
      throw forbidden(spec, 'there is no such user, and none are added')
    const first = known === undefined ? (grants ?? grantsIn(spec, claims) ?? []) : grants
    if (first?.length === 0) throw forbidden(spec, `nothing in ${claimOf(spec)} gives you a role`)
    return known ?? signUp(spec, identity, claims, first ?? [])
  }

  async function callerOf(identity: Identity): Promise<Caller | undefined> {
    if (providerOf(identity.issuer) === undefined) return undefined
    const user = await userOfIdentity(db, identity)
    return user === undefined || isDisabled(user) ? undefined : callerOfUser(user)
  }

  return {
    providers,
    providerOf,
    callerOf,

    async arrived({ spec }, { identity: { issuer, subject }, claims }) {
      const identity = { issuer, subject }
      const values = valuesOf(claims, claimOf(spec))?.slice(0, maxValues)
      const note = (action: string, details: object) =>
        db.write('noteDeed', { action, details: { ...identity, values, ...details }, by: by(spec) })
      try {
        const grants = grantsIn(spec, claims)
        const { name, grants: before } = await userFor(spec, identity, claims, grants)
        // Whether an admin remains is for the provider to say, too.
        if (grants !== undefined && JSON.stringify(before) !== JSON.stringify(grants))
          await db.write('setGrants', { name, grants, lastAdminStays: false, by: by(spec) })
        await note('sign_in', { user: name, grants })
        const caller = await callerOf(identity)
        if (caller === undefined) throw forbidden(spec, 'your user is gone')
        return caller
      } catch (error) {
        await note('sign_in.refused', { why: (error as Error).message }).catch((err: unknown) =>
          log.error({ err }, 'a refused sign-in could not be written to the audit log'),
        )
        throw error
      }
    },

    async readToken(token) {
      const { decodeJwt } = await import('jose')
      const issuer = issuerIn(() => decodeJwt(token))
      const provider = issuer === undefined ? undefined : providerOf(issuer)
      if (provider === undefined) throw refuse('wrong_token', { why: 'its issuer is not known here' })
      const { spec } = provider
      const claims = await provider.readToken(token)
      const identity = { issuer: claims.iss, subject: claims.sub }
      const grants = hasClaim(spec, claims) ? grantsIn(spec, claims) : undefined
      // What a token says of groups holds for this request: an older one must not change what a sign-in has found.
      // It makes no keys either, which would have all of the user's roles, and gives nobody more than it lasts itself.
      const key = { scopes: scopes.filter((scope) => scope !== 'keys'), expires_at: claims.exp * 1_000_000 }
      const asToken = (caller: Caller): Caller => ({ ...caller, ...(grants && accessOf(grants)), key })
      const user = await userFor(spec, identity, claims, grants)
      return {
        caller: asToken(callerOfUser(user)),
        async again() {
          const caller = claims.exp * 1000 > Date.now() ? await callerOf(identity) : undefined
          return caller && asToken(caller)
        },
      }
    },
  }
}

const forbidden = (spec: IssuerSpec, why: string) =>
  refuse('sign_in_forbidden', { issuer: titleOf(spec), why })

/** No user has a space in its name. */
const by = ({ name }: IssuerSpec) => ({ via: 'http' as const, name: `issuer ${name}` })

const hasClaim = (spec: IssuerSpec, claims: AccessClaims) =>
  valuesOf(claims, claimOf(spec)) !== undefined || hasOverage(claims, claimOf(spec))

function accessOf(grants: Grant[]): Pick<Caller, 'role' | 'entities' | 'grants'> {
  const { role, entities } = summaryOf(grants)
  return { role, entities: new Set(entities), grants }
}

function issuerIn(decode: () => { iss?: unknown }): string | undefined {
  try {
    const { iss } = decode()
    return typeof iss === 'string' ? iss : undefined
  } catch {
    return undefined
  }
}
