import { projectPath } from '../../domain/fields.ts'
import { family, operation } from '../parts.ts'
import { scopeOf } from '../scope.ts'
import { Erasure, ErasureBody } from './contract.ts'
import { erase } from './erase.ts'

export const erasureRoutes = family(
  operation('POST', '/v2/:entity/:project/erasures', {
    right: 'administer',
    summary: 'Erase what a project holds of a person or a conversation, with a receipt',
    tags: ['projects'],
    params: projectPath,
    body: ErasureBody,
    answer: Erasure,
    refusals: ['role_forbidden', 'query_too_slow'],
    rule: ({ db, signal }, { caller, params, body }) => erase(db, scopeOf(caller, params), body, signal),
  }),
)
