import { newId } from '../../domain/ids.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { monotonicNow } from '../../domain/time.ts'
import { type EndedPart, endPart, type StartedPart, startPart } from '../calls/parts.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'

/** How a call ended that this server has made itself. */
export interface OwnEnd {
  ended_at: number
  summary?: JsonText
  exception?: string
}

interface MadeCall {
  id?: string | null | undefined
  trace_id?: string | undefined
  parent_id?: string | undefined
  op_name: string
  display_name?: string | undefined
  started_at?: number | undefined
  weave?: Record<string, string | undefined>
  heddle?: object
  inputs: Record<string, unknown>
}

/** The start of the call that a request describes. Members of its inputs may be JSON as it was sent. */
export async function startOf(
  { projects }: Pick<OperationParts, 'projects'>,
  { caller, project }: Scope,
  { id, weave, heddle, inputs, started_at, ...named }: MadeCall,
): Promise<StartedPart> {
  const call = {
    project_id: project,
    id: id ?? newId(),
    ...named,
    started_at: started_at ?? monotonicNow(),
    attributes: new JsonText(writeJson({ ...(weave && { weave }), ...(heddle && { heddle }) })),
    inputs: new JsonText(writeJson(inputs)),
  }
  return startPart(call, { user: caller.name, retentionDays: await projects.retentionDays(project) })
}

export function endOf(
  project: string,
  id: string,
  ended_at: number,
  output: JsonText | null,
  summary = new JsonText('{}'),
): EndedPart {
  return endPart({ project_id: project, id, ended_at, output, summary })
}

/** Without an end of its own it starts and ends at once: the request reports something that is over. */
export function wholeOf(started: StartedPart, output: JsonText | null, end?: OwnEnd) {
  const { project_id, id } = started
  const { ended_at = started.start.started_at, summary = new JsonText('{}'), exception } = end ?? {}
  return { ...started, end: endPart({ project_id, id, ended_at, output, summary, exception }).end }
}
