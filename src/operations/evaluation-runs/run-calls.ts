import { newId } from '../../domain/ids.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { monotonicNow } from '../../domain/time.ts'
import { type EndedPart, endPart, type StartedPart, startPart } from '../calls/parts.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'

interface MadeCall {
  id?: string | null | undefined
  trace_id?: string | undefined
  parent_id?: string | undefined
  op_name: string
  weave?: Record<string, string | undefined>
  inputs: Record<string, unknown>
}

/** The start of the call that a request describes. Members of its inputs may be JSON as it was sent. */
export async function startOf(
  { projects }: Pick<OperationParts, 'projects'>,
  { caller, project }: Scope,
  { id, trace_id, parent_id, op_name, weave, inputs }: MadeCall,
): Promise<StartedPart> {
  const call = {
    project_id: project,
    id: id ?? newId(),
    trace_id,
    parent_id,
    op_name,
    started_at: monotonicNow(),
    attributes: new JsonText(writeJson(weave ? { weave } : {})),
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

/** Starts and ends at once: the request reports something that is over. */
export function wholeOf(started: StartedPart, output: JsonText | null) {
  return { ...started, end: endOf(started.project_id, started.id, started.start.started_at, output).end }
}
