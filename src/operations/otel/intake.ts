import { inSteps } from '../../../packages/waiting/index.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { projectId } from '../../domain/fields.ts'
import { refuse } from '../../domain/refusals.ts'
import type { CallPart } from '../../storage/calls/parts.ts'
import { endPart, mergeParts, startPart } from '../calls/parts.ts'
import type { Ingest } from '../calls/write.ts'
import { projectNames, type ReadResource, type ReadSpan } from './reading.ts'

/** The spans that were rejected, while the others of the request were stored. */
export interface PartialSuccess {
  rejectedSpans: number
  errorMessage: string
}

const maxMessages = 20

/**
 * Stores every span that can become a call, and reports the others. Nothing is written if the caller has no access to
 * one of the projects. A request that is sent again writes the same calls.
 */
export async function takeSpans(
  { db, projects }: Ingest,
  caller: Caller,
  resources: readonly ReadResource[],
  header: string | undefined,
): Promise<PartialSuccess> {
  const fallback = header === undefined ? undefined : checked(header, projectHeader)
  if (fallback !== undefined) requireAccess(caller, fallback, 'project_id')
  const spans: { span: ReadSpan; project: string }[] = []
  for (const [index, resource] of resources.entries()) {
    const project = resource.isBroken
      ? ''
      : projectOf(resource, `resourceSpans.${index}.resource`, caller, fallback)
    for (const span of resource.spans) spans.push({ span, project })
  }
  const callParts: CallPart[] = []
  const messages: string[] = []
  let rejectedSpans = 0
  await inSteps(spans, async ({ span, project }) => {
    if ('why' in span) {
      rejectedSpans++
      if (messages.length < maxMessages) messages.push(span.why)
      return
    }
    const call = { ...span.call, project_id: project }
    const intake = { user: caller.name, retentionDays: await projects.retentionDays(project) }
    callParts.push({ ...startPart(call, intake), end: endPart(call).end })
  })
  if (callParts.length > 0) await db.write('upsertCalls', await mergeParts(callParts))
  return { rejectedSpans, errorMessage: messages.join('; ') }
}

/**
 * The project that a resource names, or that of the header. Half a name is refused, because the header would hide the
 * mistake.
 */
function projectOf(
  { entity, project, spans }: ReadResource,
  path: string,
  caller: Caller,
  fallback: string | undefined,
): string {
  if (entity === undefined && project === undefined) {
    if (fallback === undefined && spans.length > 0) throw noProject(path, undefined)
    return fallback ?? ''
  }
  if (entity === undefined || project === undefined) throw noProject(path, entity ?? project)
  const named = checked(`${entity}/${project}`, path)
  requireAccess(caller, named, path)
  return named
}

export const projectHeader = 'project_id'

function checked(project: string, field: string): string {
  if (projectId.safeParse(project).success) return project
  throw refuse('invalid_value', {
    field,
    given: JSON.stringify(project.slice(0, 300)),
    accepted: '<entity>/<project>',
  })
}

function noProject(path: string, half: string | undefined) {
  return refuse('invalid_value', {
    field: path,
    given:
      half === undefined ? 'it names no project' : `${JSON.stringify(half.slice(0, 300))} is half a project`,
    accepted: `the resource attributes ${projectNames}, or the header ${projectHeader}: <entity>/<project>`,
  })
}
