import { z } from 'zod'
import { byCaller, type Caller } from '../../domain/callers.ts'
import { answer, plainText, projectPath } from '../../domain/fields.ts'
import { ProjectSettings } from '../../domain/project-settings.ts'
import type { Database } from '../../storage/database.ts'
import { listProjects } from '../../storage/projects/list.ts'
import { family, operation } from '../parts.ts'
import { scopeOf } from '../scope.ts'
import { deleteProject } from './delete.ts'

const defaultLimit = 100
const maxAtOnce = 1_000

const ListQuery = z.strictObject({
  after: plainText(256)
    .optional()
    .meta({ description: 'Continues after this name: `next` of the previous page.' }),
  limit: z
    .string()
    .regex(/^\d{1,15}$/, 'expected a whole number')
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= maxAtOnce, `expected 1 to ${maxAtOnce}`)
    .optional()
    .meta({ default: String(defaultLimit), description: `At most ${maxAtOnce}.` }),
})
type ListQuery = z.output<typeof ListQuery>

const ListAnswer = answer('The projects that your key can access, sorted by name.', {
  projects: z.array(
    z.object({
      project: z.string().meta({ description: '<entity>/<project>' }),
      settings: ProjectSettings,
      is_being_deleted: z.boolean(),
    }),
  ),
  next: z.string().nullable().meta({ description: 'Null on the last page.' }),
})

const count = z.int().min(0)

const DeleteAnswer = answer('Everything of the project is deleted. What was deleted:', {
  deleted: z.record(z.string(), count).meta({
    description: 'Numbers of calls, feedback, queues, object versions, tables, files, prices and monitors.',
  }),
})

const tags = ['projects']

async function listOwn(db: Database, { entities }: Caller, query: ListQuery, signal: AbortSignal) {
  const { after = '', limit = defaultLimit } = query
  const own = entities.has('*') ? null : [...entities]
  const found = await listProjects(db, { entities: own, after, limit: limit + 1 }, signal)
  const projects = found.slice(0, limit).map(({ isBeingDeleted, ...project }) => ({
    ...project,
    is_being_deleted: isBeingDeleted,
  }))
  return { projects, next: found.length > limit ? (projects.at(-1)?.project ?? null) : null }
}

export const projectRoutes = family(
  operation('GET', '/projects', {
    summary: 'List projects',
    tags,
    querystring: ListQuery,
    answer: ListAnswer,
    refusals: ['query_too_slow'],
    rule: ({ db, signal }, { caller, query }) => listOwn(db, caller, query, signal),
  }),
  operation('DELETE', '/projects/:entity/:project', {
    summary: 'Delete everything in a project',
    tags,
    params: projectPath,
    answer: DeleteAnswer,
    role: 'admin',
    refusals: ['role_forbidden', 'project_not_found'],
    async rule({ db, signal }, { caller, params }) {
      const { project } = scopeOf(caller, params)
      return { deleted: await deleteProject(db, project, byCaller(caller), signal) }
    },
  }),
)
