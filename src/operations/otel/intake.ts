import { type Caller, requireAccess } from '../../domain/callers.ts'
import { projectId } from '../../domain/fields.ts'
import { refuse } from '../../domain/refusals.ts'
import { createYieldToLoop } from '../../domain/yielding.ts'
import { endPart, type GivenPart, type Intake, mergeParts, startPart } from '../calls/parts.ts'
import type { Ingest } from '../calls/write.ts'
import { callOfSpan } from './call.ts'
import { textOf } from './conventions.ts'
import type { ResourcePiece, SpanPiece } from './pieces.ts'
import { cut, type Resource, SpanError } from './span.ts'

/** The spans that were rejected, while the others of the request were stored. */
export interface PartialSuccess {
  rejectedSpans: number
  errorMessage: string
}

const mostMessages = 20

/**
 * Every span that can be a call becomes one; the others are reported. Nothing is written when one of the projects is out
 * of the caller's reach. A request that is sent again writes the same calls.
 */
export async function takeSpans(
  { db, retentionDays }: Ingest,
  caller: Caller,
  pieces: readonly ResourcePiece[],
  header: string | undefined,
): Promise<PartialSuccess> {
  const yieldToLoop = createYieldToLoop()
  const fallback = projectOfHeader(header)
  if (fallback !== undefined) requireAccess(caller, fallback, 'project_id')
  const places: { project: string; resource: Resource; spans: SpanPiece[] }[] = []
  const messages: string[] = []
  let rejectedSpans = 0
  const reject = (message: string) => {
    rejectedSpans++
    if (messages.length < mostMessages) messages.push(message)
  }
  for (const [index, { resource, spans }] of pieces.entries()) {
    const pause = yieldToLoop()
    if (pause) await pause
    const place = `resourceSpans.${index}.resource`
    const opened = openedOr(resource, (why) => {
      for (const _ of spans) reject(`${place}: ${why}`)
    })
    if (opened === undefined) continue
    const project = projectOfResource(opened, place) ?? fallback
    if (project !== undefined) {
      requireAccess(caller, project, place)
      places.push({ project, resource: opened, spans })
    } else if (spans.length > 0) throw noProject(place, undefined)
  }

  const parts: GivenPart[] = []
  const intake = { user: caller.name, retentionDays }
  for (const { project, resource, spans } of places) {
    for (const span of spans) {
      const pause = yieldToLoop()
      if (pause) await pause
      const part = openedOr(() => partOf(span, resource, project, intake), reject)
      if (part) parts.push(part)
    }
  }
  if (parts.length > 0) await db.write('upsertCalls', await mergeParts(parts))
  return { rejectedSpans, errorMessage: messages.join('; ') }
}

function partOf(piece: SpanPiece, resource: Resource, project: string, intake: Intake): GivenPart {
  let name = 'a span'
  try {
    const span = piece.span()
    name = `span ${cut(span.spanId)}`
    const call = callOfSpan(span, resource, piece.scope(), project)
    return { ...startPart(call, intake), end: endPart(call).end }
  } catch (error) {
    if (error instanceof SpanError) throw new SpanError(`${name}: ${error.message}`)
    throw error
  }
}

function openedOr<T>(open: () => T, malformed: (why: string) => void): T | undefined {
  try {
    return open()
  } catch (error) {
    if (!(error instanceof SpanError)) throw error
    malformed(error.message)
    return undefined
  }
}

const entityName = 'wandb.entity'
const projectName = 'wandb.project'

export const projectHeader = 'project_id'

/** The project that a resource names. Half a name is refused: the header would hide the mistake. */
function projectOfResource({ attributes }: Resource, place: string): string | undefined {
  const entity = textOf(attributes, entityName)
  const project = textOf(attributes, projectName)
  if (entity === undefined && project === undefined) return undefined
  if (entity === undefined || project === undefined) throw noProject(place, entity ?? project)
  return checked(`${entity}/${project}`, place)
}

function projectOfHeader(given: string | undefined): string | undefined {
  return given === undefined ? undefined : checked(given, projectHeader)
}

function checked(project: string, field: string): string {
  if (projectId.safeParse(project).success) return project
  throw refuse('invalid_value', {
    field,
    given: JSON.stringify(project.slice(0, 300)),
    accepted: '<entity>/<project>',
  })
}

function noProject(place: string, given: string | undefined) {
  return refuse('invalid_value', {
    field: place,
    given:
      given === undefined
        ? 'it names no project'
        : `${JSON.stringify(given.slice(0, 300))} is half a project`,
    accepted: `the resource attributes ${entityName} and ${projectName}, or the header ${projectHeader}: <entity>/<project>`,
  })
}
