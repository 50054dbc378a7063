import { family, operation } from '../parts.ts'
import {
  KeyBody,
  KeyPath,
  KeysAnswer,
  KeysQuery,
  NewKeyAnswer,
  NewUserAnswer,
  RevokedAnswer,
  UserBody,
  UserPath,
  UsersAnswer,
} from './contract.ts'
import { createKey, readKeys, revokeKey } from './keys.ts'
import { createUser, readUsers, removeUser } from './users.ts'

const tags = ['people']
const admins = { tags, right: 'operate' } as const

export const peopleRoutes = family(
  operation('GET', '/users', {
    ...admins,
    summary: 'List users',
    answer: UsersAnswer,
    refusals: ['role_forbidden'],
    rule: ({ db, people }) => readUsers(db, people),
  }),
  operation('POST', '/users', {
    ...admins,
    summary: 'Create a user with its first key',
    body: UserBody,
    answer: NewUserAnswer,
    refusals: ['role_forbidden', 'user_exists'],
    rule: ({ db, people }, { caller, body }) => createUser(db, people, caller, body),
  }),
  operation('DELETE', '/users/:name', {
    ...admins,
    summary: 'Delete a user and its keys; what it wrote is kept',
    params: UserPath,
    answer: RevokedAnswer,
    refusals: ['role_forbidden', 'user_not_found', 'user_configured', 'own_user_stays'],
    rule: ({ db, people }, { caller, params }) => removeUser(db, people, caller, params.name),
  }),
  operation('GET', '/keys', {
    right: 'keys',
    tags,
    summary: 'List your keys; admins can list those of any user',
    querystring: KeysQuery,
    answer: KeysAnswer,
    refusals: ['role_forbidden', 'user_not_found'],
    rule: ({ db, people }, { caller, query }) => readKeys(db, people, caller, query.user),
  }),
  operation('POST', '/keys', {
    right: 'keys',
    tags,
    summary: 'Create another key, which is shown once',
    body: KeyBody,
    answer: NewKeyAnswer,
    refusals: ['role_forbidden', 'user_not_found', 'user_configured', 'too_many_keys'],
    rule: ({ db, people }, { caller, body }) => createKey(db, people, caller, body),
  }),
  operation('DELETE', '/keys/:id', {
    right: 'keys',
    tags,
    summary: 'Revoke one of your keys; admins can revoke those of any user',
    params: KeyPath,
    answer: RevokedAnswer,
    refusals: ['key_not_found'],
    rule: ({ db, people }, { caller, params }) => revokeKey(db, people, caller, params.id),
  }),
)
