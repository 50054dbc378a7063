import { formatTime, parseTime } from '../../domain/time.ts'
import { refusalContracts } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { boundTo } from '../../storage/transaction.ts'
import { readAudit } from '../../storage/users/audit.ts'
import { family, type Operation, operationsUnder } from '../parts.ts'
import * as contract from './contract.ts'
import { changeGrants } from './grants.ts'
import { accept, invite, readInvitations, withdraw } from './invitations.ts'
import { createKey, readKeys, revokeKey, rotateKey } from './keys.ts'
import { changeSettings, createUser, readUsers, removeUser } from './users.ts'

/** A page of the audit log, the latest first. */
async function queryAudit(db: BoundDatabase, body: contract.AuditBody) {
  const { from, until, limit = 100, ...view } = body
  const times = {
    from: from === undefined ? 0 : (parseTime(from) ?? 0),
    until: (until === undefined ? undefined : parseTime(until)) ?? Number.MAX_SAFE_INTEGER,
  }
  const found = await readAudit(db, { ...view, ...times, limit: limit + 1 })
  const entries = found.slice(0, limit).map(({ at, details, ...entry }) => ({
    ...entry,
    at: formatTime(at),
    details: JSON.parse(details) as Record<string, unknown>,
  }))
  return { entries, next: found.length > limit ? (entries.at(-1)?.id ?? null) : null }
}

const operation = operationsUnder('people')

const { 401: _, ...acceptanceRefusals } = refusalContracts(
  'invitation_not_found',
  'user_exists',
  'user_name_used',
  'invalid_request',
  'malformed_json',
  'body_too_large',
  'unsupported_media_type',
)

/** The sender is no user yet. */
const acceptance: Operation = async (app, { db, people }) => {
  app.post(
    '/invitations/accept',
    {
      config: { public: true },
      bodyLimit: 16 * 1024,
      schema: {
        summary: 'Accept an invitation: makes the user and its first key',
        tags: ['people'],
        security: [],
        body: contract.AcceptBody,
        response: {
          200: contract.AcceptAnswer,
          ...acceptanceRefusals,
        },
      },
    },
    ({ body }, reply) => accept(boundTo(db, disconnectSignal(reply)), people, body),
  )
}

export const peopleRoutes = family(
  operation('GET', '/users', {
    right: 'operate',
    summary: 'List users',
    answer: contract.UsersAnswer,
    refusals: ['role_forbidden'],
    rule: ({ db, people }) => readUsers(db, people),
  }),
  operation('POST', '/users', {
    right: 'operate',
    summary: 'Create a user with its first key',
    body: contract.UserBody,
    answer: contract.NewUserAnswer,
    refusals: ['role_forbidden', 'scope_forbidden', 'key_outlives', 'user_exists'],
    rule: ({ db, people }, { caller, body }) => createUser(db, people, caller, body),
  }),
  operation('DELETE', '/users/:name', {
    right: 'operate',
    summary: 'Delete a user and its keys; what it wrote is kept',
    params: contract.UserPath,
    answer: contract.RevokedAnswer,
    refusals: ['role_forbidden', 'user_not_found', 'user_configured', 'own_user_stays', 'last_admin'],
    rule: ({ db, people }, { caller, params }) => removeUser(db, people, caller, params.name),
  }),
  operation('GET', '/keys', {
    right: 'keys',
    summary: 'List your keys; admins can list those of any user',
    querystring: contract.KeysQuery,
    answer: contract.KeysAnswer,
    refusals: ['role_forbidden', 'user_not_found'],
    rule: ({ db, people }, { caller, query }) => readKeys(db, people, caller, query.user),
  }),
  operation('POST', '/keys', {
    right: 'keys',
    summary: 'Create another key, which is shown once',
    body: contract.KeyBody,
    answer: contract.NewKeyAnswer,
    refusals: [
      'role_forbidden',
      'scope_forbidden',
      'user_not_found',
      'user_configured',
      'too_many_keys',
      'invalid_value',
    ],
    rule: ({ db, people }, { caller, body }) => createKey(db, people, caller, body),
  }),
  operation('DELETE', '/keys/:id', {
    right: 'keys',
    summary: 'Revoke one of your keys; admins can revoke those of any user',
    params: contract.KeyPath,
    answer: contract.RevokedAnswer,
    refusals: ['key_not_found'],
    rule: ({ db, people }, { caller, params }) => revokeKey(db, people, caller, params.id),
  }),
  operation('POST', '/keys/:id/rotate', {
    right: 'keys',
    summary: 'Replace a key by another one; both work for a time',
    params: contract.KeyPath,
    body: contract.RotateBody,
    answer: contract.NewKeyAnswer,
    refusals: ['role_forbidden', 'scope_forbidden', 'key_not_found', 'too_many_keys', 'invalid_value'],
    rule: ({ db, people }, { caller, params, body }) => rotateKey(db, people, caller, params.id, body),
  }),
  operation('PUT', '/users/:name/grants', {
    right: 'administer',
    summary: 'Set the grants of a user where you are an admin; others stay',
    params: contract.UserPath,
    body: contract.GrantsBody,
    answer: contract.GrantsAnswer,
    refusals: [
      'key_outlives',
      'role_forbidden',
      'scope_forbidden',
      'user_not_found',
      'user_configured',
      'own_user_stays',
      'last_admin',
    ],
    rule: ({ db, people }, { caller, params, body }) =>
      changeGrants(db, people, caller, params.name, body.grants),
  }),
  operation('PUT', '/users/:name/settings', {
    right: 'operate',
    summary: 'Set the limits of a user, or disable it',
    params: contract.UserPath,
    body: contract.SettingsBody,
    answer: contract.SettingsAnswer,
    refusals: ['role_forbidden', 'user_not_found', 'own_user_stays'],
    rule: ({ db, people }, { caller, params, body }) => changeSettings(db, people, caller, params.name, body),
  }),
  operation('POST', '/invitations', {
    right: 'administer',
    summary: 'Invite a user: whoever has the secret makes one, once',
    body: contract.InvitationBody,
    answer: contract.NewInvitationAnswer,
    refusals: ['role_forbidden', 'scope_forbidden', 'key_outlives', 'too_many_invitations'],
    rule: ({ db }, { caller, body }) => invite(db, caller, body),
  }),
  operation('GET', '/invitations', {
    right: 'administer',
    summary: 'List open invitations',
    answer: contract.InvitationsAnswer,
    refusals: ['role_forbidden'],
    rule: ({ db }, { caller }) => readInvitations(db, caller),
  }),
  operation('DELETE', '/invitations/:id', {
    right: 'administer',
    summary: 'Withdraw an invitation',
    params: contract.KeyPath,
    answer: contract.RevokedAnswer,
    refusals: ['role_forbidden', 'invitation_not_found'],
    rule: ({ db }, { caller, params }) => withdraw(db, caller, params.id),
  }),
  acceptance,
  operation('POST', '/audit/query', {
    right: 'operate',
    summary: 'Read what was done with users, keys and settings, and what was deleted',
    body: contract.AuditBody,
    answer: contract.AuditAnswer,
    refusals: ['role_forbidden', 'query_too_slow'],
    rule: ({ db }, { body }) => queryAudit(db, body),
  }),
)
