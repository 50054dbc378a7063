import { type Caller, requireAccess } from '../../domain/callers.ts'
import { createYieldToLoop } from '../../domain/yielding.ts'
import type { CallPart } from '../../storage/tables/call-parts.ts'
import { endPart, type Intake, mergeParts, startPart } from '../calls/parts.ts'
import type { Ingest } from '../calls/write.ts'
import { callOfSpan } from './call.ts'
import { type PartialSuccess, Rejections } from './partial-success.ts'
import type { ResourcePiece, SpanPiece } from './pieces.ts'
import { noProject, projectOfHeader, projectOfResource } from './project.ts'
import { cut, MalformedSpan, type Resource } from './span.ts'

/**
 * Every span that can be a call becomes one; the others are reported. Nothing is written when one of the projects is out
 * of the caller's requireAccess. A request that is sent again writes the same calls.
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
  const rejections = new Rejections()
  for (const [index, { resource, spans }] of pieces.entries()) {
    const pause = yieldToLoop()
    if (pause) await pause
    const place = `resourceSpans.${index}.resource`
    const opened = openedOr(resource, (why) => {
      for (const _ of spans) rejections.add(`${place}: ${why}`)
    })
    if (opened === undefined) continue
    const project = projectOfResource(opened, place) ?? fallback
    if (project !== undefined) {
      requireAccess(caller, project, place)
      places.push({ project, resource: opened, spans })
    } else if (spans.length > 0) throw noProject(place, undefined)
  }

  const parts: CallPart[] = []
  const intake = { user: caller.name, retentionDays }
  for (const { project, resource, spans } of places) {
    for (const span of spans) {
      const pause = yieldToLoop()
      if (pause) await pause
      const part = openedOr(
        () => partOf(span, resource, project, intake),
        (why) => rejections.add(why),
      )
      if (part) parts.push(part)
    }
  }
  if (parts.length > 0) await db.write('upsertCalls', mergeParts(parts))
  return rejections.result
}

function partOf(piece: SpanPiece, resource: Resource, project: string, intake: Intake): CallPart {
  let name = 'a span'
  try {
    const span = piece.span()
    name = `span ${cut(span.spanId)}`
    const call = callOfSpan(span, resource, piece.scope(), project)
    return { ...startPart(call, intake), end: endPart(call).end }
  } catch (error) {
    if (error instanceof MalformedSpan) throw new MalformedSpan(`${name}: ${error.message}`)
    throw error
  }
}

function openedOr<T>(open: () => T, malformed: (why: string) => void): T | undefined {
  try {
    return open()
  } catch (error) {
    if (!(error instanceof MalformedSpan)) throw error
    malformed(error.message)
    return undefined
  }
}
