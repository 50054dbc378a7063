import { byCaller, type Caller } from '../../domain/callers.ts'
import { projectPath } from '../../domain/fields.ts'
import { grantsOf } from '../../domain/roles.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { listProjects } from '../../storage/projects/list.ts'
import { Erasure, ErasureBody } from '../erasures/contract.ts'
import { erase } from '../erasures/erase.ts'
import { family, operationsUnder } from '../parts.ts'
import { scopeOf } from '../scope.ts'
import * as contract from './contract.ts'
import { deleteProject } from './delete.ts'
import { redactEarlier, redactionOf, setRedaction, tryRedaction } from './redaction.ts'

const operation = operationsUnder('projects')
const ofRedaction = '/projects/:entity/:project/redaction'

async function listOwn(db: BoundDatabase, caller: Caller, query: contract.ListQuery) {
  const { after = '', limit = contract.defaultLimit } = query
  const scopes = grantsOf(caller).map(({ scope }) => scope)
  const found = await listProjects(db, { scopes, after, limit: limit + 1 })
  const projects = found.slice(0, limit).map(({ isBeingDeleted, ...project }) => ({
    ...project,
    is_being_deleted: isBeingDeleted,
  }))
  return { projects, next: found.length > limit ? (projects.at(-1)?.project ?? null) : null }
}

export const projectRoutes = family(
  operation('GET', '/projects', {
    right: 'own',
    summary: 'List projects',
    querystring: contract.ListQuery,
    answer: contract.ListAnswer,
    refusals: ['query_too_slow'],
    rule: ({ db }, { caller, query }) => listOwn(db, caller, query),
  }),
  operation('DELETE', '/projects/:entity/:project', {
    right: 'administer',
    summary: 'Delete everything in a project',
    params: projectPath,
    answer: contract.DeleteAnswer,
    refusals: ['role_forbidden', 'project_not_found', 'cold_store_unset', 'cold_store_unreachable'],
    async rule({ db, signal }, { caller, params }) {
      const { project } = scopeOf(caller, params)
      return { deleted: await deleteProject(db, project, byCaller(caller), signal) }
    },
  }),
  operation('POST', '/v2/:entity/:project/erasures', {
    right: 'administer',
    summary: 'Erase what a project holds of a person or a conversation, with a receipt',
    params: projectPath,
    body: ErasureBody,
    answer: Erasure,
    refusals: [
      'role_forbidden',
      'erasure_ended',
      'cold_store_unset',
      'cold_store_unreachable',
      'cold_file_damaged',
      'query_too_slow',
    ],
    rule: ({ db }, { caller, params, body }) => erase(db, scopeOf(caller, params), body),
  }),
  operation('GET', ofRedaction, {
    right: 'read',
    summary: 'Read what is replaced in a project before it is stored',
    params: projectPath,
    answer: contract.RedactionAnswer,
    rule: ({ db }, { caller, params }) => redactionOf(db, scopeOf(caller, params).project),
  }),
  operation('PUT', ofRedaction, {
    right: 'administer',
    summary: 'Have private texts replaced before they are stored',
    params: projectPath,
    body: contract.RedactionBody,
    answer: contract.RedactionAnswer,
    refusals: ['role_forbidden', 'invalid_value'],
    rule: (services, { caller, params, body }) => setRedaction(services, scopeOf(caller, params), body),
  }),
  operation('DELETE', ofRedaction, {
    right: 'administer',
    summary: 'Store texts as they are from now on',
    params: projectPath,
    answer: contract.RedactionAnswer,
    refusals: ['role_forbidden'],
    rule: (services, { caller, params }) => setRedaction(services, scopeOf(caller, params), null),
  }),
  operation('POST', `${ofRedaction}/apply`, {
    right: 'administer',
    summary: 'Replace private texts in what is stored already',
    params: projectPath,
    answer: contract.RedactionAnswer,
    refusals: ['role_forbidden', 'redaction_unset', 'cold_store_unset'],
    rule: ({ db }, { caller, params }) => redactEarlier(db, scopeOf(caller, params)),
  }),
  operation('POST', `${ofRedaction}/try`, {
    right: 'administer',
    summary: 'Count what would be replaced in calls that are stored',
    params: projectPath,
    body: contract.TryRedactionBody,
    answer: contract.TriedRedaction,
    refusals: ['role_forbidden', 'invalid_value', 'query_too_slow'],
    rule: (services, { caller, params, body }) =>
      tryRedaction(services, scopeOf(caller, params), body, services.signal),
  }),
)
