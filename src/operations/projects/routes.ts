import { byCaller, type Caller } from '../../domain/callers.ts'
import { projectPath } from '../../domain/fields.ts'
import { grantsOf } from '../../domain/roles.ts'
import type { Database } from '../../storage/database.ts'
import { listProjects } from '../../storage/projects/list.ts'
import { family, operation } from '../parts.ts'
import { scopeOf } from '../scope.ts'
import { DeleteAnswer, defaultLimit, ListAnswer, ListQuery } from './contract.ts'
import { deleteProject } from './delete.ts'

const tags = ['projects']

async function listOwn(db: Database, caller: Caller, query: ListQuery, signal: AbortSignal) {
  const { after = '', limit = defaultLimit } = query
  const scopes = grantsOf(caller).map(({ scope }) => scope)
  const found = await listProjects(db, { scopes, after, limit: limit + 1 }, signal)
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
    tags,
    querystring: ListQuery,
    answer: ListAnswer,
    refusals: ['query_too_slow'],
    rule: ({ db, signal }, { caller, query }) => listOwn(db, caller, query, signal),
  }),
  operation('DELETE', '/projects/:entity/:project', {
    right: 'administer',
    summary: 'Delete everything in a project',
    tags,
    params: projectPath,
    answer: DeleteAnswer,
    refusals: ['role_forbidden', 'project_not_found'],
    async rule({ db, signal }, { caller, params }) {
      const { project } = scopeOf(caller, params)
      return { deleted: await deleteProject(db, project, byCaller(caller), signal) }
    },
  }),
)
